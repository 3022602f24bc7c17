"""How the cells of a run compare: a Finding for each pair.

A ratio is of speeds: how many times as fast the median of the subject is as that of the baseline.
All ratios of one kind are read together, so their intervals hold simultaneously.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from stampede.cell import Cell, ignored_axes
from stampede.experiment import MINIMUM_FOR_COMPARISON, Compare, Experiment
from stampede.report.cells import Figures, is_of_athena
from stampede.report.intervals import (
    MINIMUM_ROUNDS,
    Estimate,
    Sample,
    interval,
    rounds_in_common,
    speed_ratio,
)
from stampede.runs.store import SHORTEST_S

# Median speeds that differ by at most a tenth count as the same.
HOLDS_WITHIN = 0.10
A_TENTH = f"{HOLDS_WITHIN * 100:g} %"
MEMORY = "memory_size_mb"
A_MILLION = 1_000_000
Kind = Literal["scale", "choice", "knee", "size", "memory", "start", "run"]
Level = Literal["holds", "slower", "faster", "unclear", "unknown"]
STAND_IN_RAN = "a stand-in ran"
LOST_MORE = "one lost more messages"
# The most by which the lost shares of two compared cells may differ.
LOST_ALIKE = 0.01
TOO_FEW = f"fewer than {MINIMUM_FOR_COMPARISON} measurements"
SIZES_DIFFER = "the amounts moved differ or aren’t recorded"


@dataclass(frozen=True)
class Finding:
    """One cell against another: the `ratio` of their speeds, the `level` that its interval allows,
    and `why` there is no ratio.

    `compare` is the name of the declared comparison. `rounds` is in how many rounds the two were
    interleaved, 0 if both have enough repeats instead, None if the interval doesn't cover drift.
    For what costs money on AWS, `usd` is the price of a million of the subject, and `cheaper` how
    many times as cheap it is as the baseline, or as the cheapest. `titles` maps each title of the
    subject to whether it holds it alone: `fastest`, `cheapest`, `balanced`; for a knee, `knee` or
    `below`.
    """

    kind: Kind
    compare: str
    subject: Cell
    baseline: Cell
    ratio: Estimate | None = None
    level: Level = "unknown"
    why: str = ""
    rounds: int | None = None
    among: int = 1
    usd: float | None = None
    cheaper: Estimate | None = None
    titles: Mapping[str, bool] | None = None

    def axes(self, experiment: Experiment) -> Sequence[str]:
        """The compared axes."""
        if self.kind == "knee" and experiment.knee:
            return (experiment.knee[0],)
        if self.kind == "memory":
            return (MEMORY,)
        return next(
            (compare.axes for compare in experiment.compare if compare.name == self.compare), ()
        )

    @property
    def is_best(self) -> bool:
        """Whether the subject is its own baseline, as the first of its group."""
        return self.kind in ("knee", "memory") and self.subject == self.baseline

    def as_dict(self) -> dict[str, Any]:
        """The finding as stored in statistics.json."""
        estimates = {"ratio": self.ratio, "cheaper": self.cheaper}
        return {
            "kind": self.kind,
            "compare": self.compare,
            "subject": self.subject.figures(),
            "baseline": self.baseline.figures(),
            **{name: estimate and estimate._asdict() for name, estimate in estimates.items()},
            "level": self.level,
            "why": self.why,
            "rounds": self.rounds,
            "among": self.among,
            "usd_per_million": self.usd,
            "titles": self.titles and dict(self.titles),
        }


def find(cells: Sequence[Figures], experiment: Experiment) -> list[Finding]:
    """Knees, choices, scales and starts of the cells with a time, by kind, sorted by subject."""
    findings = _knees(cells, experiment) if experiment.knee else []
    comparable = [compare for compare in experiment.compare if is_comparable(compare, experiment)]
    for kind in ("choice", "scale"):
        findings += _of_kind(
            kind, [compare for compare in comparable if compare.kind == kind], cells, experiment
        )
    return [*findings, *_starts(cells, experiment)]


def is_comparable(compare: Compare, experiment: Experiment) -> bool:
    """Whether the comparison has an effect where this ran, and no other kind covers it."""
    if compare.axes[0] in ignored_axes(experiment.axes):
        return False
    is_of_size = experiment.by_size is not None and compare.axes[0] == experiment.by_size.choice
    is_of_memory = asks_for_memory(experiment) and compare.axes == (MEMORY,)
    return not is_of_memory and (not is_of_size or experiment.athena is not None)


def asks_for_memory(experiment: Experiment) -> bool:
    """Whether the experiment asks which memory to choose; the embedded AWS ignores memory."""
    return experiment.takes_payload and MEMORY not in ignored_axes(experiment.axes)


def groups(cells: Iterable[Figures], axes: Sequence[str]) -> list[list[Figures]]:
    """Groups of two or more cells that differ in these axes alone, each sorted."""
    alike: dict[tuple[Any, ...], list[Figures]] = {}
    for figures in sorted(cells, key=lambda figures: figures.cell):
        alike.setdefault(figures.cell.without(axes), []).append(figures)
    return [group for group in alike.values() if len(group) > 1]


def _of_kind(
    kind: Kind, compares: Sequence[Compare], cells: Sequence[Figures], experiment: Experiment
) -> list[Finding]:
    """Each value of a scale against the smallest; the fastest choice against every other."""
    pairs = []
    for compare in compares:
        for group in groups(_of_compare(compare, cells, experiment), compare.axes):
            timed = [figures for figures in group if len(figures.sample)]
            if len(timed) < 2:
                continue
            if kind == "scale":
                pairs += [(compare, figures, timed[0]) for figures in timed[1:]]
                continue
            enough = [figures for figures in timed if has_enough(figures)] or timed
            fastest = min(losing_least(enough), key=lambda figures: figures.sample.median)
            pairs += [(compare, fastest, figures) for figures in timed if figures is not fastest]
    among = _at_once(kind, pairs)
    return sorted(
        (
            compared(kind, compare, figures, base, experiment, among)
            for compare, figures, base in pairs
        ),
        key=lambda finding: (finding.compare, finding.subject, finding.baseline),
    )


def _of_compare(
    compare: Compare, cells: Sequence[Figures], experiment: Experiment
) -> Sequence[Figures]:
    """Across storage classes, only Athena's queries are compared here; `by_size` has the rest."""
    if experiment.by_size and compare.axes[0] == experiment.by_size.choice:
        return [figures for figures in cells if is_of_athena(figures, experiment)]
    return cells


