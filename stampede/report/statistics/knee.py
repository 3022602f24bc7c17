"""Up to where does more give a gain? The smallest value of an axis that no larger one is faster than, as a range.

A range and not a fitted curve: the universal scalability law finds knees of its own kind in 57 to 100 of 100 simulated
runs, and that of a rate that is simply capped in none (docs/results.md); the range held all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.phrases import listed, quantity
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.report.statistics.rounds import sample, shared
from stampede.report.statistics.selection import Cell
from stampede.runs.cell_key import Key, distinguishing
from stampede.runs.spread import quantile

# The interval of the median of five spans all five: nearly the range from smallest to largest, within which a median
# lies with a probability of 1 - 2^(1 - n), which is 94 % of five (David and Nagaraja, "Order Statistics", 2003, 7.1).
MINIMUM_FOR_INTERVAL = 5
KNEE, SCALES, CANT_TELL = "knee", "scales", "cant_tell"


def knees(cells: Sequence[Cell], experiment: Experiment) -> dict[str, Any]:
    """The knee of each series, the cells that differ in the axis of `experiment.knee` alone; series of one cell have
    none and aren't here."""
    assert experiment.knee
    axis, _ = experiment.knee
    measured = {cell.key: sample(cell.whole, values, f"{cell.key.words}, speed") for cell in cells
                if (values := cell.whole.known(experiment.speed.field)) is not None}  # fmt: skip
    series: dict[tuple[Any, ...], list[Key]] = {}
    for key in sorted(measured, key=lambda one: one[axis]):
        series.setdefault(key.without((axis,)), []).append(key)
    without: dict[tuple[Any, ...], list[Key]] = {}
    for key in sorted({cell.key for cell in cells} - measured.keys(), key=lambda one: one[axis]):
        without.setdefault(key.without((axis,)), []).append(key)
    told = distinguishing(cell.key for cell in cells)
    # What all have in common tells no series from another.
    common = [one.name for one in experiment.axes if len({key[one.name] for key in measured}) == 1]
    found = [
        _Series(experiment, keys, [measured[key] for key in keys], told, common, without.get(place, [])).figures()
        for place, keys in sorted(series.items())
        if len(keys) > 1
    ]
    return {"rule": _rule(experiment), "series": found}


