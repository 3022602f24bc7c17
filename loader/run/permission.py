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

from loader.errors import RunError
from loader.placing import CONFIG
from loader.progress import say
from loader.run.log_events import records
from loader.target import Target

# Of no run, so that no account and no figure has the record; as a warm-up no saved query counts it.
PROOF = {"run_id": "permission-proof", "seq": 0, "warm_up": 1}
# An error type of records, and what Lambda answers where the role may not mount (Invoke in the Lambda API reference).
REFUSALS = ("AccessDenied", "EFSMountFailureException")
PATIENCE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S = 180.0, 2.0, 20.0


def wait_for_permission(
    target: Target,
    cell: str,
    order: Mapping[str, Any],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Invoke the function with `order`, the small operation of an experiment, until it isn't refused any more.

    Raises RunError with the refusal when that takes longer than PATIENCE_S. Any other failure is left to the flood,
    which records it.
    """
    event = _event({**PROOF, "cell": cell, **order})
    began_s, pause_s = clock(), FIRST_PAUSE_S
    say("the function's role has changed: checking its permissions with one invocation")
    while (failure := _failure(target, event))[0] in REFUSALS:
        if (waited_s := clock() - began_s) > PATIENCE_S:
            raise RunError(
                f"{cell}: {waited_s:.0f} s after the apply the function still lacks a permission: "
                f"{': '.join(failure)}; IAM doesn't need so long, so check the policy of the role "
                f"{target.outputs.get('worker_role_name')}, and those of the organization and the bucket"
            )
        if pause_s == FIRST_PAUSE_S:
            say(f"IAM doesn't show the change yet ({failure[0]}); trying again for up to {PATIENCE_S:.0f} s")
        sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    if failure[0]:
        say(f"the permissions couldn't be checked ({': '.join(failure)}); the flood goes on", style="yellow")


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
        return error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
    except (BotoCoreError, ValueError) as error:
        return type(error).__name__, str(error)
    if not answer.get("FunctionError") and result == {"batchItemFailures": []}:
        return "", ""
    lines = base64.b64decode(answer.get("LogResult", "")).decode(errors="replace").splitlines()
    for record in records({"message": line} for line in lines):
        return str(record.get("error_type")), str(record.get("error_message"))
    return "no record", str(result)[:200]
