"""Sets aside what a killed sweep left of the cell it was in, so that the cell can be run again from its start.

Its rows move to abandoned.jsonl. New messages are numbered after the old ones, and records of the old ones that arrive
late are known by their numbers and stay out of the figures.
"""

from __future__ import annotations

import json
from typing import Any

from loader.progress import say
from loader.run.accounting import UNANSWERED_FILE
from loader.run.failed_objects import FAILED_OBJECTS
from loader.run.folder import RunFolder

ABANDONED = "abandoned.jsonl"
_FILES = ("sent.jsonl", "records.jsonl", FAILED_OBJECTS, "dead_letters.jsonl", UNANSWERED_FILE, "log_events.jsonl")


def set_aside(folder: RunFolder, cell: str) -> int:
    """Move rows of `cell` out of the run's files; returns how many messages were set aside (0: nothing to do).

    Each file is replaced whole, the list of sent messages last: after a kill in between, the next call finishes it.
    """
    sent = [row for row in folder.rows("sent.jsonl") if row["cell"] == cell]
    if not sent:
        return 0
    known = abandoned_keys(folder)
    folder.append(ABANDONED, (row for row in sent if (row["cell"], row["seq"]) not in known))
    for name in reversed(_FILES):
        folder.rewrite(name, (row for row in folder.rows(name) if not _is_of(row, cell)))
    say(f"{cell}: set aside {len(sent)} messages of an interrupted attempt; running the cell again")
    return len(sent)


def abandoned_keys(folder: RunFolder) -> set[tuple[str, int]]:
    """(cell, seq) of every message that was set aside."""
    return {(row["cell"], row["seq"]) for row in folder.rows(ABANDONED)}


def _is_of(row: dict[str, Any], cell: str) -> bool:
    """Whether a row of sent, records or log events belongs to the cell (a log event by its record)."""
    if "message" not in row or "timestamp" not in row:
        return row.get("cell") == cell
    try:
        record = json.loads(row["message"])
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("cell") == cell
