"""Measures two sides in turn, and keeps the medians: results/bench.json is a list of entries, one a comparison."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.errors import BenchError


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


def alternate(
    ours: Callable[[], float],
    peer: Callable[[], float],
    runs: int,
    told: Callable[[str, int, float], None] = lambda side, run, value: None,
) -> Samples:
    """Run both sides in turn, `runs` times each: what else the machine does hits both. `told` hears of every value."""
    values: dict[str, list[float]] = {"ours": [], "peer": []}
    for run in range(1, runs + 1):
        for side, measure in (("ours", ours), ("peer", peer)):
            values[side].append(measure())
            told(side, run, values[side][-1])
    return Samples(tuple(values["ours"]), tuple(values["peer"]))


def merge(known: Iterable[dict[str, Any]], new: Sequence[Entry]) -> list[dict[str, Any]]:
    """Put new entries into a list of known ones: same name, same place; others at the end."""
    fresh = {entry.name: asdict(entry) for entry in new}
    merged = [fresh.pop(one["name"], one) for one in known]
    return merged + list(fresh.values())


def save(path: Path, new: Sequence[Entry]) -> None:
    """Merge entries into the JSON list at `path`, atomically. Raises BenchError when what is there is no such list."""
    write(path, merge(_known(path), new))


def write(path: Path, results: Sequence[Any]) -> None:
    """Write a JSON list, atomically; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(json.dumps(results, indent=2) + "\n")
    beside.replace(path)


def _known(path: Path) -> list[dict[str, Any]]:
    try:
        known = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (ValueError, OSError) as error:
        raise BenchError(f"{path} can't be read ({error}); move it away and run again") from None
    names = {field.name for field in fields(Entry)}
    earlier = names - {"others_share"}  # as it was until November 2026
    if not isinstance(known, list) or not all(
        isinstance(one, dict) and one.keys() in (names, earlier) for one in known
    ):
        raise BenchError(f"{path} isn't a list of entries with {', '.join(sorted(names))}; move it away and run again")
    return known
