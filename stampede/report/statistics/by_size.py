"""A choice of two against the size of an object: how many times as fast one is as the other, how many times as cheap,
and from which size on."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments import Experiment
from stampede.cell import distinguishing
from stampede.phrases import decimal_size, listed
from stampede.report import prices
from stampede.report.run import Run
from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Resampled
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.crossing import UNCLEAR, break_even
from stampede.report.statistics.rounds import shared

VERBS = {"write": "writing", "read": "reading"}
# The record's word for a function's memory in MB.
MEMORY = "memory_size"
# What one object takes of ours, and of the base.
Both = tuple[Resampled, Resampled]


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

    @property
    def size(self) -> int:
        """The units of which it is resampled: those measurements, or rounds."""
        return min(self.ours.everything.size, self.base.everything.size)


def choice_of(experiment: Experiment) -> tuple[str, str, Any]:
    """The axis of the choice, that of the size, and the value against which the other one is set."""
    if experiment.by_size is None:
        raise ValueError(f"{experiment.name} names no choice by size")
    choice, size = experiment.by_size.choice, experiment.by_size.size
    return choice, size, next(compare.base[0] for compare in experiment.compare if compare.axes[0] == choice)


def along(experiment: Experiment) -> list[str]:
    """The axes that go along with others: those whose default follows from them."""
    return [axis.name for axis in experiment.axes if callable(axis.default)]


def by_size(cells: Sequence[Measured], run: Run) -> list[dict[str, Any]]:
    """A series for each combination of whatever else was chosen, with a point a size: what the base took over what the
    other one took, of time ("speedup") and of money ("cheapness"), each with its 95 % interval. "seconds" is what one
    object took of both (medians), "usd" what it cost (request, bytes, the function's median seconds; no storage).
    "time" and "cost" say where both come out even; without prices there is no cost. All intervals hold together:
    "together" is how many they are."""
    experiment, bill = run.experiment, _Bill(run)
    axis, moves = experiment.by_size.moves
    series, claims = [], 0
    for words, pairs in _series(_pairs(cells, experiment), experiment).items():
        costs = [bill.of(pair, moves[pair.ours.key[axis]]) for pair in pairs]
        series.append((words, pairs, costs))
        claims += _intervals(pairs, costs, _replaced(pairs, run))
    return [_figures(*parts, run, max(1, claims)) for parts in series]


def _figures(
    words: tuple[str, str], pairs: Sequence[Pair], costs: Sequence[Both | None], run: Run, among: int
) -> dict[str, Any]:
    """One series as it stands in statistics.json."""
    choice, _, _ = choice_of(run.experiment)
    axis, moves = run.experiment.by_size.moves
    key = pairs[0].ours.key
    what, ours, named = moves[key[axis]], key[choice], key.value_words(choice)
    claim = f"{VERBS[what]} is {{}} on {'the ' if named != ours else ''}{named}"
    times = [(_median(pair.ours, pair), _median(pair.base, pair)) for pair in pairs]
    points = [_point(pair, time, cost, among) for pair, time, cost in zip(pairs, times, costs, strict=True)]
    time = _even(pairs, times, ("faster", "slower"), claim, among)
    cost = None if None in costs else _even(pairs, costs, ("cheaper", "more expensive"), claim, among)
    if replaced := _replaced(pairs, run):
        why = f"a stand-in ran, so this says nothing about {listed(replaced)}"
        time, cost = {"level": UNCLEAR, "at_bytes": None, "interval": None, "words": why, "short": ""}, None
    return {
        "words": words[0],
        "moves": what,
        "place": words[1],
        "ours": ours,
        "together": among,
        "points": points,
        "time": time,
        "cost": cost,
    }


def _replaced(pairs: Sequence[Pair], run: Run) -> list[str]:
    """What stand-ins replaced in a series; [] where none ran."""
    stand_ins = run.stand_ins([pairs[0].ours.key, pairs[0].base.key])
    return [name for names in stand_ins.values() for name in names]


def _intervals(pairs: Sequence[Pair], costs: Sequence[Both | None], replaced: Sequence[str]) -> int:
    """Those of a series: a ratio of times and one of costs a size, and of each where both come out even, which isn't
    said where stand-ins ran."""
    has_enough = [pair.count >= rules.MINIMUM_FOR_COMPARISON for pair in pairs]
    of_times = sum(has_enough)
    of_costs = sum(1 for enough, cost in zip(has_enough, costs, strict=True) if enough and cost)
    return sum(count + (not replaced) for count in (of_times, of_costs) if count)


def _pairs(cells: Sequence[Measured], experiment: Experiment) -> list[Pair]:
    """Cells with a time, of which both were measured, and which write or read objects."""
    choice, size, value = choice_of(experiment)
    axis, moves = experiment.by_size.moves
    # A slower one may come in more slices: alike in all else is alike enough, where there is one such.
    likenesses = ((choice,), (choice, *along(experiment)))
    variants, bases = [], defaultdict(list)
    for cell in cells:
        seconds = cell.everything.values
        if cell.key[axis] not in moves or not cell.moved_bytes or not len(seconds) or seconds[0] < rules.SHORTEST_S:
            continue
        if cell.key[choice] != value:
            variants.append(cell)
            continue
        for left_out in likenesses:
            bases[left_out, cell.key.without(left_out)].append(cell)
    pairs = []
    for cell in variants:
        for left_out in likenesses:
            alike = bases[left_out, cell.key.without(left_out)]
            if len(alike) == 1:
                pairs.append(Pair(cell, alike[0], cell.key[size]))
                break
    return pairs


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
    named_axes = distinguishing(pair.ours.key for pair in pairs)
    series, axis = {}, experiment.by_size.moves[0]
    for group in groups.values():
        key = group[0].ours.key
        words = key.words_without(left_out, named_axes), key.words_without((*left_out, axis), named_axes)
        series[words] = sorted(group, key=lambda pair: pair.size_bytes)
    return series


class _Bill:
    """What moving one object costs."""

    def __init__(self, run: Run) -> None:
        self._run, self._prices, self._tariffs = run, prices.known(run), prices.tariffs(run)
        self._choice, _, _ = choice_of(run.experiment)
        self._memory = next((axis.name for axis in run.experiment.axes if axis.record_field == MEMORY), "")

    def of(self, pair: Pair, moves: str) -> Both | None:
        """Ours and the base's, in US dollars; None without a price, or where a record doesn't say how much moved."""
        ours, base = (self._usd(cell, pair.size_bytes, moves) for cell in (pair.ours, pair.base))
        return (ours, base) if ours and base else None

    def _usd(self, cell: Measured, size_bytes: int, moves: str) -> Resampled | None:
        tariff = self._tariffs.get(cell.key[self._choice])
        mb_second_usd = prices.mb_second_usd(self._run, self._prices, cell.key)
        if tariff is None or mb_second_usd is None:
            return None
        fixed = prices.moved_usd(tariff, moves, size_bytes)
        second = mb_second_usd * cell.key[self._memory] * size_bytes / (cell.moved_bytes or math.nan)
        # Of the median operation, like the time: a mean of ten has no interval that holds (rules.py).
        seconds = cell.everything
        return Resampled(fixed + second * seconds.median, fixed + second * seconds.medians)


def _median(cell: Measured, pair: Pair) -> Resampled:
    """Seconds of one object, because one of both may come in more slices."""
    share = pair.size_bytes / (cell.moved_bytes or math.nan)
    return Resampled(cell.everything.median * share, cell.everything.medians * share)


def _point(pair: Pair, time: Both, cost: Both | None, among: int) -> dict[str, Any]:
    return {
        **pair.ours.key.figures(),
        "base": pair.base.key.figures(),
        "size_bytes": pair.size_bytes,
        "count": pair.count,
        "seconds": {"ours": time[0].value, "base": time[1].value},
        "speedup": _ratio(time, pair, among),
        "usd": cost and {"ours": cost[0].value, "base": cost[1].value},
        "cheapness": cost and _ratio(cost, pair, among),
        **shared(pair.ours.everything, pair.base.everything),
    }


def _ratio(both: Both, pair: Pair, among: int) -> dict[str, float | None]:
    ours, base = both
    ratio = base.over(ours)
    if pair.count < rules.MINIMUM_FOR_COMPARISON:
        return {"value": ratio.value, "low": None, "high": None}
    return together.of_ratio(ratio.value, ratio.values, pair.size, among)


def _even(
    pairs: Sequence[Pair], amounts: Sequence[Both], names: tuple[str, str], claim: str, among: int
) -> dict[str, Any]:
    """Where both come out even, of the sizes with enough measurements, where there are any."""
    has_enough = [pair.count >= rules.MINIMUM_FOR_COMPARISON for pair in pairs]
    few = [decimal_size(pair.size_bytes) for pair, enough in zip(pairs, has_enough, strict=True) if not enough]
    used = list(zip(pairs, amounts, strict=True))
    left_out = ""
    if any(has_enough) and few:
        used = [sized for sized, enough in zip(used, has_enough, strict=True) if enough]
        left_out = f"; too few measurements at {listed(few)}"
    even = break_even(
        [pair.size_bytes for pair, _ in used],
        [_ratio(both, pair, among) for pair, both in used],
        [base.less(ours) for _, (ours, base) in used],
        min(pair.size for pair, _ in used),
        names,
        claim,
        among,
    )
    return even | {"words": even["words"] + left_out}
