"""Up to where does more buy anything? The smallest value of an axis that no larger one is faster than."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments import Experiment
from report.cell_key import Key, told_apart
from report.phrases import quantity
from report.spread import quantile
from report.statistics import rules
from report.statistics.bootstrap import Sample, interval
from report.statistics.selection import Cell

# The interval of the median of five spans all five: nearly the range from smallest to largest, within which a median
# lies with a probability of 1 - 2^(1 - n), which is 94 % of five (David and Nagaraja, "Order Statistics", 2003, 7.1).
MINIMUM_FOR_INTERVAL = 5
KNEE, SCALES, CANT_TELL = "knee", "scales", "cant_tell"


def knees(cells: Sequence[Cell], experiment: Experiment) -> dict[str, Any]:
    """The knee of each series, the cells that differ in the axis of `experiment.knee` alone; series of one cell have
    none and aren't here."""
    assert experiment.knee
    axis, _ = experiment.knee
    measured = {cell.key: values for cell in cells
                if (values := cell.done.known(experiment.speed.field)) is not None}  # fmt: skip
    series: dict[tuple[Any, ...], list[Key]] = {}
    for key in sorted(measured, key=lambda one: one[axis]):
        series.setdefault(key.without((axis,)), []).append(key)
    told = told_apart(cell.key for cell in cells)
    # What all have in common tells no series from another.
    common = [one.name for one in experiment.axes if len({key[one.name] for key in measured}) == 1]
    found = [
        _Series(experiment, keys, [measured[key] for key in keys], told, common).figures()
        for _, keys in sorted(series.items())
        if len(keys) > 1
    ]
    return {"rule": _rule(experiment), "series": found}


class _Series:
    """Cells along the axis, each with the speeds of its operations."""

    def __init__(
        self,
        experiment: Experiment,
        keys: Sequence[Key],
        values: Sequence[np.ndarray],
        told: frozenset[str],
        common: Sequence[str],
    ) -> None:
        assert experiment.knee
        self._axis, self._what = experiment.knee
        self._unit, self._operation, self._keys = experiment.speed.unit, experiment.operation, keys
        self._place = keys[0].words_without((self._axis, *common), told)
        self._samples = [Sample(found, f"{key.words}, speed") for key, found in zip(keys, values, strict=True)]
        self._medians = [quantile(one.values.tolist(), 0.5) for one in self._samples]

    def figures(self) -> dict[str, Any]:
        """Its points, its knee, and both in words."""
        at = next(at for at in range(len(self._keys)) if not any(_is_faster(found) for _, found in self._beyond(at)))
        beyond = [one for one in self._beyond(at) if one[1]]
        best = max(beyond, key=lambda one: one[1]["value"], default=None)
        return {name: value for name, value in self._keys[0].figures().items() if name != self._axis} | {
            "place": self._place,
            "points": [self._point(number) for number in range(len(self._keys))],
            "level": KNEE if best else SCALES,
            "knee": self._keys[at][self._axis],
            "speed": self._medians[at],
            "against_smallest": self._ratio(at, 0) if at else None,
            "best_beyond": {self._axis: best[0][self._axis], **best[1]} if best else None,
            "words": self._words(at, best),
        }

    def _point(self, at: int) -> dict[str, Any]:
        sample = self._samples[at]
        enough = len(sample) >= MINIMUM_FOR_INTERVAL
        return {
            self._axis: self._keys[at][self._axis],
            "count": len(sample),
            "median": self._medians[at],
            "interval": interval(sample.medians, len(sample)) if enough else None,
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
            found |= interval(ours.medians / theirs.medians, min(len(ours), len(theirs)))
        return found

    def _words(self, at: int, best: tuple[Key, Any] | None) -> str:
        """The sentence of this series, without its place."""
        limit, speed = self._keys[at].value_words(self._axis), f"{quantity(self._medians[at])} {self._unit}"
        each = self._each()
        if best is None:
            return f"more {self._what} gave a gain up to {limit}, the largest tried{each}: {speed}"
        key, found = best
        gain = "no gain" if not each and self._is_certain(at) else "no measurable gain"
        smallest = ", the smallest tried," if at == 0 else ","
        beyond = f"at best {ratio_words(found)} as much, with {key.value_words(self._axis)}"
        return f"beyond {limit}{smallest} more {self._what} gave {gain}{each}: {speed} there, and {beyond}"

    def _each(self) -> str:
        """How many operations a cell has, where they are too few for an interval."""
        least, most = (pick(map(len, self._samples)) for pick in (min, max))
        if least >= MINIMUM_FOR_INTERVAL:
            return ""
        counts = str(least) if least == most else f"{least} to {most}"
        return f" (with {counts} {self._operation[most != 1]} each)"

    def _is_certain(self, at: int) -> bool:
        """Whether no interval beyond it leaves room for a gain."""
        return all(found["high"] <= 1 + rules.HOLDS_WITHIN for _, found in self._beyond(at) if found)


def _is_faster(found: Mapping[str, Any] | None) -> bool:
    """Whether the ratio is a gain: more than a tenth, and beyond chance where an interval tells."""
    if found is None:
        return True  # nothing got through here
    return found["value"] > 1 + rules.HOLDS_WITHIN and (found["low"] is None or found["low"] > 1)


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
        f"The knee is the smallest {label} that no larger value beats. A larger value beats it if its median "
        f"{experiment.speed.unit} is more than {share} higher and the 95 % interval of the ratio of medians lies "
        f"above 1. With fewer than {MINIMUM_FOR_INTERVAL} {many} in either cell there is no interval: the medians "
        f"alone decide, and another {one} may change the result. With {MINIMUM_FOR_INTERVAL} the interval is nearly "
        "their range, which contains the median in 94 of 100 cases. “No gain” means that no interval leaves room "
        f"for one of more than {share}; otherwise it is “no measurable gain”."
    )