def _at_once(kind: Kind, pairs: Sequence[tuple[Compare, Figures, Figures]]) -> int:
    """How many comparisons hold simultaneously. For a choice that is every pair, because the data
    decide which is the fastest, and so which pairs are compared."""
    enough = [pair for pair in pairs if has_enough(*pair[1:])]
    if kind != "choice":
        return max(1, len(enough))
    sizes = Counter((compare.name, fastest.cell) for compare, fastest, _ in enough)
    return max(1, sum((size + 1) * size // 2 for size in sizes.values()))


def compared(
    kind: Kind,
    compare: Compare,
    figures: Figures,
    base: Figures,
    experiment: Experiment,
    among: int,
) -> Finding:
    """One cell against another."""
    finding = Finding(kind, compare.name, figures.cell, base.cell, among=among)
    why = refusal(figures, base, experiment, compare.axes)
    if why:
        return replace(finding, why=why)
    ratio = speed_ratio(figures.sample, base.sample, among)
    rounds = rounds_in_common(figures.sample, base.sample)
    return replace(finding, ratio=ratio, level=level_of(ratio), rounds=rounds)


def refusal(figures: Figures, base: Figures, experiment: Experiment, axes: Sequence[str]) -> str:
    """Why two cells aren't compared; "" if they are."""
    if any(side.cell.is_of_stand_in(axes) for side in (figures, base)):
        return STAND_IN_RAN
    if not has_enough(figures, base):
        return TOO_FEW
    if min(side.sample.values[0] for side in (figures, base)) < SHORTEST_S:
        return "an operation took no measurable time"
    if abs(figures.lost_share - base.lost_share) > LOST_ALIKE:
        return LOST_MORE
    is_sized = figures.size_bytes is not None or is_of_athena(figures, experiment)
    if not is_sized or figures.size_bytes != base.size_bytes:
        return SIZES_DIFFER
    return ""


def losing_least(cells: Sequence[Figures]) -> list[Figures]:
    """The cells that may win: one that loses messages doesn't win by that."""
    least = min((figures.lost_share for figures in cells), default=0.0)
    return [figures for figures in cells if figures.lost_share <= least + LOST_ALIKE]


def level_of(ratio: Estimate) -> Level:
    """The level that the interval of a speed ratio supports."""
    if ratio.low is None or ratio.high is None:
        return "unknown"
    least, most = 1 - HOLDS_WITHIN, 1 / (1 - HOLDS_WITHIN)
    if least <= ratio.low and ratio.high <= most:
        return "holds"
    if ratio.high < least:
        return "slower"
    return "faster" if ratio.low > most else "unclear"


def has_enough(*sides: Figures) -> bool:
    return all(len(side.sample) >= MINIMUM_FOR_COMPARISON for side in sides)


def _starts(cells: Sequence[Figures], experiment: Experiment) -> list[Finding]:
    """The functions' first operations against later ones, if the interval separates them."""
    if any(axis.later for axis in experiment.axes):
        return []  # they are cells of their own
    both = [
        figures
        for figures in cells
        if min(len(figures.cold), len(figures.warm)) >= MINIMUM_FOR_COMPARISON
        and min(figures.cold.values[0], figures.warm.values[0]) >= SHORTEST_S
    ]
    findings = []
    for figures in both:
        ratio = speed_ratio(figures.cold, figures.warm, len(both))
        if ratio.leaves_1_out:
            finding = Finding(
                "start",
                "start",
                figures.cell,
                figures.cell,
                ratio,
                level_of(ratio),
                among=len(both),
            )
            findings.append(finding)
    return findings


# The knee: the smallest value beyond which no larger one gains more than a tenth


def _knees(cells: Sequence[Figures], experiment: Experiment) -> list[Finding]:
    """Each value on the axis of `experiment.knee` against the smallest of its series, with its
    position relative to the knee in `titles`.

    The knee is a range, not a fitted curve: the universal scalability law finds knees of its own
    kind in 57 to 100 of 100 simulated runs, and that of a simply capped rate in none; the range
    held all of them. Each ratio holds on its own.
    """
    if experiment.knee is None:
        return []
    axis, _ = experiment.knee
    findings: list[Finding] = []
    for series in groups(cells, (axis,)):
        timed = [figures for figures in series if len(figures.speeds)]
        if len(timed) > 1:
            findings += _knee(timed)
    return findings


def _knee(series: Sequence[Figures]) -> list[Finding]:
    samples = [figures.speeds for figures in series]
    few = min(map(len, samples)) < MINIMUM_ROUNDS or min(sample.median for sample in samples) <= 0
    gains = {
        pair: _gain(*(samples[at] for at in pair)) for pair in combinations(range(len(series)), 2)
    }
    low = _first_unbeaten(gains, len(series), _is_gain)
    high = _first_unbeaten(
        gains, len(series), lambda gain: gain.high is None or gain.high > 1 + HOLDS_WITHIN
    )
    is_clear = low == high < len(series) - 1  # beyond the largest, nothing was tried
    findings = []
    for at, figures in enumerate(series):
        ratio = gains[0, at] if at else Estimate(1.0)
        why = f"fewer than {MINIMUM_ROUNDS} measurements" if few else ""
        is_beaten = any(_is_gain(gains[at, larger]) for larger in range(at + 1, len(series)))
        titles = {"below": True} if is_beaten else {"knee": is_clear} if at <= high else {}
        findings.append(
            Finding(
                "knee",
                "knee",
                figures.cell,
                series[0].cell,
                ratio,
                "unknown" if few or not at else level_of(ratio),
                why,
                rounds_in_common(samples[at], samples[0]),
                titles=None if few else titles,
            )
        )
    return findings


def _gain(smaller: Sample, larger: Sample) -> Estimate:
    """How many times as fast the larger value is in the median, in operations or objects/s."""
    if smaller.median <= 0:
        return Estimate(float("inf"))
    value = larger.median / smaller.median
    if min(len(smaller), len(larger)) < MINIMUM_ROUNDS or smaller.values[0] <= 0:
        return Estimate(value)
    return interval(value, larger.medians / smaller.medians, min(smaller.size, larger.size))


def _is_gain(gain: Estimate) -> bool:
    """Whether the gain exceeds a tenth beyond its interval."""
    return gain.low is not None and gain.low > 1 + HOLDS_WITHIN


def _first_unbeaten(
    gains: Mapping[tuple[int, int], Estimate], count: int, is_beaten: Callable[[Estimate], bool]
) -> int:
    """The first position that no larger one beats."""
    for at in range(count):
        if not any(is_beaten(gains[at, larger]) for larger in range(at + 1, count)):
            return at
    return count - 1
