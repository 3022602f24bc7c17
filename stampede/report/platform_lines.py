"""What Lambda itself logged of a run: the durations that it bills."""

import numpy as np

from stampede.checkout import QUERIES
from stampede.insights import InsightsError, log_columns
from stampede.report.columns import Columns
from stampede.report.run import Run

# So many rows of `billed` are some of them only.
MOST_ROWS = 100_000
# By delivery: cell, seq and attempt.
Billed = dict[tuple[str, int, int], float]


def billed(run: Run) -> Billed:
    """The billed seconds of each delivery; empty without REPORT lines, or where there are too many."""
    text = (QUERIES / "common" / "billed.cwli").read_text(encoding="utf-8")
    try:
        rows = log_columns.answer(text, run.directory / log_columns.LINES).rows
    except (InsightsError, OSError):
        return {}  # the page says already that the log events are missing, or can't be read
    if len(rows) >= MOST_ROWS:
        return {}
    seconds = {}
    for row in rows:
        if row.get("run") == run.run_id:
            seconds[row["of_cell"], row.get("number"), row.get("delivery")] = row["billed_ms"] / 1000
    return seconds


def billed_seconds(run: Run, records: Columns, billed: Billed) -> tuple[np.ndarray, int]:
    """What each of `records` was billed for, and of how many Lambda says so; of the others it is the operation's time,
    rounded up to a millisecond, as Lambda rounds it."""
    names = [*run.store.cells, None]
    cells, seqs, attempts = (records[name].tolist() for name in ("cell_at", "seq", "attempt"))
    deliveries = zip((names[at] for at in cells), seqs, attempts, strict=True)
    logged = np.array([billed.get(delivery, np.nan) for delivery in deliveries])
    known = ~np.isnan(logged)
    return np.where(known, logged, np.ceil(records["seconds"] * 1000) / 1000), int(known.sum())