class _Series:
    """Cells along the axis, each with a sample of its operations' speeds; `without` are those where none finished."""

    def __init__(
        self,
        experiment: Experiment,
        keys: Sequence[Key],
        samples: Sequence[Sample],
        told: frozenset[str],
        common: Sequence[str],
        without: Sequence[Key],
    ) -> None:
        assert experiment.knee
        self._axis, self._what = experiment.knee
        self._unit, self._operation, self._keys = experiment.speed.unit, experiment.operation, keys
        self._place = keys[0].words_without((self._axis, *common), told)
        self._samples = samples
        self._medians = [quantile(one.values.tolist(), 0.5) for one in self._samples]
        self._without = without

    def figures(self) -> dict[str, Any]:
        """Its points, its knee with the range in which it lies, and both in words."""
        first, last = (self._first(is_beaten) for is_beaten in (_is_faster, _may_be_faster))
        enough = min(map(len, self._samples)) >= MINIMUM_FOR_INTERVAL and min(self._medians) > 0
        end = len(self._keys) - 1
        level = CANT_TELL if not enough else SCALES if first == end else KNEE if last < end else CANT_TELL
        at = self._first(_is_more) if enough else None
        best = max((one for one in self._beyond(first) if one[1]), key=lambda one: one[1]["value"], default=None)
        return {name: value for name, value in self._keys[0].figures().items() if name != self._axis} | {
            "place": self._place,
            "points": [self._point(number) for number in range(len(self._keys))],
            "level": level,
            "knee": None if at is None else self._keys[at][self._axis],
            "range": {
                "low": self._keys[first][self._axis],
                "high": self._keys[last][self._axis] if last < end else None,
            }
            if enough
            else None,
            "speed": None if at is None else self._medians[at],
            "against_smallest": self._ratio(at, 0) if at else None,
            "best_beyond": {self._axis: best[0][self._axis], **best[1]} if best and enough else None,
            "words": (self._words(level, first, last, best) if enough else self._too_few()) + self._missing(),
            **min((shared(one, self._samples[0]) for one in self._samples), key=lambda one: one.get("rounds", -1)),
        }

    def _first(self, is_beaten: Callable[[Mapping[str, Any] | None], bool]) -> int:
        """The smallest value that no larger one beats."""
        return next(at for at in range(len(self._keys)) if not any(is_beaten(found) for _, found in self._beyond(at)))

    def _point(self, at: int) -> dict[str, Any]:
        sample = self._samples[at]
        enough = len(sample) >= MINIMUM_FOR_INTERVAL
        return {
            self._axis: self._keys[at][self._axis],
            "count": len(sample),
            "median": self._medians[at],
            "interval": interval(sample.medians, sample.size) if enough else None,
            "against_smallest": self._ratio(at, 0) if at else None,
        }

    def _beyond(self, at: int) -> list[tuple[Key, Any]]:
        """How many times as fast each larger value is."""
        return [(self._keys[other], self._ratio(other, at)) for other in range(at + 1, len(self._keys))]

    def _ratio(self, at: int, base: int) -> dict[str, Any] | None:
        """The ratio of medians, its interval None where either has too few values; None where nothing got through."""
        if not self._medians[base]:
            return None
        ours, theirs = self._samples[at], self._samples[base]
        found: dict[str, Any] = {"value": self._medians[at] / self._medians[base], "low": None, "high": None}
        if min(len(ours), len(theirs)) >= MINIMUM_FOR_INTERVAL and theirs.values[0] > 0:
            found |= interval(ours.medians / theirs.medians, min(ours.size, theirs.size))
        return found

    def _words(self, level: str, first: int, last: int, best: tuple[Key, Any] | None) -> str:
        """The sentence of this series, without its place."""
        limit, speed = self._keys[first].value_words(self._axis), f"{quantity(self._medians[first])} {self._unit}"
        if level == SCALES or best is None:
            return f"more {self._what} gave a gain up to {limit}, the largest tried: {speed}"
        key, found = best
        beyond = f"at best {ratio_words(found)} as much, with {key.value_words(self._axis)}"
        smallest = ", the smallest tried," if first == 0 else ","
        if level == KNEE and first == last:
            return f"beyond {limit}{smallest} more {self._what} gave no gain: {speed} there, and {beyond}"
        if level == KNEE:
            until = self._keys[last].value_words(self._axis)
            where = f"between {limit} and {until}"
            return f"more {self._what} stopped giving a gain {where}: {speed} with the first, and {beyond}"
        return (
            f"no gain from more {self._what} could be shown beyond {limit}{smallest[:-1]}: {speed} there, and {beyond}"
        )

    def _too_few(self) -> str:
        """Why there is no knee, and between which speeds it would lie."""
        unknown = f"how many {self._what} are worth making is unknown"
        words = [key.value_words(self._axis) for key in self._keys]
        if 0 in self._medians:
            return f"{unknown}: nothing got through with {words[self._medians.index(0)]}"
        lowest, highest = (pick(range(len(words)), key=self._medians.__getitem__) for pick in (min, max))
        speeds = " to ".join(f"{quantity(self._medians[at])} {self._unit} with {words[at]}" for at in (lowest, highest))
        least, most = (pick(map(len, self._samples)) for pick in (min, max))
        ran = str(least) if least == most else f"{least} to {most}"
        return f"{unknown}: {ran} {self._operation[most != 1]} per cell, of {MINIMUM_FOR_INTERVAL} needed; {speeds}"

    def _missing(self) -> str:
        """The values at which no operation finished, as a clause."""
        if not self._without:
            return ""
        return (
            f"; no {self._operation[0]} finished with {listed([one.value_words(self._axis) for one in self._without])}"
        )


def _is_more(found: Mapping[str, Any] | None) -> bool:
    """Whether the ratio of medians is more than a tenth above 1, whatever chance does."""
    return found is None or found["value"] > 1 + rules.HOLDS_WITHIN


def _is_faster(found: Mapping[str, Any] | None) -> bool:
    """Whether the ratio is a gain: more than a tenth, and beyond chance."""
    return found is None or (_is_more(found) and found["low"] is not None and found["low"] > 1)


def _may_be_faster(found: Mapping[str, Any] | None) -> bool:
    """Whether the interval of the ratio leaves room for a gain of more than a tenth."""
    return found is None or found["high"] is None or found["high"] > 1 + rules.HOLDS_WITHIN


def ratio_words(found: Mapping[str, Any]) -> str:
    """`0.98 × (0.91 to 1.04)`; without the interval where there is none."""
    span = "" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['value']:.2f} ×{span}"


def _rule(experiment: Experiment) -> str:
    assert experiment.knee
    label = next(axis.label for axis in experiment.axes if axis.name == experiment.knee[0])
    share = f"{rules.HOLDS_WITHIN:.0%}".replace("%", " %")
    one, many = experiment.operation
    return (
        f"The knee is the smallest {label} that no larger value beats by more than {share} in median "
        f"{experiment.speed.unit}. It lies in a range: a value is below the range if a larger one beats it and the "
        "95 % interval of the ratio of medians lies above 1, and above the range if a smaller one leaves no larger one "
        f"room for a gain of more than {share}. Where the range has no upper end, no gain could be shown beyond its "
        f"lower one, and none is ruled out. With fewer than {MINIMUM_FOR_INTERVAL} {many} per {label} there is no "
        "knee. The interval of five is nearly their range, which contains the median in 94 of 100 cases. "
        f"A {one} is left out if half of its objects or more failed, or if an earlier delivery had copied some of them."
    )
