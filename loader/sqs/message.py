"""Messages and batches for SendMessageBatch, within its limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# The message attribute with the work order, if the body is the user's own.
ATTRIBUTE = "stampede"


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
