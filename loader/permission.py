"""Waits until what an apply has just written into the function's role is in force.

IAM shows a change everywhere only after seconds, sometimes a minute (IAM guide, "Changes that I make are not always
immediately visible"). A flood that came sooner would have its first messages refused, and in a small cell all of them
made dead letters. So the function is asked for one small operation, and asked again while it is refused.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader.log_events import records
from loader.seeding import CONFIG, PAUSES_S
from stampede.errors import RunError
from stampede.polling import looks
from stampede.progress import say
from stampede.stacks.aws_errors import code_of, may_pass_after_apply
from stampede.stacks.target import Target

# Of no run, so that no account and no figure has the record; as a warm-up no saved query counts it.
PROOF = {"run_id": "permission-proof", "seq": 0, "warm_up": 1}


def wait_for_permission(
    target: Target, cell: str, order: Mapping[str, Any], *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Invoke the function with `order`, the small operation of an experiment, until it isn't refused any more.

    Raises RunError with the refusal when that takes longer than PAUSES_S. Any other failure is left to the flood,
    which records it.
    """
    event = _event({**PROOF, "cell": cell, **order})
    say("the function's role has changed: checking its permissions with one invocation")
    for number in looks(PAUSES_S, sleep=sleep):
        kind, message = _failure(target, event)
        if not may_pass_after_apply(kind):
            break
        if number == 0:
            say(f"not in force yet ({kind}); trying again for up to {sum(PAUSES_S)} s")
    else:
        raise RunError(
            f"{cell}: {sum(PAUSES_S)} s after the apply the function still lacks a permission: {kind}: {message}; "
            f"IAM doesn't need so long, so check the policy of the role {target.outputs.get('worker_role_name')}, "
            "and those of the organization and the bucket"
        )
    if kind:
        say(f"the permissions couldn't be checked ({kind}: {message}); the flood goes on", style="yellow")


def _event(order: Mapping[str, Any]) -> bytes:
    """One message as a trigger gives it to the function, without a receipt: there is none in the queue."""
    message = {
        "messageId": order["run_id"],
        "body": json.dumps(order),
        "attributes": {"ApproximateReceiveCount": "1"},
        "eventSource": "aws:sqs",
    }
    return json.dumps({"Records": [message]}).encode()


def _failure(target: Target, event: bytes) -> tuple[str, str]:
    """Type and message of what went wrong; two empty texts where nothing did."""
    try:
        answer = target.client("lambda", **CONFIG).invoke(
            FunctionName=target["function_name"], Payload=event, LogType="Tail"
        )
        result = json.loads(answer["Payload"].read())
    except ClientError as error:
        return code_of(error), error.response["Error"].get("Message", "")
    except (BotoCoreError, ValueError) as error:
        return type(error).__name__, str(error)
    if not answer.get("FunctionError") and result == {"batchItemFailures": []}:
        return "", ""
    lines = base64.b64decode(answer.get("LogResult", "")).decode(errors="replace").splitlines()
    for record in records({"message": line} for line in lines):
        return str(record.get("error_type")), str(record.get("error_message"))
    return "no record", str(result)[:200]
