"""The record: one JSON object on one line of the log, for the saved queries.

`functions/agreed/record.json` has its keys, for the tests of both languages.
"""

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from common.describing import describe
from common.environment import Labels
from common.outcome import Outcome
from common.sqs_event import Message
from common.work_order import WorkOrder

LONGEST_ERROR_MESSAGE_CHARACTERS = 300
# Text stays as it is, so that a query can filter on a tag with an accent. One encoder for all
# values: json.dumps would make one for each.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def build_record(
    *,
    time_key: str,
    labels: Labels | None,
    order: WorkOrder | None,
    message: Message,
    request_id: str,
    sandbox_id: str,
    cold_start: int,
    outcome: Outcome,
    own_keys: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the record of one message, with its keys in their written order.

    `time_key` is the experiment's key for the seconds taken, `own_keys` are its other keys. If
    `labels` or `order` couldn't be read, they are None and their keys null. A failed outcome has no
    `time_key`, so that no query can take it for a measurement.
    """
    record: dict[str, Any] = {"concurrency_limit": labels.concurrency_limit if labels else None}
    if outcome.error is None:
        record[time_key] = outcome.elapsed_s
    record |= {
        "memory_size": labels.memory_size if labels else None,
        "experiment_tag": labels.experiment_tag if labels else None,
        "run_id": order.run_id if order else None,
        "cell": order.cell if order else None,
        "seq": order.seq if order else None,
        "message_id": message.message_id,
        "request_id": request_id,
        "sandbox_id": sandbox_id,
        "cold_start": cold_start,
        "attempt": message.attempt,
        "started_at_ms": outcome.started_at_ms,
        "finished_at_ms": outcome.finished_at_ms,
        "bytes": outcome.received_bytes,
        "method": labels.method if labels else None,
        "status": "ok" if outcome.error is None else "error",
        "round": order.round if order else None,
    }
    record |= own_keys
    if outcome.error is not None:
        error_type, error_message = describe(outcome.error)
        record |= {"error_type": error_type, "error_message": _one_line(error_message)}
    return record


def format_record(record: dict[str, Any]) -> str:
    """Return the record as one line without its line break, separated by `": "` and `", "`.

    Raises ValueError for a number that isn't finite.
    """
    return (
        "{"
        + ", ".join(f"{_encode(key)}: {_format_value(value)}" for key, value in record.items())
        + "}"
    )


def write_record(record: dict[str, Any]) -> None:
    """Write the record to the log in one write, so that lines of several writers can't mix."""
    sys.stdout.write(format_record(record) + "\n")
    sys.stdout.flush()


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a record holds only finite numbers, not {value}")
        # 9 digits, since the clock counts nanoseconds, and never 1e-05, which the `[\d.]+` of the
        # published regular expression can't read.
        return f"{value:.9f}"
    return _encode(value)


def _one_line(text: str) -> str:
    """Put a foreign message on one line of printable characters, and cut it if it is too long."""
    words = " ".join(text.split())
    text = "".join(character if character.isprintable() else "?" for character in words)
    longest = LONGEST_ERROR_MESSAGE_CHARACTERS
    return text if len(text) <= longest else text[: longest - 3] + "..."
