"""The event that an SQS event source mapping gives to the function."""

import re
from dataclasses import dataclass
from typing import Any


class EventError(ValueError):
    """The event isn't one of SQS: without a message to answer, the whole invocation fails."""


@dataclass(frozen=True)
class Message:
    """One message: its id, its body as sent, and how often it was received (1: first attempt).

    `receipt_handle` and `queue_arn` are for calls of SQS; None if the event leaves them out.
    """

    message_id: str
    body: str
    attempt: int
    receipt_handle: str | None = None
    queue_arn: str | None = None


def read_messages(event: Any) -> list[Message]:
    """Return the messages of an SQS event.

    Raises EventError for any other event, even a test invocation: any answer would look like
    success, and without a message id there is nothing to report as failed.
    """
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list) or not records:
        raise EventError(
            "this function takes SQS events: the event has no Records; send a message to its queue "
            "(stampede flood), or use the console's SQS test event with the message as the body"
        )
    return [_read_message(record, number) for number, record in enumerate(records)]


def _read_message(record: Any, number: int) -> Message:
    record = record if isinstance(record, dict) else {}
    attributes = record.get("attributes")
    attempt = attributes.get("ApproximateReceiveCount") if isinstance(attributes, dict) else None
    texts = (record.get("messageId"), record.get("body"), attempt)
    if (
        record.get("eventSource") != "aws:sqs"
        or not all(isinstance(text, str) for text in texts)
        or not re.fullmatch(r"[0-9]{1,9}", attempt)
    ):
        raise EventError(
            f"this function takes SQS events: Records[{number}] needs eventSource aws:sqs, "
            "messageId, body and attributes.ApproximateReceiveCount"
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
