"""What pays: time and money by object size and by function memory, as findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from experiments import Experiment
from stampede.cell import Cell
from stampede.experiment import Compare
from stampede.report import prices
from stampede.report.billing import billed_samples
from stampede.report.cells import Figures
from stampede.report.findings import (
    A_MILLION,
    MEMORY,
    SIZES_DIFFER,
    STAND_IN_RAN,
    TOO_FEW,
    Finding,
    asks_for_memory,
    groups,
    has_enough,
    level_of,
    losing_least,
)
from stampede.report.intervals import Estimate, Sample, interval, rounds_in_common
from stampede.report.run import Run
from stampede.runs.store import SHORTEST_S

# By object size


def by_size(run: Run, cells: Sequence[Figures]) -> list[Finding]:
    """One choice against the other at each size: how many times as fast, and as cheap, it is."""
    experiment, declared = run.experiment, run.experiment.by_size
    if declared is None:
        return []
    axis, moves = declared.moves
    pairs = _pairs(experiment, [figures for figures in cells if figures.cell[axis] in moves])
    costs = _Costs(run)
    enough = [pair for pair in pairs if has_enough(*pair)]
    among = max(1, len(enough) * (2 if costs.are_known else 1))
    compare = next(compare for compare in experiment.compare if compare.axes[0] == declared.choice)
    findings = []
    for figures, base in pairs:
        finding = Finding("size", compare.name, figures.cell, base.cell, among=among)
        why = _size_refusal(figures, base, compare)
        if why:
            findings.append(replace(finding, why=why))
            continue
        size = min(figures.sample.size, base.sample.size)
        # An operation of one may move fewer objects: compare one object of each.
        share = base.mean_bytes / figures.mean_bytes  # type: ignore[operator]
        medians = base.sample.medians / figures.sample.medians / share
        ratio = interval(
            base.sample.median / figures.sample.median / share, medians, size, among=among
        )
        usd, cheaper = costs.compared(figures, base, moves[figures.cell[axis]], size, among)
        rounds = rounds_in_common(figures.sample, base.sample)
        findings.append(
            replace(
                finding, ratio=ratio, level=level_of(ratio), rounds=rounds, usd=usd, cheaper=cheaper
            )
        )
    return findings


def _size_refusal(figures: Figures, base: Figures, compare: Compare) -> str:
    if not has_enough(figures, base):
        return TOO_FEW
    if not figures.mean_bytes or not base.mean_bytes:
        return SIZES_DIFFER
    if min(side.sample.values[0] for side in (figures, base)) < SHORTEST_S:
        return "an operation took no measurable time"
    return STAND_IN_RAN if figures.cell.is_of_stand_in(compare.axes) else ""


def _pairs(experiment: Experiment, cells: Sequence[Figures]) -> list[tuple[Figures, Figures]]:
    """Cells that differ in the choice alone; if there are none, also in what follows from it."""
    by_size = experiment.by_size
    if by_size is None:
        return []
    choice = by_size.choice
    usual = next(compare.base[0] for compare in experiment.compare if compare.axes[0] == choice)
    along = [axis.name for axis in experiment.axes if callable(axis.default)]
    bases = [figures for figures in cells if figures.cell[choice] == usual]
    pairs = []
    for figures in cells:
        if figures.cell[choice] == usual:
            continue
        for left_out in ((choice,), (choice, *along)):
            alike = [
                base
                for base in bases
                if base.cell.without(left_out) == figures.cell.without(left_out)
            ]
            if len(alike) == 1:
                pairs.append((figures, alike[0]))
                break
    return pairs


class _Costs:
    """What moving one object costs: request, bytes, and the function's median time, not storage."""

    def __init__(self, run: Run) -> None:
        self._run, self._prices, self._tariffs = run, prices.stored(run), prices.tariffs(run)
        self._size_axis = run.experiment.by_size.size if run.experiment.by_size else ""
        self._choice = run.experiment.by_size.choice if run.experiment.by_size else ""

    @property
    def are_known(self) -> bool:
        return bool(self._tariffs)

    def compared(
        self, figures: Figures, base: Figures, moves: str, size: int, among: int
    ) -> tuple[float | None, Estimate | None]:
        """US dollars for a million objects of the first cell, and how many times as cheap it is as
        the other; None without prices."""
        amounts = [self._usd(side, moves) for side in (figures, base)]
        if None in amounts:
            return None, None
        (usd, resampled), (base_usd, of_base) = amounts  # type: ignore[misc]
        cheaper = interval(base_usd / usd, of_base / resampled, size, among=among)
        return usd * A_MILLION, cheaper

    def _usd(self, figures: Figures, moves: str) -> tuple[float, np.ndarray] | None:
        cell, sample = figures.cell, figures.sample
        tariff = self._tariffs.get(cell[self._choice])
        mb_second_usd = prices.mb_second_usd(self._run, self._prices, cell)
        if tariff is None or mb_second_usd is None or not figures.mean_bytes:
            return None
        object_bytes = cell[self._size_axis]
        fixed = prices.moved_usd(tariff, moves, object_bytes)
        # The median operation, as for the time: a mean of ten has no reliable interval.
        second = mb_second_usd * cell[MEMORY] * object_bytes / figures.mean_bytes
        return fixed + second * sample.median, fixed + second * sample.medians


# By memory


