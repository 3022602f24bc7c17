"""The event that an SQS event source mapping gives to the function."""

import re
from dataclasses import dataclass
from typing import Any


class EventError(ValueError):
    """The event isn't one of SQS: there is no message to answer for, so the whole invocation
    fails."""


@dataclass(frozen=True)
class Message:
    """One message: its id, its body as sent, and how many times it has been received (1 = first
    attempt).

    `receipt_handle` and `queue_arn` say what to tell SQS about it; None where the event leaves them
    out.
    """

    message_id: str
    body: str
    attempt: int
    receipt_handle: str | None = None
    queue_arn: str | None = None


def read_messages(event: Any) -> list[Message]:
    """Return the messages of an SQS event.

    Raises EventError for every other event, a direct test invoke included. Returning something
    instead would look like success, and without a message id there's nothing to report as failed.
    """
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list) or not records:
        raise EventError(
            "this function takes SQS events: the event has no Records; send a message to its queue "
            "(stampede flood), or use the console's SQS test event with the message as the body"
        )
    return [_read_message(record, number) for number, record in enumerate(records)]


def _read_message(record: Any, number: int) -> Message:
    if not isinstance(record, dict) or record.get("eventSource") != "aws:sqs":
        raise EventError(
            f"this function takes SQS events: Records[{number}].eventSource isn't aws:sqs"
        )
    attributes = record.get("attributes")
    attempt = attributes.get("ApproximateReceiveCount") if isinstance(attributes, dict) else None
    if not isinstance(record.get("messageId"), str) or not isinstance(record.get("body"), str):
        raise EventError(
            f"this function takes SQS events: Records[{number}] needs messageId and body as text"
        )
    if not isinstance(attempt, str) or not re.fullmatch(r"[0-9]{1,9}", attempt):
        raise EventError(
            f"this function takes SQS events: Records[{number}].attributes.ApproximateReceiveCount "
            "isn't a number"
        )
    return Message(
        message_id=record["messageId"],
        body=record["body"],
        attempt=int(attempt),
        receipt_handle=_text(record, "receiptHandle"),
        queue_arn=_text(record, "eventSourceARN"),
    )


def _text(record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) and value else None
