"""Messages and batches for SendMessageBatch, within its limits, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stampede.errors import RunError
from stampede.phrases import counted
from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# The message attribute with the work order, if the body is the user's own.
ATTRIBUTE = "stampede"
# Concurrent requests, a connection each: the batches whose outcome is unknown after a kill.
IN_FLIGHT = 96


class Order(NamedTuple):
    """One message to send: its number within the cell, its body, and the work order as its
    attribute if the body is the user's own."""

    seq: int
    body: str
    attribute: str = ""


def batches(orders: Iterable[Order]) -> Iterator[list[Order]]:
    """Group orders into batches of at most MAX_ENTRIES entries and MAX_BATCH_BYTES bytes. SQS's
    limit also leaves room for the attributes' names, which it counts."""
    batch: list[Order] = []
    size = 0
    for order in orders:
        length = len(order.body.encode()) + len(order.attribute.encode())
        if batch and (len(batch) == MAX_ENTRIES or size + length > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(order)
        size += length
    if batch:
        yield batch


def request_body(queue_url: str, entries: Mapping[str, Order]) -> bytes:
    """The JSON body of SendMessageBatch for orders by the ids of their entries."""
    rows = []
    for name, order in entries.items():
        row: dict[str, Any] = {"Id": name, "MessageBody": order.body}
        if order.attribute:
            attribute = {"DataType": "String", "StringValue": order.attribute}
            row["MessageAttributes"] = {ATTRIBUTE: attribute}
        rows.append(row)
    return json.dumps({"QueueUrl": queue_url, "Entries": rows}).encode()


class Accepted(NamedTuple):
    """One message that SQS has confirmed; `sent_at_ms` is when the confirmation came (epoch ms)."""

    seq: int
    message_id: str
    sent_at_ms: int
    possible_duplicate: int


@dataclass
class Outcome:
    """What became of a flood, in messages; `reason` is the first refusal's text. Of the sent ones,
    `possible_duplicates` may be in the queue twice; of the failed ones, `maybe_sent` may be in
    it."""

    sent: int = 0
    failed: int = 0
    possible_duplicates: int = 0
    maybe_sent: int = 0
    requests: int = 0
    retries: int = 0
    seconds: float = 0.0
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The counts, duration and rate, as the loader prints them."""
        rate = self.sent / self.seconds if self.seconds else 0.0
        row = vars(self) | {"seconds": round(self.seconds, 3), "messages_per_s": round(rate, 1)}
        del row["reason"]
        return row

    def check(self) -> None:
        """Raise RunError when a message was not accepted."""
        if self.failed:
            count = counted(self.sent + self.failed, "message")
            raise RunError(f"{self.failed} of {count} not accepted: {self.reason}")

    def sentence(self) -> str:
        """The outcome in words."""
        sent = counted(self.sent, "message")
        text = f"sent {sent}, {self.failed} failed, in {self.seconds:.2f} s"
        if self.possible_duplicates:
            text += (
                f"; {self.possible_duplicates} may be in the queue twice (sent again after an "
                "unknown outcome)"
            )
        if self.maybe_sent:
            text += f"; {self.maybe_sent} of the failed may be in the queue"
        return text + (f"; {self.reason}" if self.failed else "")
