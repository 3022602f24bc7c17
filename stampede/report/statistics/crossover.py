"""From which size of one item on another choice is the faster one: a straight line between what was measured, both axes
logarithmic."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from experiments import Experiment
from stampede.experiment.declaration import Compare
from stampede.report.statistics.crossing import crossings
from stampede.runs.cell_key import STAND_IN, Key, distinguishing

MEGABIT_BYTES = 125_000
# (bytes of one item, Mbit/s), by size.
Line = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Place:
    """The cells that differ in the choice and in the size of their items alone: a line for each choice.

    `crossings` are (size in bytes, the faster one below, the faster one above), of two of which one is clearly faster
    at the smaller size and the other at the larger; `fastest` is clearly faster than every other at all sizes, None
    where there is no such one; both leave stand-ins out. `compared` is whether two others were compared, each median of
    them with an interval.
    """

    words: str
    lines: Mapping[str, Line]
    crossings: Sequence[tuple[float, str, str]]
    fastest: str | None = None
    compared: bool = True


def places(experiment: Experiment, compare: Compare, cells: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Every place in which a choice was measured at more than one size of items, in the order of the cells."""
    if experiment.items is None:
        return []
    axis, metric = experiment.items
    groups: dict[tuple[Any, ...], dict[str, list[_Measured]]] = {}
    firsts: dict[tuple[Any, ...], Key] = {}
    for cell in cells:
        key = Key.of_figures(experiment.axes, cell)
        items, speed = cell["client"][metric], cell["client"]["mbit_per_s"]
        if items and speed:
            place = key.without((*compare.axes, axis))
            firsts.setdefault(place, key)
            size_bytes = speed * MEGABIT_BYTES * cell["seconds"]["mean_s"] / items
            point = _Measured(size_bytes, speed, cell["seconds"]["median_interval"])
            groups.setdefault(place, {}).setdefault(key.words_of(compare.axes), []).append(point)
    told = distinguishing(firsts.values())
    found = []
    for place, lines in groups.items():
        whole = {name: sorted(line, key=lambda one: one.size_bytes) for name, line in lines.items() if len(line) > 1}
        if len(whole) > 1:
            words = firsts[place].words_without((*compare.axes, axis), told)
            found.append(_place(words, whole))
    return found


@dataclass(frozen=True)
class _Measured:
    """One point of a line, and the interval of the median seconds; None with too few."""

    size_bytes: float
    speed: float
    median_interval: Mapping[str, float] | None

    def is_faster(self, other: "_Measured") -> bool:
        """Whether the intervals of both medians lie apart."""
        ours, theirs = self.median_interval, other.median_interval
        return ours is not None and theirs is not None and ours["high"] < theirs["low"]


def _place(words: str, lines: Mapping[str, Sequence[_Measured]]) -> Place:
    """A place, with what can be said of it."""
    own = {name: line for name, line in lines.items() if not name.endswith(STAND_IN)}
    fastest = [one for one in own if len(own) > 1
               and all(_is_faster(own[one], own[other]) for other in own if other != one)]  # fmt: skip
    drawn = {name: [(one.size_bytes, one.speed) for one in line] for name, line in lines.items()}
    compared = len(own) > 1 and all(one.median_interval for line in own.values() for one in line)
    return Place(words, drawn, _crossings(own), fastest[0] if fastest else None, compared)


def _is_faster(line: Sequence[_Measured], other: Sequence[_Measured]) -> bool:
    return all(one.is_faster(theirs) for one, theirs in zip(line, other, strict=False))


def _crossings(lines: Mapping[str, Sequence[_Measured]]) -> list[tuple[float, str, str]]:
    """Between two sizes of both, at the smaller of which one is clearly faster and at the larger the other one."""
    found = []
    for one, other in combinations(lines, 2):
        both = list(zip(lines[one], lines[other], strict=False))
        for left, right in pairwise(both):
            below, above = (one, other) if left[0].is_faster(left[1]) else (other, one)
            if _turns(left, right) or _turns(left[::-1], right[::-1]):
                at = crossings([math.log(part[0].size_bytes) for part in (left, right)],
                               [math.log(ours.speed / theirs.speed) for ours, theirs in (left, right)])  # fmt: skip
                found += [(math.exp(place), below, above) for place, _ in at]
    return found


def _turns(left: tuple[_Measured, _Measured], right: tuple[_Measured, _Measured]) -> bool:
    return left[0].is_faster(left[1]) and right[1].is_faster(right[0])
