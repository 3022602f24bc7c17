"""Measures two sides in turn, and keeps the medians: results/bench.json is a list of entries, one a comparison."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from stampede.phrases import significant
from stampede.progress import say
from stampede.runs.folder import write_where_typed


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


@dataclass(frozen=True)
class Samples:
    """What every run of the two sides gave, in the order in which they ran."""

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    def entry(self, name: str, unit: str, *, higher_is_better: bool) -> Entry:
        """Sum the samples up. Raises BenchError when a side has no run, or a value that is no positive number."""
        for side, values in (("ours", self.ours), ("peer", self.peer)):
            if not values or any(not math.isfinite(value) or value <= 0 for value in values):
                raise BenchError(f"{name}: the runs of {side} gave {list(values)}; every one must be a positive number")
        ours, peer = statistics.median(self.ours), statistics.median(self.peer)
        ratio = ours / peer if higher_is_better else peer / ours
        return Entry(name, ours, peer, unit, ratio, min(len(self.ours), len(self.peer)))


def alternate(ours: Callable[[], float], peer: Callable[[], float], runs: int, unit: str) -> Samples:
    """Run both sides in turn, `runs` times each: what else the machine does hits both. Each prints its value, in
    `unit`."""
    values: dict[str, list[float]] = {"ours": [], "peer": []}
    for run in range(1, runs + 1):
        for side, measure in (("ours", ours), ("peer", peer)):
            value = measure()
            values[side].append(value)
            say(f"  run {run} {side}: {significant(value)} {unit}", style="dim")
    return Samples(tuple(values["ours"]), tuple(values["peer"]))


def save(path: Path, new: Sequence[Entry]) -> None:
    """Merge entries into the JSON list at `path`: one of the same name takes the place of the former, others come last.
    Raises BenchError when what is there isn't such a list."""
    names = {field.name for field in fields(Entry)}
    earlier = names - {"others_share"}  # as it was until November 2026
    known = read(path)
    if not all(stored.keys() in (names, earlier) for stored in known):
        raise BenchError(f"{path} isn't a list of entries with {', '.join(sorted(names))}; move it away and run again")
    entries = {stored["name"]: stored for stored in known} | {entry.name: asdict(entry) for entry in new}
    write(path, list(entries.values()))


def read(path: Path) -> list[dict[str, Any]]:
    """The objects of the JSON list at `path`, none where there is no file. Raises BenchError for another file."""
    try:
        known = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (ValueError, OSError) as error:
        raise BenchError(f"{path} can't be read ({error}); move it away and run again") from None
    if not isinstance(known, list) or not all(isinstance(stored, dict) for stored in known):
        raise BenchError(f"{path} isn't a list of objects; move it away and run again")
    return known


def write(path: Path, results: Sequence[Any]) -> None:
    """Write a JSON list, whole or not at all; its folder is made."""
    write_where_typed(path, json.dumps(results, indent=2) + "\n")
