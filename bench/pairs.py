"""Two sides in turn, and what is said of them: rounds, medians, ratios, results/bench.json and the table.

A side is one client: how it is run once, and the figures of its runs. An entry compares one figure of two sides.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.machine import MOST_SHARE, counts
from stampede.phrases import significant
from stampede.progress import say
from stampede.runs.folder import write_where_typed
from stampede.tables import print_rows

Figures = dict[str, float]


@dataclass
class Side:
    """One client: how to run it once, which raises BenchError for what is no measurement, and what its runs gave."""

    label: str
    run: Callable[[], Figures]
    measured: list[Figures] = field(default_factory=list)

    def median(self, figure: str) -> float:
        """The median of one figure of all runs."""
        return statistics.median(run[figure] for run in self.measured)

    def sentence(self) -> str:
        """The medians of all figures in words."""
        figures = ", ".join(f"{significant(self.median(name))} {name}" for name in self.measured[0])
        return f"{self.label}: {figures}"


def bound(label: str, **figures: float) -> Side:
    """What isn't run: a limit, or the most that something may take."""
    return Side(label, lambda: figures, [figures])


@dataclass(frozen=True)
class Entry:
    """One comparison: medians over `runs` of each side, in `unit`; a `ratio` above 1 says that ours is better."""

    name: str
    ours: float
    peer: float
    unit: str
    ratio: float
    runs: int
    others_share: float | None = None  # of the processors' time meanwhile, 0 to 1, by other work; None: unknown


# What a measurement gives: entries of the same runs, and a line about what was measured.
Measured = tuple[list[Entry], str]
# The measurements of an area, by the names of their entries; each takes the number of runs.
Measurements = dict[tuple[str, ...], Callable[[int], Measured]]


def in_turn(sides: Sequence[Side], runs: int, warm_up: bool = True) -> None:
    """Run every side once to warm up, then `runs` rounds of all of them: what else the machine does hits all alike."""
    if warm_up:
        for side in sides:
            side.run()
    for number in range(1, runs + 1):
        for side in sides:
            side.measured.append(side.run())
            figures = ", ".join(f"{significant(value)} {name}" for name, value in side.measured[-1].items())
            say(f"  round {number} of {runs}, {side.label}: {figures}", style="dim")


def compare(name: str, ours: Side, peer: Side, figure: str, unit: str, *, more_is_better: bool = False) -> Entry:
    """Sum one figure of two sides up. Raises BenchError when a side has no run, or a value that is no positive
    number."""
    medians = []
    for side in (ours, peer):
        values = [run[figure] for run in side.measured]
        if not values or any(not math.isfinite(value) or value <= 0 for value in values):
            raise BenchError(f"{name}: the runs of {side.label} gave {values}; every one must be a positive number")
        medians.append(statistics.median(values))
    ratio = medians[0] / medians[1] if more_is_better else medians[1] / medians[0]
    return Entry(name, *medians, unit, ratio, len(ours.measured))


def save(path: Path, entry: Entry) -> None:
    """Put an entry into the JSON list at `path`: in the place of one of the same name, else last. Raises BenchError
    when what is there isn't such a list."""
    names = {each.name for each in fields(Entry)}
    entries = _stored(path)
    if not all(isinstance(stored, dict) and names - {"others_share"} <= stored.keys() <= names for stored in entries):
        raise BenchError(
            f"{path} isn't a list of entries with {', '.join(sorted(names))}", "move it away and run again"
        )
    by_name = {stored["name"]: stored for stored in entries} | {entry.name: asdict(entry)}
    write_where_typed(path, json.dumps(list(by_name.values()), indent=2) + "\n")


def _stored(path: Path) -> list[Any]:
    try:
        stored = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (ValueError, OSError) as error:
        raise BenchError(f"{path} can't be read ({error})", "move it away and run again") from None
    return stored if isinstance(stored, list) else [stored]


def print_entries(entries: Sequence[Entry], notes: Iterable[str]) -> None:
    """Print entries as a table on stdout, with `notes` (machine, versions, command) below."""
    rows = []
    for entry in entries:
        others = "-" if entry.others_share is None else f"{entry.others_share:.0%}"
        busy = "" if counts(entry.others_share) else ", too busy"
        values = {"ours": significant(entry.ours), "peer": significant(entry.peer), "unit": entry.unit}
        rows.append({"name": entry.name, **values, "ratio": f"{entry.ratio:.2f} x", "others": others + busy})
        rows[-1]["runs"] = entry.runs
    print_rows(rows, "table")
    print("medians of alternating runs; ratio above 1: ours is better; others: processor time of other work")
    if busy_names := [entry.name for entry in entries if not counts(entry.others_share)]:
        print(f"the machine was too busy (above {MOST_SHARE:.0%}), so these don't count: {', '.join(busy_names)}")
    for note in notes:
        print(note)
