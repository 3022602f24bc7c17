"""Has the data set copied from the bucket to where else functions read it: by a function of the stack, so that nobody
has to log in to a machine that mounts it."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader import target as targets
from loader.errors import RunError
from loader.progress import say
from loader.target import Target

# Lambda's longest invocation, and a little for the answer.
READ_TIMEOUT_S = 910


def place(target: Target) -> dict[str, Any] | None:
    """Invoke the stack's placing function and wait for it; what it answers, None where the experiment has none.

    It copies what isn't there yet and checks everything by its checksum. Raises RunError when it fails.
    """
    name = target.outputs.get(target.experiment.placed_by) if target.experiment.placed_by else None
    if name is None:
        return None
    say(f"{name}: copying the data set to the file system, as far as it isn't there")
    # Once: a second invocation would copy beside the first.
    client = target.client("lambda", read_timeout=READ_TIMEOUT_S, retries={"mode": "standard", "max_attempts": 1})
    try:
        answer = client.invoke(FunctionName=name, Payload=b"{}")
        told = answer["Payload"].read()
    except (BotoCoreError, ClientError) as error:
        raise targets.explain(error, f"invoking {name}", target) from None
    try:
        result = json.loads(told)
    except ValueError:
        result = None
    if answer.get("FunctionError") or not isinstance(result, dict):
        why = result.get("errorMessage") if isinstance(result, dict) else told[:200]
        raise RunError(f"{name} could not place the data set: {why}; its log is /aws/lambda/{name}")
    say(f"{name}: {result}", style="dim")
    return result
