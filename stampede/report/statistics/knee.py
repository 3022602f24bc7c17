"""Up to where does more give a gain? The smallest value of an axis that no larger one is faster than, as a range.

A range and not a fitted curve: the universal scalability law finds knees of its own kind in 57 to 100 of 100 simulated
runs, and that of a rate that is simply capped in none (docs/results.md); the range held all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from experiments import Experiment
from stampede.cell import Cell, distinguishing
from stampede.phrases import listed, quantity, ratios
from stampede.report.columns import known
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.report.statistics.rounds import shared
from stampede.report.statistics.selection import CellRecords

# The interval of the median of five spans all five: nearly the range from smallest to largest, within which a median
# lies with a probability of 1 - 2^(1 - n), which is 94 % of five (David and Nagaraja, "Order Statistics", 2003, 7.1).
MINIMUM_FOR_INTERVAL = 5
KNEE, SCALES, CANT_TELL = "knee", "scales", "cant_tell"


@dataclass(frozen=True)
class Claim:
    """What is said of a series, clause by clause: up to which value more gave a gain, or that this is unknown; the
    speed there, or the reason; the best beyond it; and where no operation finished. The last two may be empty."""

    limit: str
    speed: str
    best_beyond: str = ""
    unfinished: str = ""

    @property
    def words(self) -> str:
        beyond = f", and {self.best_beyond}" if self.best_beyond else ""
        unfinished = f"; {self.unfinished}" if self.unfinished else ""
        return f"{self.limit}: {self.speed}{beyond}{unfinished}"


class Series:
    """Cells along the axis of `experiment.knee`, each with a sample of its operations' speeds; no operation finished in
    the cells of `unfinished`."""

    def __init__(
        self,
        experiment: Experiment,
        keys: Sequence[Cell],
        samples: Sequence[Sample],
        place: str = "",
        unfinished: Sequence[Cell] = (),
    ) -> None:
        assert experiment.knee
        self._axis, self._calls = experiment.knee
        self._unit, self._operation = experiment.speed.unit, experiment.operation
        self._keys, self._samples, self._place, self._unfinished = keys, samples, place, unfinished
        self._medians = [sample.median for sample in samples]
        # By the position of the smaller value and that of the larger one.
        self._ratios = {pair: self._ratio(*pair) for pair in combinations(range(len(keys)), 2)}
        self._has_enough = min(map(len, samples)) >= MINIMUM_FOR_INTERVAL and min(self._medians) > 0
        # The range in which the knee lies, as positions; it has no upper end where that is the largest value.
        largest = len(keys) - 1
        self._low, self._high = self._first(_is_faster), self._first(_may_be_faster)
        self._level = CANT_TELL
        if self._has_enough and self._low == largest:
            self._level = SCALES
        elif self._has_enough and self._high < largest:
            self._level = KNEE
        beyond = [(at, ratio) for at in range(self._low + 1, len(keys)) if (ratio := self._ratios[self._low, at])]
        self._best_beyond = max(beyond, key=lambda one: one[1]["value"], default=None) if self._has_enough else None

    def _ratio(self, smaller: int, larger: int) -> dict[str, Any] | None:
        """How many times as fast the larger value is in the median, its interval None where either has too few
        measurements; None where nothing got through with the smaller one."""
        if not self._medians[smaller]:
            return None
        ours, base = self._samples[larger], self._samples[smaller]
        ratio: dict[str, Any] = {"value": self._medians[larger] / self._medians[smaller], "low": None, "high": None}
        if min(len(ours), len(base)) >= MINIMUM_FOR_INTERVAL and base.values[0] > 0:
            ratio |= interval(ours.medians / base.medians, min(ours.size, base.size))
        return ratio

    def _first(self, is_beaten: Callable[[Mapping[str, Any] | None], bool]) -> int:
        """The position of the smallest value that no larger one beats."""
        count = len(self._keys)
        for at in range(count):
            if not any(is_beaten(self._ratios[at, larger]) for larger in range(at + 1, count)):
                return at
        return count - 1

    def figures(self) -> dict[str, Any]:
        """The series as it stands in statistics.json."""
        values = [key[self._axis] for key in self._keys]
        points = []
        for at, speeds in enumerate(self._samples):
            has_interval = len(speeds) >= MINIMUM_FOR_INTERVAL
            points.append(
                {
                    self._axis: values[at],
                    "count": len(speeds),
                    "median": self._medians[at],
                    "interval": interval(speeds.medians, speeds.size) if has_interval else None,
                    "against_smallest": self._ratios[0, at] if at else None,
                }
            )
        figures = {name: value for name, value in self._keys[0].figures().items() if name != self._axis}
        figures |= {"place": self._place, "points": points, "level": self._level}
        figures |= dict.fromkeys(("knee", "range", "speed", "against_smallest", "best_beyond"))
        if self._has_enough:
            knee = self._first(_is_more)
            figures |= {
                "knee": values[knee],
                "range": {
                    "low": values[self._low],
                    "high": values[self._high] if self._high < len(values) - 1 else None,
                },
                "speed": self._medians[knee],
                "against_smallest": self._ratios[0, knee] if knee else None,
            }
        if self._best_beyond:
            best, ratio = self._best_beyond
            figures["best_beyond"] = {self._axis: values[best], **ratio}
        interleaved = [shared(speeds, self._samples[0]) for speeds in self._samples]
        return figures | {"words": self.claim().words, **min(interleaved, key=lambda one: one.get("rounds", -1))}

    def claim(self) -> Claim:
        """What is said of the series, without its place."""
        named = [key.value_words(self._axis) for key in self._keys]
        unfinished = ""
        if self._unfinished:
            limits = listed([key.value_words(self._axis) for key in self._unfinished])
            unfinished = f"no {self._operation[0]} finished with {limits}"
        if not self._has_enough:
            unknown = f"how many {self._calls} are worth making is unknown"
            return Claim(unknown, self._why_unknown(named), unfinished=unfinished)
        low, speed = named[self._low], f"a median of {quantity(self._medians[self._low])} {self._unit}"
        if self._best_beyond is None:
            limit = f"more {self._calls} gave a gain up to {low}, the largest tried"
            return Claim(limit, speed, unfinished=unfinished)
        best, ratio = self._best_beyond
        span = "" if ratio["low"] is None else f" ({ratios(ratio)})"
        of_several = ", the best of the larger ones" if self._low < len(named) - 2 else ""
        best_words = f"{ratio['value']:.2f} ×{span} as much with {named[best]}{of_several}"
        if self._level == KNEE and self._low < self._high:
            limit = (
                f"no gain above {rules.WITHIN} from more {self._calls} could be shown beyond {low}, and from "
                f"{named[self._high]} up to {named[-1]}, the largest tried, the intervals rule one out"
            )
            return Claim(limit, f"{speed} with {low}", best_words, unfinished)
        smallest = ", the smallest tried" if self._low == 0 else ""
        if self._level == KNEE:
            limit = f"beyond {low}{smallest}, more {self._calls} gained at most {rules.WITHIN}"
        else:
            limit = f"no gain above {rules.WITHIN} from more {self._calls} could be shown beyond {low}{smallest}"
        return Claim(limit, f"{speed} there", best_words, unfinished)

    def _why_unknown(self, named: Sequence[str]) -> str:
        """Why there is no knee, and between which speeds it would lie."""
        if 0 in self._medians:
            return f"nothing got through with {named[self._medians.index(0)]}"
        lowest, highest = (pick(range(len(named)), key=self._medians.__getitem__) for pick in (min, max))
        speeds = " to ".join(f"{quantity(self._medians[at])} {self._unit} with {named[at]}" for at in (lowest, highest))
        least, most = (pick(map(len, self._samples)) for pick in (min, max))
        speeds = f"medians of {speeds}" if most > 1 else speeds
        ran = str(least) if least == most else f"{least} to {most}"
        return f"{ran} {self._operation[most != 1]} per cell, of {MINIMUM_FOR_INTERVAL} needed; {speeds}"


def series_of(cells: Sequence[CellRecords], experiment: Experiment) -> list[Series]:
    """Each series: the cells that differ in the axis of `experiment.knee` alone. A single cell is none."""
    assert experiment.knee
    axis, _ = experiment.knee
    samples: dict[Cell, Sample] = {}
    unfinished: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.key[axis]):
        whole = cell.whole
        speeds = known(whole, experiment.speed.field)
        if speeds is None:
            unfinished.setdefault(cell.key.without((axis,)), []).append(cell.key)
        else:
            samples[cell.key] = cell.sample(whole, speeds, f"{cell.key.words}, speed")
    along: dict[tuple[Any, ...], list[Cell]] = {}
    for key in samples:
        along.setdefault(key.without((axis,)), []).append(key)
    # What all have in common tells no series from another.
    common = [coordinate.name for coordinate in experiment.axes if len({key[coordinate.name] for key in samples}) == 1]
    named_axes = distinguishing(cell.key for cell in cells)
    series = []
    for alike, keys in sorted(along.items()):
        if len(keys) > 1:
            place = keys[0].words_without((axis, *common), named_axes)
            own = [samples[key] for key in keys]
            series.append(Series(experiment, keys, own, place, unfinished.get(alike, [])))
    return series


def rule(experiment: Experiment) -> str:
    """How the knee is found, in words."""
    assert experiment.knee
    label = next(axis.label for axis in experiment.axes if axis.name == experiment.knee[0])
    one, many = experiment.operation
    return (
        f"The knee is the smallest {label} that no larger value beats by more than {rules.WITHIN} in median "
        f"{experiment.speed.unit}. It lies in a range, by the 95 % intervals of the ratios of medians: a value is "
        f"below the range if that of a larger one lies above a gain of {rules.WITHIN}, and above the range if a "
        "smaller one leaves no larger one room for such a gain. Where the range has no upper end, no such gain could "
        f"be shown beyond its lower one, and none is ruled out. With fewer than {MINIMUM_FOR_INTERVAL} {many} per "
        f"{label} there is no knee. The interval of five is nearly their range, which contains the median in 94 "
        f"of 100 cases. A {one} is left out if half of its objects or more failed, or if an earlier delivery had "
        "copied some of them."
    )


def _is_more(ratio: Mapping[str, Any] | None) -> bool:
    """Whether the ratio of medians is more than a tenth above 1, whatever chance does."""
    return ratio is None or ratio["value"] > 1 + rules.HOLDS_WITHIN


def _is_faster(ratio: Mapping[str, Any] | None) -> bool:
    """Whether the ratio is a gain of more than a tenth, beyond chance."""
    return ratio is None or (ratio["low"] is not None and ratio["low"] > 1 + rules.HOLDS_WITHIN)


def _may_be_faster(ratio: Mapping[str, Any] | None) -> bool:
    """Whether the interval of the ratio leaves room for a gain of more than a tenth."""
    return ratio is None or ratio["high"] is None or ratio["high"] > 1 + rules.HOLDS_WITHIN
