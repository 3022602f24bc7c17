"""Sets aside what a killed sweep left of its unfinished cell, so that the cell can run again from
the start, or from the round in which it was killed.

abandoned.jsonl has the numbers of those messages. New messages are numbered after them, including
the unconfirmed ones, so late records of the old messages are recognized by their numbers and stay
out of the figures.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loader.flood import SENT, first_seq
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs import stored_json
from stampede.runs.folder import ABANDONED, FAILED_OBJECTS, UNANSWERED_FILE, RunFolder

_FILES = (
    SENT,
    "records.jsonl",
    FAILED_OBJECTS,
    "dead_letters.jsonl",
    UNANSWERED_FILE,
    "log_events.jsonl",
)


def whole_rounds(folder: RunFolder, shares: Mapping[str, Sequence[int]]) -> int:
    """How many rounds of an interrupted block are done: every message succeeded, is a dead letter
    or was a query, which isn't repeated. A failed message would be delivered again, but resuming
    empties the queue. `shares` has the number of messages that each cell sends in each round."""
    rows = itertools.chain(folder.rows("records.jsonl"), folder.rows("dead_letters.jsonl"))
    ended = {
        (row["cell"], row["seq"])
        for row in rows
        if row.get("status") != "error" or row.get("execution_id")
    }
    sent = (row for row in folder.rows(SENT) if (row["cell"], row["seq"]) in ended)
    done = Counter((row["cell"], row.get("round")) for row in sent)
    rounds = len(next(iter(shares.values())))
    for number in range(1, rounds + 1):
        if any(done[cell, number] < counts[number - 1] for cell, counts in shares.items()):
            return number - 1
    return rounds


def set_aside(folder: RunFolder, cell: str, whole: int = 0, *, is_begun: bool = False) -> bool:
    """Remove the rows of `cell` from the run's files, except those of its first `whole` rounds;
    returns whether any message may have been sent. Set aside are the numbers of its messages, and
    those that a flood which `is_begun`, or has sent any, may have given to others without writing
    them down.

    Each file is replaced atomically, sent.jsonl last: after a kill the next call finishes the work.
    """
    own = [row for row in folder.rows(SENT) if row["cell"] == cell]
    # A warm-up before an unfinished round belongs to the interrupted attempt.
    last_kept = max((row["seq"] for row in own if 0 < row.get("round", 0) <= whole), default=-1)
    count = sum(row["seq"] > last_kept for row in own)
    if not (count or is_begun):
        return False
    last = first_seq(folder, cell, knows_all_sent=False) - 1
    folder.append(ABANDONED, [{"cell": cell, "first": last_kept + 1, "seq": last}])
    is_aside = abandoned(folder)
    for name in reversed(_FILES):
        folder.rewrite(name, (row for row in folder.rows(name) if not is_aside(row)))
    if count:
        again = f"resuming with round {whole + 1}" if whole else "running the cell again"
        say(f"{cell}: set aside {counted(count, 'message')} of an interrupted attempt; {again}")
    return True


def abandoned(folder: RunFolder) -> Callable[[Mapping[str, Any]], bool]:
    """A function that tells whether a row or log event comes late from an attempt that was set
    aside."""
    numbers: dict[str, list[range]] = {}
    for row in folder.rows(ABANDONED):
        first = row.get("first", row["seq"])
        numbers.setdefault(row["cell"], []).append(range(first, row["seq"] + 1))

    def is_abandoned(row: Mapping[str, Any]) -> bool:
        order = _order_of(row) if numbers else {}
        return any(order.get("seq") in some for some in numbers.get(str(order.get("cell")), ()))

    return is_abandoned


def _order_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row itself; of a log event the record in it, if any."""
    if "message" not in row or "timestamp" not in row:
        return row
    try:
        record = stored_json.decoded(row["message"])
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
