"""From which size of one item on another choice is the faster one: a straight line between what was measured, both axes
logarithmic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from experiments import Experiment
from experiments.experiment import Compare
from report.cell_key import Key, told_apart
from report.statistics.crossing import crossings

MEGABIT_BYTES = 125_000
# (bytes of one item, Mbit/s), by size.
Line = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Place:
    """The cells that differ in the choice and in the size of their items alone: a line for each choice, and where two
    of them cross, as (size in bytes, the faster one below, the faster one above)."""

    words: str
    lines: Mapping[str, Line]
    crossings: Sequence[tuple[float, str, str]]


def places(experiment: Experiment, compare: Compare, cells: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Every place in which a choice was measured at more than one size of items, in the order of the cells."""
    if experiment.items is None:
        return []
    axis, metric = experiment.items
    groups: dict[tuple[Any, ...], dict[str, list[tuple[float, float]]]] = {}
    firsts: dict[tuple[Any, ...], Key] = {}
    for cell in cells:
        key = Key.of_figures(experiment.axes, cell)
        items, speed = cell["client"][metric], cell["client"]["mbit_per_s"]
        if items and speed:
            place = key.without((*compare.axes, axis))
            firsts.setdefault(place, key)
            size_bytes = speed * MEGABIT_BYTES * cell["seconds"]["mean_s"] / items
            groups.setdefault(place, {}).setdefault(key.words_of(compare.axes), []).append((size_bytes, speed))
    told = told_apart(firsts.values())
    found = []
    for place, lines in groups.items():
        whole = {name: sorted(line) for name, line in lines.items() if len(line) > 1}
        if len(whole) > 1:
            words = firsts[place].words_without((*compare.axes, axis), told)
            found.append(Place(words, whole, _crossings(whole)))
    return found


def _crossings(lines: Mapping[str, Line]) -> list[tuple[float, str, str]]:
    """Between the smallest and the largest size of both; none where one is the faster all along."""
    found = []
    for one, other in combinations(lines, 2):
        both = list(zip(lines[one], lines[other], strict=False))
        ratios = [ours / theirs for (_, ours), (_, theirs) in both]
        for place, rises in crossings(np.log([size for (size, _), _ in both]), np.log(ratios)):
            found.append((float(np.exp(place)), *((other, one) if rises else (one, other))))
    return found
