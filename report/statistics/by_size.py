"""A choice of two against the size of an object: how many times as fast one is as the other, how many times as cheap,
and from which size on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments import Experiment
from experiments.by_size import Tariff
from report import prices
from report.cell_key import told_apart
from report.run import Run
from report.spread import quantile
from report.statistics import rules
from report.statistics.bootstrap import interval
from report.statistics.cell_figures import Measured
from report.statistics.crossing import break_even
from report.statistics.distribution import mean

VERBS = {"write": "writing", "read": "reading"}
# The record's word for a function's memory in MB.
MEMORY = "memory_size"


@dataclass(frozen=True)
class Resampled:
    """A figure, and its value in every resample."""

    value: float
    values: np.ndarray

    def over(self, other: "Resampled") -> "Resampled":
        """The ratio of both."""
        return Resampled(self.value / other.value, self.values / other.values)


@dataclass(frozen=True)
class Pair:
    """Two cells that differ in the choice alone; `size_bytes` is that of one object."""

    ours: Measured
    base: Measured
    size_bytes: int

    @property
    def count(self) -> int:
        """Measurements of the smaller one."""
        return min(len(self.ours.everything), len(self.base.everything))


def choice_of(experiment: Experiment) -> tuple[str, str, Any]:
    """The axis of the choice, that of the size, and the value against which the other one is set."""
    if experiment.by_size is None:
        raise ValueError(f"{experiment.name} names no choice by size")
    choice, size = experiment.by_size.choice, experiment.by_size.size
    return choice, size, next(one.base[0] for one in experiment.compare if one.axes[0] == choice)


def along(experiment: Experiment) -> list[str]:
    """The axes that go along with others: those whose default follows from them."""
    return [axis.name for axis in experiment.axes if callable(axis.default)]


def by_size(cells: Sequence[Measured], run: Run) -> list[dict[str, Any]]:
    """A series for each combination of whatever else was chosen, with a point a size: what the base took over what the
    other one took, of time ("speedup", medians) and of money ("cheapness"), each with its 95 % interval; "usd" is what
    moving one object cost of both (request, bytes, the function's seconds; no storage). "time" and "cost" say where
    the ratios pass 1; without prices there is no cost."""
    experiment, known = run.experiment, prices.known(run)
    axis, moves = experiment.by_size.moves
    bill = _Bill(prices.tariffs(run), prices.mb_second_usd(run, known), experiment)
    found = []
    for (words, place), pairs in _series(_pairs(cells, experiment), experiment).items():
        key = pairs[0].ours.key
        what = moves[key[axis]]
        ours = key.value_words(choice_of(experiment)[0])
        told_of = f"{VERBS[what]} is {{}} on {ours}"
        times = [_median(pair.base).over(_median(pair.ours)) for pair in pairs]
        costs = [bill.of(pair, what) for pair in pairs]
        cheaper = [base.over(mine) for mine, base in filter(None, costs)]
        found.append({
            "words": words,
            "moves": what,
            "place": place,
            "ours": ours,
            "points": [_point(*one) for one in zip(pairs, times, costs, strict=True)],
            "time": _even(pairs, times, ("faster", "slower"), told_of),
            "cost": _even(pairs, cheaper, ("cheaper", "dearer"), told_of)
            if len(cheaper) == len(pairs) else None,
        })  # fmt: skip
    return found


def _pairs(cells: Sequence[Measured], experiment: Experiment) -> list[Pair]:
    """Cells with a time, of which both were measured, and which write or read objects."""
    choice, size, value = choice_of(experiment)
    axis, moves = experiment.by_size.moves
    timed = [one for one in cells if one.key[axis] in moves and one.moved_bytes and len(one.everything)
             and one.everything.values[0] >= rules.SHORTEST_S]  # fmt: skip
    bases: dict[tuple[Any, ...], list[Measured]] = {}
    for one in timed:
        if one.key[choice] == value:
            # A slower one may come in more slices: alike in all else is alike enough, where there is one such.
            for left_out in ((choice,), (choice, *along(experiment))):
                bases.setdefault((left_out, one.key.without(left_out)), []).append(one)
    found = []
    for one in timed:
        if one.key[choice] != value:
            alike = (bases.get((left_out, one.key.without(left_out)), [])
                     for left_out in ((choice,), (choice, *along(experiment))))  # fmt: skip
            found += [Pair(one, base[0], one.key[size]) for base in alike if len(base) == 1][:1]
    return found


def _series(pairs: Sequence[Pair], experiment: Experiment) -> dict[tuple[str, str], list[Pair]]:
    """The pairs that differ in the size alone, each by size, by what they have in common in words, with and without
    what is done. What goes along with the size is left out, unless one size has more than one value of it."""
    choice, size, _ = choice_of(experiment)
    for left_out in ((choice, size, *along(experiment)), (choice, size)):
        groups: dict[tuple[Any, ...], list[Pair]] = {}
        for pair in pairs:
            groups.setdefault(pair.ours.key.without(left_out), []).append(pair)
        if all(len({pair.size_bytes for pair in group}) == len(group) for group in groups.values()):
            break
    told = told_apart(pair.ours.key for pair in pairs)
    found, axis = {}, experiment.by_size.moves[0]
    for group in groups.values():
        words = (group[0].ours.key.words_without((*left_out, *more), told) for more in ((), (axis,)))
        found[tuple(words)] = sorted(group, key=lambda pair: pair.size_bytes)
    return found


class _Bill:
    """What moving one object costs."""

    def __init__(self, tariffs: Mapping[Any, Tariff], mb_second_usd: float | None, experiment: Experiment) -> None:
        self._tariffs, self._mb_second_usd = tariffs, mb_second_usd
        self._choice, _, _ = choice_of(experiment)
        self._memory = next((axis.name for axis in experiment.axes if axis.record_field == MEMORY), "")

    def of(self, pair: Pair, moves: str) -> tuple[Resampled, Resampled] | None:
        """Ours and the base's, in US dollars; None without a price, or where a record doesn't say how much moved."""
        ours, base = (self._one(cell, pair.size_bytes, moves) for cell in (pair.ours, pair.base))
        return (ours, base) if ours and base else None

    def _one(self, cell: Measured, size_bytes: int, moves: str) -> Resampled | None:
        tariff = self._tariffs.get(cell.key[self._choice])
        if tariff is None or self._mb_second_usd is None:
            return None
        moved_bytes = cell.moved_bytes or math.nan
        fixed = prices.moved_usd(tariff, moves, size_bytes)
        second = self._mb_second_usd * cell.key[self._memory] * size_bytes / moved_bytes
        sample = cell.everything
        return Resampled(fixed + second * mean(sample.values.tolist()), fixed + second * sample.means)


def _median(cell: Measured) -> Resampled:
    """Seconds a byte, because one may come in more slices than the other."""
    median, moved_bytes = quantile(cell.everything.values.tolist(), 0.5), cell.moved_bytes or math.nan
    return Resampled(median / moved_bytes, cell.everything.medians / moved_bytes)


def _point(pair: Pair, time: Resampled, cost: tuple[Resampled, Resampled] | None) -> dict[str, Any]:
    return {
        **pair.ours.key.figures(),
        "base": pair.base.key.figures(),
        "size_bytes": pair.size_bytes,
        "count": pair.count,
        "speedup": _ratio(time, pair.count),
        "usd": cost and {"ours": cost[0].value, "base": cost[1].value},
        "cheapness": cost and _ratio(cost[1].over(cost[0]), pair.count),
    }


def _ratio(found: Resampled, count: int) -> dict[str, float | None]:
    enough = count >= rules.MINIMUM_FOR_COMPARISON
    return {"value": found.value} | (interval(found.values, count) if enough else {"low": None, "high": None})


def _even(pairs: Sequence[Pair], found: Sequence[Resampled], names: tuple[str, str], told_of: str) -> dict[str, Any]:
    sizes, count = [pair.size_bytes for pair in pairs], min(pair.count for pair in pairs)
    ratios = [_ratio(one, pair.count) for one, pair in zip(found, pairs, strict=True)]
    return break_even(sizes, ratios, [one.values for one in found], count, names, told_of)
