"""Has a function of the stack write the objects where functions read them: inside the region, and without logging in
to a machine that mounts a file system."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import RunError
from stampede.polling import looks
from stampede.progress import say
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import AFTER_APPLY, code_of
from stampede.stacks.target import Target

# Lambda's longest invocation, and a little for the answer. Once: a second invocation would write beside the first.
CONFIG = {"read_timeout": 910, "tcp_keepalive": True, "retries": {"mode": "standard", "total_max_attempts": 1}}
# A NAT gateway drops a connection that is silent for 350 s (VPC guide, "NAT gateway basics"), and Linux sends its first
# probe after two hours. What macOS calls TCP_KEEPALIVE is TCP_KEEPIDLE elsewhere.
PROBES = (
    (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None)), 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 30),
)
# Between attempts at what AFTER_APPLY says passes by itself.
PAUSES_S = (2, 4, 8, 16, 30, 30, 30, 30, 30)


def seed(
    target: Target,
    in_order: Mapping[str, Any],
    seeded: set[str] | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> list[dict[str, Any]]:
    """Invoke the stack's seeding function with what the experiment says of a cell, one event after the other; returns
    the answers, none where there is nothing to seed.

    `in_order` are the cell's axes of the message. Events in `seeded` aren't sent again, and those that were sent are
    added. The function writes what isn't there yet, and checks it. Raises RunError when it fails twice, or for as long
    as PAUSES_S with what usually passes.
    """
    seeded = set() if seeded is None else seeded
    events = [event for event in events_of(target, in_order) if json.dumps(event, sort_keys=True) not in seeded]
    answers = []
    for number, event in enumerate(events, start=1):
        of_several = f" (part {number} of {len(events)})" if len(events) > 1 else ""
        answers.append(_invoke(target, target[target.experiment.seeding.function], event, of_several, sleep))
        seeded.add(json.dumps(event, sort_keys=True))
    return answers


def events_of(target: Target, in_order: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What the seeding function is told for a cell; nothing where the stack has none."""
    seeding = target.experiment.seeding
    if seeding is None or target.outputs.get(seeding.function) is None:
        return ()
    return seeding.events({**target.outputs, **in_order})


def _invoke(
    target: Target, name: str, event: Mapping[str, Any], of_several: str, sleep: Callable[[float], None]
) -> dict[str, Any]:
    say(f"{name}: seeding what is missing{of_several}")
    for number in looks(PAUSES_S, sleep=sleep):
        result, why = _answer(target, name, event)
        if not why:
            say(f"{name}: {_words(result) or result}", style="dim")
            return result
        if number > 0 and not any(word in why for word in AFTER_APPLY):
            break
        if number == 0:
            say(f"{name}: {why}; trying again, what is there stays", style="yellow")
    raise RunError(f"{name} could not seed the data set: {why}; its log is /aws/lambda/{name}")


def _words(result: Mapping[str, Any]) -> str:
    """What the function says of its work, like `objects 50, requests 51, bytes 500,000, seconds 1.5`."""
    numbers = {name: value for name, value in result.items() if type(value) in (int, float)}
    return ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in numbers.items())


def _answer(target: Target, name: str, event: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What one invocation answers, and why it failed; "" where it didn't. Raises RunError where there is no answer."""
    client = target.client("lambda", **CONFIG)
    # Botocore has a setting for SO_KEEPALIVE alone; its connections are made with this list.
    client._endpoint.http_session._socket_options.extend(PROBES)
    try:
        answer = client.invoke(FunctionName=name, Payload=json.dumps(event).encode())
        payload = answer["Payload"].read()
    except (BotoCoreError, ClientError) as error:
        if code_of(error).startswith(AFTER_APPLY[1:]):
            return {}, f"{code_of(error)}: {error.response['Error'].get('Message')}"
        raise targets.explain(error, f"invoking {name}", target) from None
    result = _object(payload)
    if result is None:
        return {}, str(payload[:200])
    return result, _why(result) if answer.get("FunctionError") or result.get("status") == "error" else ""


def _why(result: Mapping[str, Any]) -> str:
    """What an exception of Lambda's, or a record of a failure, says; the Go program's exceptions hold a record."""
    said = str(result.get("errorMessage"))
    record = _object(said) or result
    return f"{record['error_type']}: {record.get('error_message')}" if "error_type" in record else said


def _object(text: str | bytes) -> dict[str, Any] | None:
    """A JSON object; None for what is none."""
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None
