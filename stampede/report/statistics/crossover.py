"""From which size of one item on another choice is the faster one: a straight line between what was measured, both axes
logarithmic."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from experiments import Experiment
from stampede.cell import Cell, distinguishing
from stampede.experiment import Compare
from stampede.report.statistics.crossing import crossings

MEGABIT_BYTES = 125_000
# (bytes of one item, Mbit/s), by size.
Line = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Place:
    """The cells that differ in the choice and in the size of their items alone: a line for each choice.

    `crossings` are (size in bytes, the faster one below, the faster one above), of two of which one is clearly faster
    at the smaller size and the other at the larger; `fastest` is clearly faster than every other at all sizes, None
    where there is no such one; both leave stand-ins out. `originals` is how many lines aren't of stand-ins, and
    `compared` whether two such were compared, each median of them with an interval.
    """

    words: str
    lines: Mapping[str, Line]
    crossings: Sequence[tuple[float, str, str]]
    fastest: str | None = None
    originals: int = 2
    compared: bool = True


@dataclass(frozen=True)
class _Point:
    """One point of a line, and the interval of the median seconds; None with too few."""

    size_bytes: float
    speed: float
    median_interval: Mapping[str, float] | None
    is_of_stand_in: bool

    def is_faster(self, other: "_Point") -> bool:
        """Whether the intervals of both medians lie apart."""
        ours, theirs = self.median_interval, other.median_interval
        return ours is not None and theirs is not None and ours["high"] < theirs["low"]


def places(experiment: Experiment, compare: Compare, cells: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Every place in which a choice was measured at more than one size of items, in the order of the cells."""
    if experiment.items is None:
        return []
    axis, metric = experiment.items
    groups: dict[tuple[Any, ...], dict[str, list[_Point]]] = {}
    firsts: dict[tuple[Any, ...], Cell] = {}
    for cell in cells:
        key = Cell.of_figures(experiment.axes, cell)
        items, speed = cell["client"][metric], cell["client"]["mbit_per_s"]
        if items and speed:
            place = key.without((*compare.axes, axis))
            firsts.setdefault(place, key)
            size_bytes = speed * MEGABIT_BYTES * cell["seconds"]["mean_s"] / items
            interval = cell["seconds"]["median_interval"]
            point = _Point(size_bytes, speed, interval, key.is_of_stand_in(compare.axes))
            groups.setdefault(place, {}).setdefault(key.words_of(compare.axes), []).append(point)
    named_axes = distinguishing(firsts.values())
    measured = []
    for place, points in groups.items():
        lines = {name: sorted(line, key=lambda one: one.size_bytes) for name, line in points.items() if len(line) > 1}
        if len(lines) > 1:
            measured.append(_place(firsts[place].words_without((*compare.axes, axis), named_axes), lines))
    return measured


def _place(words: str, lines: Mapping[str, Sequence[_Point]]) -> Place:
    own = {name: line for name, line in lines.items() if not line[0].is_of_stand_in}
    return Place(
        words,
        {name: [(point.size_bytes, point.speed) for point in line] for name, line in lines.items()},
        _crossings(own),
        _fastest(own),
        len(own),
        len(own) > 1 and all(point.median_interval for line in own.values() for point in line),
    )


def _fastest(lines: Mapping[str, Sequence[_Point]]) -> str | None:
    """The line that is clearly faster than each of the others at all sizes."""
    for name, line in lines.items():
        rivals = [points for other, points in lines.items() if other != name]
        pairs = [pair for points in rivals for pair in zip(line, points, strict=False)]
        if pairs and all(point.is_faster(rival) for point, rival in pairs):
            return name
    return None


def _crossings(lines: Mapping[str, Sequence[_Point]]) -> list[tuple[float, str, str]]:
    """Between two sizes of both, at the smaller of which one is clearly faster and at the larger the other one."""
    turns = []
    for name, other in combinations(lines, 2):
        both = zip(lines[name], lines[other], strict=False)
        for (point, rival), (next_point, next_rival) in pairwise(both):
            if point.is_faster(rival) and next_rival.is_faster(next_point):
                below, above = name, other
            elif rival.is_faster(point) and next_point.is_faster(next_rival):
                below, above = other, name
            else:
                continue
            sizes = [math.log(point.size_bytes), math.log(next_point.size_bytes)]
            ratios = [math.log(point.speed / rival.speed), math.log(next_point.speed / next_rival.speed)]
            turns += [(math.exp(at), below, above) for at, _ in crossings(sizes, ratios)]
    return turns