def by_memory(run: Run, cells: Sequence[Figures]) -> list[Finding]:
    """Each memory size of a series against the fastest, with its cost and the titles that it may
    hold.

    Empty if the experiment doesn't ask which memory to choose, or memory has no effect.
    """
    if not asks_for_memory(run.experiment):
        return []
    billed = billed_samples(run, cells)
    usd = {cell: _usd(run, cell, sample) for cell, sample in billed.items()}
    series = [
        [figures for figures in group if len(figures.sample)] for group in groups(cells, (MEMORY,))
    ]
    series = [group for group in series if len(group) > 1]
    scores = [_scores(_candidates(group), billed, usd) for group in series]
    among = max(
        1,
        sum(
            len(rivals) * (len(rivals) - 1) // 2
            for of_titles in scores
            for rivals in of_titles.values()
        ),
    )
    findings: list[Finding] = []
    for group, of_titles in zip(series, scores, strict=True):
        findings += _titled(group, of_titles, usd, among)
    return findings


Score = tuple[float, np.ndarray]


def _usd(run: Run, cell: Cell, billed: Sample) -> Score | None:
    """The cost of one invocation in US dollars, and its resamples; None without prices."""
    usd_by_price = prices.stored(run)
    mb_second_usd = prices.mb_second_usd(run, usd_by_price, cell)
    request_usd = usd_by_price.get("lambda_request")
    if not len(billed) or mb_second_usd is None or request_usd is None:
        return None
    second_usd = mb_second_usd * cell[MEMORY]
    return request_usd + second_usd * billed.mean, request_usd + second_usd * billed.means


def _candidates(group: Sequence[Figures]) -> list[Figures]:
    """The sizes that may hold a title: with enough measurements, and without losing more messages
    than another."""
    enough = [
        figures
        for figures in group
        if has_enough(figures) and figures.sample.values[0] >= SHORTEST_S
    ]
    return losing_least(enough)


def _scores(
    candidates: Sequence[Figures], billed: Mapping[Cell, Sample], usd: Mapping[Cell, Score | None]
) -> dict[str, dict[Cell, Score]]:
    """For each title the scores of the sizes, of which the smallest wins. The balance is that of
    AWS Lambda Power Tuning with equal weights: time plus cost, each as a share of the highest."""
    if len(candidates) < 2:
        return {}
    cells = [figures.cell for figures in candidates]
    scores = {
        "fastest": {
            figures.cell: (figures.sample.median, figures.sample.medians) for figures in candidates
        }
    }
    costs = {cell: cost for cell in cells if (cost := usd[cell]) is not None}
    if len(costs) < len(cells):
        return scores
    times = {cell: (billed[cell].mean, billed[cell].means) for cell in cells}
    shares = []
    for amounts in (times, costs):
        most = max(value for value, _ in amounts.values())
        resampled = np.max([values for _, values in amounts.values()], axis=0)
        shares.append(
            {cell: (value / most, values / resampled) for cell, (value, values) in amounts.items()}
        )
    balance = {
        cell: tuple(sum(parts) for parts in zip(*(share[cell] for share in shares), strict=True))
        for cell in cells
    }
    return scores | {"cheapest": costs, "balanced": balance}


def _titled(
    group: Sequence[Figures],
    scores: Mapping[str, Mapping[Cell, Score]],
    usd: Mapping[Cell, Score | None],
    among: int,
) -> list[Finding]:
    """The sizes of a series: each holds the titles for which none is better beyond its interval."""
    by_cell = {figures.cell: figures for figures in group}
    ratios: dict[str, dict[Cell, Estimate]] = {}
    holders: dict[str, list[Cell]] = {}
    for title, rivals in scores.items():
        best, ratios[title] = _against_best(rivals, by_cell, among)
        holders[title] = [best]
        for cell, ratio in ratios[title].items():
            if ratio.high is None or ratio.high >= 1:
                holders[title].append(cell)
    fastest = min(group, key=lambda figures: figures.sample.median).cell
    if "fastest" in holders:
        fastest = holders["fastest"][0]
    findings = []
    for figures in group:
        cell, cost = figures.cell, usd[figures.cell]
        ratio = ratios.get("fastest", {}).get(cell)
        titles = {title: len(cells) == 1 for title, cells in holders.items() if cell in cells}
        why = ""
        if not any(cell in rivals for rivals in scores.values()):
            why = "too few measurements"
            if figures.lost:
                why = f"{figures.lost:,} of its messages never succeeded"
        findings.append(
            Finding(
                "memory",
                "memory",
                cell,
                fastest,
                ratio,
                level_of(ratio) if ratio else "unknown",
                why,
                rounds_in_common(figures.sample, by_cell[fastest].sample),
                among,
                usd=cost and cost[0] * A_MILLION,
                cheaper=ratios.get("cheapest", {}).get(cell),
                titles=titles,
            )
        )
    return findings


def _against_best(
    rivals: Mapping[Cell, Score], by_cell: Mapping[Cell, Figures], among: int
) -> tuple[Cell, dict[Cell, Estimate]]:
    """The best of these sizes, and by how much it beats each other one: a ratio below 1."""
    best = min(rivals, key=lambda cell: rivals[cell][0])
    best_value, best_resampled = rivals[best]
    ratios = {}
    for cell, (value, resampled) in rivals.items():
        if cell != best:
            size = min(by_cell[side].sample.size for side in (cell, best))
            ratios[cell] = interval(
                best_value / value, best_resampled / resampled, size, among=among
            )
    return best, ratios


def break_even(estimates: Mapping[int, Estimate]) -> tuple[int, int] | None:
    """The two neighbouring sizes between which a ratio crosses 1; None unless it crosses exactly
    once, from clearly above to clearly below or vice versa."""
    clear = [
        (size, estimates[size].value > 1)
        for size in sorted(estimates)
        if estimates[size].leaves_1_out
    ]
    turns = [
        (size, following) for (size, above), (following, later) in pairwise(clear) if above != later
    ]
    return turns[0] if len(turns) == 1 else None
