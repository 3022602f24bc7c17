"""What Lambda billed for each delivery, from the REPORT lines among the log events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stampede.cell import Cell
from stampede.checkout import QUERIES
from stampede.insights import InsightsError, log_columns
from stampede.report.cells import Figures
from stampede.report.intervals import Sample
from stampede.report.run import Run
from stampede.runs.store import IS_ONE

# A query that returns this many rows has cut off the others.
MOST_ROWS = 100_000
_SUCCESSES = f"""
SELECT place_at, cell, seq, attempt, seconds FROM operations
WHERE is_first_success AND place_at IS NOT NULL AND {IS_ONE}
"""


def billed_samples(run: Run, cells: Sequence[Figures]) -> dict[Cell, Sample]:
    """The billed seconds of each cell's successes; without Lambda's line, the operation's time,
    rounded up to a millisecond as Lambda does."""
    billed = _billed(run)
    seconds: dict[Cell, list[float]] = {figures.cell: [] for figures in cells}
    for at, name, seq, attempt, time_s in run.store.rows(_SUCCESSES):
        rounded_up = float(np.ceil(time_s * 1000) / 1000)
        seconds[run.store.places[at]].append(billed.get((name, seq, attempt), rounded_up))
    return {
        cell: Sample(np.array(values), f"{cell.plain.words}, billed")
        for cell, values in seconds.items()
    }


def _billed(run: Run) -> dict[tuple[str, int, int], float]:
    """The billed seconds by cell, seq and attempt; empty without REPORT lines, or with too many."""
    text = (QUERIES / "common" / "billed.cwli").read_text(encoding="utf-8")
    try:
        rows = log_columns.answer(text, run.directory / log_columns.LINES).rows
    except (InsightsError, OSError):
        return {}  # the page already says that log events are missing or unreadable
    if len(rows) >= MOST_ROWS:
        return {}
    own = (row for row in rows if row.get("run") == run.run_id)
    return {
        (row["of_cell"], row.get("number"), row.get("delivery")): row["billed_ms"] / 1000
        for row in own
    }
