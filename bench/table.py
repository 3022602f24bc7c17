"""The table of a bench run: figures, and under them what they were measured on and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from bench.measure import Entry
from bench.other_work import MOST_SHARE, counts


def print_entries(entries: Sequence[Entry], notes: Iterable[str], console: Console | None = None) -> None:
    """Print entries as a table with `notes` (machine, versions, command) below, to stdout unless told otherwise."""
    console = console or Console(soft_wrap=True, highlight=False)
    table = Table("name", "ours", "peer", "unit", "ratio", "runs", "others")
    for column in table.columns[1:]:
        column.justify = "right"
    table.columns[3].justify = "left"
    for entry in entries:
        table.add_row(
            entry.name,
            figure(entry.ours),
            figure(entry.peer),
            entry.unit,
            f"{entry.ratio:.2f} x",
            str(entry.runs),
            _others(entry.others_share),
        )
    console.print(table)
    console.print(
        "medians of alternating runs; ratio above 1: ours is better; others: processor time of other work", markup=False
    )
    if busy := [entry.name for entry in entries if not counts(entry.others_share)]:
        console.print(
            f"the machine was too busy (above {MOST_SHARE:.0%}), so these don't count: {', '.join(busy)}",
            markup=False,
        )
    for note in notes:
        console.print(note, markup=False)


def _others(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}" if counts(share) else f"{share:.0%}, too busy"


def figure(value: float) -> str:
    """A value with three significant digits or more: 0.0123, 1.23, 123, 12,345."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
