"""Which memory is the cheapest, the fastest and the balanced one, at each N on its own: named only where the intervals
allow it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.cell import Cell, distinguishing, ignored_axes
from stampede.experiment import Compare, n_axis
from stampede.phrases import listed
from stampede.report import prices
from stampede.report.platform_lines import Billed, billed, billed_seconds
from stampede.report.run import Run
from stampede.report.statistics import families, rules, together
from stampede.report.statistics.bootstrap import Resampled, Sample, interval
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.rounds import shared
from stampede.report.statistics.selection import CellRecords

AXIS = "memory_size_mb"
A_MILLION = 1_000_000
TITLES = {"cheapest": "the cheapest", "fastest": "the fastest", "balanced": "the best balance of both"}


@dataclass(frozen=True)
class Size:
    """A cell as one of the memory sizes of a series. Lambda logged `logged` of its billed times; `usd` is what one
    invocation costs, None without prices; `lost` of its messages never succeeded."""

    cell: Measured
    billed: Sample
    logged: int
    usd: Resampled | None
    lost: int

    @property
    def key(self) -> Cell:
        return self.cell.key

    @property
    def words(self) -> str:
        return self.key.value_words(AXIS)

    @property
    def can_be_compared(self) -> bool:
        times = self.cell.everything
        return len(times) >= rules.MINIMUM_FOR_COMPARISON and times.values[0] >= rules.SHORTEST_S


def memories(run: Run, cells: Sequence[CellRecords], measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """A series for each combination of whatever else was swept: a point a memory size, and which are the cheapest, the
    fastest and the balanced one. All intervals hold together: "together" is how many they are."""
    deliveries, known = billed(run), prices.known(run)
    sizes = {
        cell.key: _size(run, *pair, deliveries, known) for cell, *pair in zip(measured, measured, cells, strict=True)
    }
    ignored, series = ignored_axes(run.experiment.axes).get(AXIS), []
    for group in families.groups(measured, Compare("memory", "scale", (AXIS,))):
        timed = [sizes[cell.key] for cell in group if len(cell.everything)]
        if len(timed) > 1:
            series.append((timed, [] if ignored else _candidates(timed)))
    claims = 0
    for _, candidates in series:
        scored = sum(_scores(title, candidates) is not None for title in TITLES)
        claims += scored * len(candidates) * (len(candidates) - 1) // 2
    # What all have in common names none of them.
    keys = [timed[0].key for timed, _ in series]
    common = [axis.name for axis in run.experiment.axes if len({key[axis.name] for key in keys}) == 1]
    left_out = (AXIS, *(name for name in common if name != n_axis(run.experiment.axes)))
    first = {axis.name: axis.default for axis in run.experiment.axes if axis.later}
    figures, named_axes = [], distinguishing(keys)
    for (timed, candidates), key in zip(series, keys, strict=True):
        where = key.words_without(left_out, named_axes)
        is_first = any(key[name] == value for name, value in first.items())
        named = _figures(where, timed, candidates, ignored, max(1, claims))
        figures.append({"where": where, "n": key.n, "of_first_operations": is_first, **named})
    return figures


def _size(run: Run, measured: Measured, cell: CellRecords, deliveries: Billed, known: Mapping[str, float]) -> Size:
    seconds, logged = billed_seconds(run, cell.done, deliveries)
    billed_sample = cell.sample(cell.done, seconds, f"{cell.key.plain.words}, billed")
    mb_second_usd, request_usd = prices.mb_second_usd(run, known, cell.key), known.get("lambda_request")
    usd = None
    if len(seconds) and mb_second_usd is not None and request_usd is not None:
        second_usd = mb_second_usd * cell.key[AXIS]
        values = request_usd + second_usd * billed_sample.means
        usd = Resampled(request_usd + second_usd * mean(billed_sample.values.tolist()), values)
    lost = 0 if cell.sent is None else max(0, cell.sent - cell.succeeded)
    return Size(measured, billed_sample, logged, usd, lost)


def _candidates(sizes: Sequence[Size]) -> list[Size]:
    """Those that may be named: with enough measurements and, where any size lost no message, without a loss."""
    enough = [size for size in sizes if size.can_be_compared]
    return [size for size in enough if not size.lost] or enough


def _scores(title: str, sizes: Sequence[Size]) -> list[Resampled] | None:
    """What is smallest for the size with this title; None where it can't be counted. The balance is that of AWS Lambda
    Power Tuning with equal weights: time and cost, each as a share of the highest of these sizes, added up."""
    if title == "fastest":
        return [Resampled(size.cell.everything.median, size.cell.everything.medians) for size in sizes]
    usd = [size.usd for size in sizes if size.usd]
    if not usd or len(usd) < len(sizes):
        return None
    if title == "cheapest":
        return usd
    time = [Resampled(mean(size.billed.values.tolist()), size.billed.means) for size in sizes]
    shares = []
    for figures in (time, usd):
        highest = Resampled(
            max(figure.value for figure in figures), np.max([figure.values for figure in figures], axis=0)
        )
        shares.append([figure.over(highest) for figure in figures])
    return [Resampled(one.value + other.value, one.values + other.values) for one, other in zip(*shares, strict=True)]


def _figures(
    where: str, timed: Sequence[Size], candidates: Sequence[Size], ignored: str | None, among: int
) -> dict[str, Any]:
    """One series as it stands in statistics.json. Each title has the sizes that may be the one: a single size is named,
    and more are too close to call."""
    points = {size.key: _point(size, timed[0]) for size in timed}
    titles: dict[str, list[int] | None] = {}
    for title in TITLES:
        scores = _scores(title, candidates) if len(candidates) > 1 else None
        titles[title] = None
        if scores is None:
            continue
        best = min(range(len(scores)), key=lambda at: scores[at].value)
        titles[title] = [candidates[best].key[AXIS]]
        for size, score in zip(candidates, scores, strict=True):
            if size is candidates[best]:
                continue
            ratio = score.over(scores[best])
            units = min(size.cell.everything.size, candidates[best].cell.everything.size)
            against = together.of_ratio(ratio.value, ratio.values, units, among)
            points[size.key][f"against_{title}"] = against
            if against["low"] <= 1:
                titles[title].append(size.key[AXIS])
    words = f"the embedded AWS ignores {ignored}, so no size is named" if ignored else _words(titles, timed, candidates)
    return {
        "words": f"{where}: {words}.",
        "together": among,
        **{title: sizes and sorted(sizes) for title, sizes in titles.items()},
        "points": list(points.values()),
    }


def _point(size: Size, base: Size) -> dict[str, Any]:
    seconds = size.cell.figures["seconds"]
    usd = size.usd and {"value": A_MILLION * size.usd.value, "low": None, "high": None}
    # The cost is that of a mean.
    if usd and size.can_be_compared and len(size.billed) >= rules.MINIMUM_FOR_MEAN_INTERVAL:
        usd |= interval(A_MILLION * size.usd.values, size.billed.size)
    point = {
        **size.key.figures(),
        "count": len(size.billed),
        "lost": size.lost,
        "median_s": seconds["median_s"],
        "median_interval": seconds["median_interval"],
        "billed_mean_s": mean(size.billed.values.tolist()),
        "billed_by_lambda": size.logged,
        "usd_per_million": usd,
        **{f"against_{title}": None for title in TITLES},
    }
    return point | shared(size.cell.everything, base.cell.everything)


def _words(titles: Mapping[str, Sequence[int] | None], timed: Sequence[Size], candidates: Sequence[Size]) -> str:
    """What is said of a series, as clauses."""
    sizes = {size.key[AXIS]: size.words for size in timed}
    held: dict[tuple[int, ...], list[str]] = {}
    for title, named in titles.items():
        if named:
            held.setdefault(tuple(sorted(named)), []).append(TITLES[title])
    clauses = []
    for named, words in sorted(held.items(), key=lambda item: len(item[0])):
        names = listed([sizes[size] for size in named])
        alone = len(named) == 1
        clauses.append(f"{names} is {listed(words)}" if alone else f"{names} are too close to call for {listed(words)}")
    if not held:
        clauses.append("too few measurements to name a size")
    for size in timed:
        if size not in candidates and held:
            why = f"{size.lost:,} of its messages never succeeded" if size.lost else "too few measurements"
            clauses.append(f"{size.words} isn’t ranked ({why})")
    return "; ".join(clauses)


def titles_at_most(series: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], dict[int, list[str]]] | None:
    """The series at the largest N in which a size is named, and the titles of each size there; None without one. First
    operations, which are few, count only where there are no others."""
    later = [of_n for of_n in series if not of_n["of_first_operations"]] or series
    for of_n in sorted(later, key=lambda of_n: (-of_n["n"], -sum(point["count"] for point in of_n["points"]))):
        titles: dict[int, list[str]] = {}
        for title, words in TITLES.items():
            if len(of_n[title] or ()) == 1:
                titles.setdefault(of_n[title][0], []).append(words)
        if titles:
            return of_n, titles
    return None
