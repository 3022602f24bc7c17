"""Looks into the dead-letter queue without taking anything out of it."""

from __future__ import annotations

import json
from typing import Any

# While we look, a message is hidden from other readers; it is shown again right after.
LOOK_TIMEOUT_S = 60
MAX_RECEIVES = 20_000


def look(sqs: Any, queue_url: str) -> list[dict[str, Any]]:
    """Every message of the dead-letter queue as {"run_id", "cell", "seq", "message_id", "body"}, left in the queue.

    Coordinates are None where the body is no work order. Raises what boto3 raises.
    """
    found: dict[str, dict[str, Any]] = {}
    handles: list[str] = []
    try:
        for _ in range(MAX_RECEIVES):
            answer = sqs.receive_message(
                QueueUrl=queue_url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=LOOK_TIMEOUT_S,
                WaitTimeSeconds=1,  # long polling asks every server of the queue, so empty means empty
            )
            messages = answer.get("Messages", [])
            if not messages:
                break
            for message in messages:
                handles.append(message["ReceiptHandle"])
                found[message["MessageId"]] = _letter(message)
    finally:
        _show_again(sqs, queue_url, handles)
    return list(found.values())


def _letter(message: dict[str, Any]) -> dict[str, Any]:
    try:
        body = json.loads(message["Body"])
    except ValueError:
        body = None
    order = body if isinstance(body, dict) else {}
    coordinates = {name: order.get(name) for name in ("run_id", "cell", "seq")}
    return coordinates | {"message_id": message["MessageId"], "body": message["Body"]}


def _show_again(sqs: Any, queue_url: str, handles: list[str]) -> None:
    for start in range(0, len(handles), 10):
        entries = [
            {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
            for index, handle in enumerate(handles[start : start + 10])
        ]
        sqs.change_message_visibility_batch(QueueUrl=queue_url, Entries=entries)
