"""Invokes functions of the stack without its queue: the one that writes objects, inside the region
and without a machine of its own that mounts the file system; and the one that is measured, until
the permissions that an apply has just given to its role are in force.

IAM takes seconds, sometimes a minute, to spread a change (IAM guide, "Changes that I make are not
always immediately visible"). The first messages of an earlier flood would be refused, and in a
small cell all of them would become dead letters. So the function is invoked with one small
operation until it isn't refused any more.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader.log_events import records
from stampede.errors import RunError
from stampede.polling import looks
from stampede.progress import detail, say
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import AFTER_APPLY, code_of
from stampede.stacks.target import Target

# Lambda's longest invocation and a margin for the answer, without a retry: a second invocation
# would write at the same time as the first.
CONFIG = {
    "read_timeout": 910,
    "tcp_keepalive": True,
    "retries": {"mode": "standard", "total_max_attempts": 1},
}
# A NAT gateway drops a connection that is idle for 350 s (VPC guide, "NAT gateway basics"), and
# Linux sends its first probe after two hours. TCP_KEEPIDLE is TCP_KEEPALIVE on macOS.
_IDLE = getattr(socket, "TCP_KEEPIDLE", None) or socket.TCP_KEEPALIVE
PROBES = ((socket.IPPROTO_TCP, _IDLE, 60), (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 30))
# Between attempts after an apply, some of whose effects take a while to spread.
PAUSES_S = (2, 4, 8, 16, 30, 30, 30, 30, 30)
# The record belongs to no run, so no account or figure has it; no saved query counts a warm-up.
PROOF = {"run_id": "permission-proof", "seq": 0, "warm_up": 1}


def seed(target: Target, in_order: Mapping[str, Any], seeded: set[str]) -> None:
    """Invoke the stack's seeding function with the experiment's events for a cell, one after the
    other.

    `in_order` are the cell's axes in the work order. Events in `seeded` are skipped; those sent are
    added to it. The function writes and checks what is missing. Raises RunError when
    it fails twice, or throughout PAUSES_S with an error that usually passes.
    """
    for event in events_of(target, in_order):
        if (text := json.dumps(event, sort_keys=True)) not in seeded:
            _seed(target, target[target.experiment.seeding.function], event)
            seeded.add(text)


def events_of(target: Target, in_order: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The seeding function's events for a cell; none if the stack has no such function."""
    seeding = target.experiment.seeding
    if seeding is None or target.outputs.get(seeding.function) is None:
        return ()
    return seeding.events({**target.outputs, **in_order})


def _seed(target: Target, name: str, event: Mapping[str, Any]) -> None:
    say(f"{name}: seeding what is missing")
    answer, why = _until_it_works(target, name, event)
    if why:
        raise RunError(f"{name} could not seed the data set: {why}; its log is /aws/lambda/{name}")
    detail(f"{name}: {json.dumps(answer)}")


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
    try:
        _, why = _until_it_works(target, target["function_name"], {"Records": [message]})
    except RunError as error:
        why = str(error)
    if AFTER_APPLY.search(why):
        raise RunError(
            f"{cell}: {sum(PAUSES_S)} s after the apply the function still lacks a permission: "
            f"{why}; check the policies of its role {target.outputs.get('worker_role_name')}, the "
            "organization and the bucket"
        )
    if why:
        say(f"the permissions couldn't be checked ({why}); the flood goes on", style="yellow")


def _until_it_works(
    target: Target, name: str, event: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """`invoke` until it doesn't fail: twice, and throughout PAUSES_S while the error is one that
    usually passes. Raises RunError as `invoke` does."""
    for number in looks(PAUSES_S):
        answer, why = invoke(target, name, event)
        if not why or (number > 0 and not AFTER_APPLY.search(why)):
            break
        if number == 0:
            say(f"{name}: {why}; trying again, for up to {sum(PAUSES_S)} s", style="yellow")
    return answer, why


def invoke(target: Target, name: str, event: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The answer of one invocation, and why it failed ("" if it didn't); of a batch whose messages
    failed, the reason is in its log. Raises RunError without an answer: nobody knows what it
    did."""
    client = target.client("lambda", **CONFIG)
    # botocore has a setting for SO_KEEPALIVE only; it opens its connections with this list.
    client._endpoint.http_session._socket_options.extend(PROBES)
    try:
        answer = client.invoke(
            FunctionName=name, Payload=json.dumps(event).encode(), LogType="Tail"
        )
        payload = answer["Payload"].read()
    except ClientError as error:
        return {}, f"{code_of(error)}: {error.response['Error'].get('Message')}"
    except BotoCoreError as error:
        raise targets.explain(error, f"invoking {name}", target) from None
    result = _object(payload)
    if result is None:
        return {}, str(payload[:200])
    if answer.get("FunctionError") or result.get("status") == "error":
        return result, _why(result)
    if result.get("batchItemFailures"):
        log = base64.b64decode(answer.get("LogResult", "")).decode(errors="replace")
        return result, words_of(next(records({"message": line} for line in log.splitlines()), {}))
    return result, ""


def _why(result: Mapping[str, Any]) -> str:
    """The reason in Lambda's exception or in a failure's record, which the Go program's exceptions
    contain."""
    said = str(result.get("errorMessage"))
    record = _object(said) or result
    return words_of(record) if "error_type" in record else said


def words_of(record: Mapping[str, Any]) -> str:
    """The type and message of a failure's record."""
    return f"{record.get('error_type')}: {record.get('error_message')}"


def _object(text: str | bytes) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None
