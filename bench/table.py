"""The table of a bench run: figures, and under them what they were measured on and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.measure import Entry
from bench.other_work import MOST_SHARE, counts
from stampede.tables import print_rows


def print_entries(entries: Sequence[Entry], notes: Iterable[str]) -> None:
    """Print entries as a table on stdout, with `notes` (machine, versions, command) below."""
    rows = [
        {
            "name": entry.name,
            "ours": figure(entry.ours),
            "peer": figure(entry.peer),
            "unit": entry.unit,
            "ratio": f"{entry.ratio:.2f} x",
            "runs": entry.runs,
            "others": _others(entry.others_share),
        }
        for entry in entries
    ]
    print_rows(rows, "table")
    print("medians of alternating runs; ratio above 1: ours is better; others: processor time of other work")
    if busy := [entry.name for entry in entries if not counts(entry.others_share)]:
        print(f"the machine was too busy (above {MOST_SHARE:.0%}), so these don't count: {', '.join(busy)}")
    for note in notes:
        print(note)


def _others(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}" if counts(share) else f"{share:.0%}, too busy"


def figure(value: float) -> str:
    """A value with three significant digits or more: 0.0123, 1.23, 123, 12,345."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
