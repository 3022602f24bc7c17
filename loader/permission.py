"""Waits until the permissions that an apply has just given to the function's role are in force.

IAM takes seconds, sometimes a minute, to spread a change (IAM guide, "Changes that I make are not
always immediately visible"). The first messages of an earlier flood would be refused, and in a
small cell all of them would become dead letters. So the function is invoked with one small
operation until it isn't refused any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from loader.log_events import records
from loader.seeding import PAUSES_S, invoke, until_it_works, words_of
from stampede.errors import RunError
from stampede.progress import say
from stampede.stacks.aws_errors import AFTER_APPLY
from stampede.stacks.target import Target

# The record belongs to no run, so no account or figure has it; no saved query counts a warm-up.
PROOF = {"run_id": "permission-proof", "seq": 0, "warm_up": 1}


def wait_for_permission(target: Target, cell: str, order: Mapping[str, Any]) -> None:
    """Invoke the function with `order`, the experiment's small operation, until it isn't refused
    any more.

    Raises RunError with the refusal after PAUSES_S. Any other failure is left to the flood, which
    records it.
    """
    # A message as the trigger hands it out, without a receipt handle, as it isn't in the queue.
    message = {
        "messageId": PROOF["run_id"],
        "body": json.dumps({**PROOF, "cell": cell, **order}),
        "attributes": {"ApproximateReceiveCount": "1"},
        "eventSource": "aws:sqs",
    }
    say("checking the permissions of the function's new role with one invocation")
    event = {"Records": [message]}
    why = until_it_works(target["function_name"], lambda: _why_it_fails(target, event))
    if AFTER_APPLY.search(why):
        raise RunError(
            f"{cell}: {sum(PAUSES_S)} s after the apply the function still lacks a permission: "
            f"{why}; check the policies of its role {target.outputs.get('worker_role_name')}, the "
            "organization and the bucket"
        )
    if why:
        say(f"the permissions couldn't be checked ({why}); the flood goes on", style="yellow")


def _why_it_fails(target: Target, event: Mapping[str, Any]) -> str:
    """The type and message of the failure; "" without one."""
    try:
        result, why, log = invoke(target, target["function_name"], event)
    except RunError as error:
        return str(error)
    if why or result == {"batchItemFailures": []}:
        return why
    for record in records({"message": line} for line in log.splitlines()):
        return words_of(record)
    return f"no record: {str(result)[:200]}"
