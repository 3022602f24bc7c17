"""A choice of two against the size of an object: how many times as fast one is as the other, how many times as cheap,
and from which size on."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments import Experiment
from stampede.experiment.by_size import Tariff
from stampede.phrases import decimal_size, listed
from stampede.report import prices
from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Resampled
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.crossing import UNCLEAR, break_even
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.rounds import shared
from stampede.runs.cell_key import Key, distinguishing
from stampede.runs.run import Run

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
    return choice, size, next(one.base[0] for one in experiment.compare if one.axes[0] == choice)


def along(experiment: Experiment) -> list[str]:
    """The axes that go along with others: those whose default follows from them."""
    return [axis.name for axis in experiment.axes if callable(axis.default)]


def by_size(cells: Sequence[Measured], run: Run) -> list[dict[str, Any]]:
    """A series for each combination of whatever else was chosen, with a point a size: what the base took over what the
    other one took, of time ("speedup") and of money ("cheapness"), each with its 95 % interval. "seconds" is what one
    object took of both (medians), "usd" what it cost (request, bytes, the function's mean seconds; no storage). "time"
    and "cost" say where both come out even; without prices there is no cost. All intervals hold together: "together" is
    how many they are."""
    experiment, known = run.experiment, prices.known(run)
    axis, moves = experiment.by_size.moves
    bill = _Bill(prices.tariffs(run), lambda key: prices.mb_second_usd(run, known, key), experiment)
    series = [(*named, pairs, [bill.of(pair, moves[pair.ours.key[axis]]) for pair in pairs])
              for named, pairs in _series(_pairs(cells, experiment), experiment).items()]  # fmt: skip
    among = max(1, sum(_intervals(pairs, costs) for *_, pairs, costs in series))
    found = []
    for words, place, pairs, costs in series:
        key = pairs[0].ours.key
        what = moves[key[axis]]
        ours = key[choice_of(experiment)[0]]
        named = key.value_words(choice_of(experiment)[0])
        told_of = f"{VERBS[what]} is {{}} on {'the ' if named != ours else ''}{named}"
        times = [(_median(pair.ours, pair), _median(pair.base, pair)) for pair in pairs]
        found.append({
            "words": words,
            "moves": what,
            "place": place,
            "ours": ours,
            "together": among,
            "points": [_point(*one, among) for one in zip(pairs, times, costs, strict=True)],
            "time": _even(pairs, times, ("faster", "slower"), told_of, among),
            "cost": None if None in costs else _even(pairs, costs, ("cheaper", "more expensive"), told_of, among),
        })  # fmt: skip
        if replaced := [name for names in run.stand_ins([key, pairs[0].base.key]).values() for name in names]:
            found[-1] |= {"time": _of_stand_in(replaced), "cost": None}
    return found


def _intervals(pairs: Sequence[Pair], costs: Sequence[Both | None]) -> int:
    """Those of a series: a ratio of times and one of costs a size, and of each where both come out even."""
    enough = [bool(cost) for pair, cost in zip(pairs, costs, strict=True) if pair.count >= rules.MINIMUM_FOR_COMPARISON]
    return (len(enough) + 1) + (sum(enough) + 1 if any(enough) else 0) if enough else 0


def _of_stand_in(replaced: Sequence[str]) -> dict[str, Any]:
    """No break-even and no claim, because a stand-in ran."""
    words = f"a stand-in ran, so this says nothing about {listed(replaced)}"
    return {"level": UNCLEAR, "at_bytes": None, "interval": None, "words": words, "short": ""}


def _pairs(cells: Sequence[Measured], experiment: Experiment) -> list[Pair]:
    """Cells with a time, of which both were measured, and which write or read objects."""
    choice, size, value = choice_of(experiment)
    axis, moves = experiment.by_size.moves
    timed = [one for one in cells if one.key[axis] in moves and one.moved_bytes and len(one.everything)
             and one.everything.values[0] >= rules.SHORTEST_S]  # fmt: skip
    # A slower one may come in more slices: alike in all else is alike enough, where there is one such.
    likenesses = ((choice,), (choice, *along(experiment)))
    bases = defaultdict(list)
    for one in timed:
        for left_out in likenesses if one.key[choice] == value else ():
            bases[left_out, one.key.without(left_out)].append(one)
    found = []
    for one in timed:
        if one.key[choice] != value:
            alike = (bases[left_out, one.key.without(left_out)] for left_out in likenesses)
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
    told = distinguishing(pair.ours.key for pair in pairs)
    found, axis = {}, experiment.by_size.moves[0]
    for group in groups.values():
        words = (group[0].ours.key.words_without((*left_out, *more), told) for more in ((), (axis,)))
        found[tuple(words)] = sorted(group, key=lambda pair: pair.size_bytes)
    return found


class _Bill:
    """What moving one object costs."""

    def __init__(
        self, tariffs: Mapping[Any, Tariff], mb_second_usd: Callable[[Key], float | None], experiment: Experiment
    ) -> None:
        self._tariffs, self._mb_second_usd = tariffs, mb_second_usd
        self._choice, _, _ = choice_of(experiment)
        self._memory = next((axis.name for axis in experiment.axes if axis.record_field == MEMORY), "")

    def of(self, pair: Pair, moves: str) -> Both | None:
        """Ours and the base's, in US dollars; None without a price, or where a record doesn't say how much moved."""
        ours, base = (self._one(cell, pair.size_bytes, moves) for cell in (pair.ours, pair.base))
        return (ours, base) if ours and base else None

    def _one(self, cell: Measured, size_bytes: int, moves: str) -> Resampled | None:
        tariff = self._tariffs.get(cell.key[self._choice])
        mb_second_usd = self._mb_second_usd(cell.key)
        if tariff is None or mb_second_usd is None:
            return None
        moved_bytes = cell.moved_bytes or math.nan
        fixed = prices.moved_usd(tariff, moves, size_bytes)
        second = mb_second_usd * cell.key[self._memory] * size_bytes / moved_bytes
        sample = cell.everything
        return Resampled(fixed + second * mean(sample.values.tolist()), fixed + second * sample.means)


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
        "seconds": _values(time),
        "speedup": _ratio(time, pair, among),
        "usd": cost and _values(cost),
        "cheapness": cost and _ratio(cost, pair, among),
        **shared(pair.ours.everything, pair.base.everything),
    }


def _values(both: Both) -> dict[str, float]:
    ours, base = both
    return {"ours": ours.value, "base": base.value}


def _ratio(both: Both, pair: Pair, among: int) -> dict[str, float | None]:
    ours, base = both
    found = base.over(ours)
    if pair.count < rules.MINIMUM_FOR_COMPARISON:
        return {"value": found.value, "low": None, "high": None}
    return together.of_ratio(found.value, found.values, pair.size, among)


def _even(
    pairs: Sequence[Pair], found: Sequence[Both], names: tuple[str, str], told_of: str, among: int
) -> dict[str, Any]:
    """Where both come out even, of the sizes with enough measurements, where there are any."""
    few = [decimal_size(pair.size_bytes) for pair in pairs if pair.count < rules.MINIMUM_FOR_COMPARISON]
    left_out = f"; too few measurements at {listed(few)}" if 0 < len(few) < len(pairs) else ""
    used = [(pair, both) for pair, both in zip(pairs, found, strict=True)
            if not left_out or pair.count >= rules.MINIMUM_FOR_COMPARISON]  # fmt: skip
    even = break_even(
        [pair.size_bytes for pair, _ in used],
        [_ratio(both, pair, among) for pair, both in used],
        [base.less(ours) for _, (ours, base) in used],
        min(pair.size for pair, _ in used),
        names,
        told_of,
        among,
    )
    return even | {"words": even["words"] + left_out}
