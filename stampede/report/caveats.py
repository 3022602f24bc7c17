"""What to know before relying on a run's figures, most important first: a sentence per rule."""

from __future__ import annotations

from itertools import combinations

from stampede.cell import distinguishing, ignored_axes
from stampede.phrases import capitalised, counted, listed, percent, some
from stampede.report.analysis import Analysis
from stampede.report.findings import HOLDS_WITHIN
from stampede.report.intervals import MINIMUM_ROUNDS
from stampede.report.messages import total_objects
from stampede.runs.folder import ABANDONED

# Nobody reads a longer list to its end.
MOST_NAMED = 3
# Below this share of the time, a cell's figures mix N with less than N.
LEAST_AT_N = 0.8


def caveats(analysis: Analysis) -> list[str]:
    parts = (
        _ignored,
        _replaced,
        unsuccessful,
        _interrupted,
        _partly_full,
        _unfair,
        _drift,
        _repeats,
        _intruders,
        _versions,
        _untried,
    )
    sentences = [*analysis.contradictions]
    for part in parts:
        sentences += part(analysis)
    if any(figures.median and figures.median.has_interval for figures in analysis.cells.values()):
        sentences.append(
            "The intervals describe this run; only repeats show how much another run would differ."
        )
    return sentences


def of_one_side(analysis: Analysis) -> list[str]:
    """What to know of one of two runs that are compared, besides what never succeeded."""
    return [*_interrupted(analysis), *_partly_full(analysis)]


def of_the_place(analysis: Analysis) -> list[str]:
    """What the place where a run took place can't show."""
    return [*_ignored(analysis), *_replaced(analysis)]


def _ignored(analysis: Analysis) -> list[str]:
    return [f"{capitalised(analysis.run.without_effect)}."] if analysis.run.without_effect else []


def _replaced(analysis: Analysis) -> list[str]:
    return [stand_in.sentence for stand_in in analysis.run.stand_ins(analysis.cells)]


def unsuccessful(analysis: Analysis) -> list[str]:
    missing = sum(figures.lost for figures in analysis.planned)
    sent = sum(figures.counts["sent"] or 0 for figures in analysis.planned)
    objects = total_objects(analysis.account)
    sentences = []
    if missing:
        sentences.append(
            f"{missing:,} of {counted(sent, 'message')} didn’t succeed; the times leave them out."
        )
    if again := sum(figures.counts["retried"] or 0 for figures in analysis.cells.values()):
        sentences.append(
            f"{counted(again, 'message')} succeeded only in a later delivery; the times leave "
            "earlier attempts out."
        )
    if objects["failed"]:
        sentences.append(
            f"{objects['failed']:,} of {counted(objects['planned'], 'object')} failed."
        )
    return sentences


def _interrupted(analysis: Analysis) -> list[str]:
    if not (analysis.run.directory / ABANDONED).exists():
        return []
    return ["The sweep was interrupted and resumed: its later rounds ran at another time."]


def _partly_full(analysis: Analysis) -> list[str]:
    """Cells that reached N never, not always or not for long, or exceeded it."""
    short, over, brief = [], [], []
    shown = distinguishing(analysis.cells)
    for figures in analysis.planned:
        overlap, n = figures.overlap, figures.cell.n
        if overlap is None:
            continue
        words = figures.cell.words_without((), shown)
        if overlap.reached < overlap.floods:
            rounds = f" in {overlap.reached} of {overlap.floods} rounds" if overlap.reached else ""
            short.append(f"{overlap.peak:,} of {n:,}{rounds} with {words}")
        if overlap.peak > n:
            over.append(f"{overlap.peak:,} with {words}")
        if n > 1 and overlap.share_at_n < LEAST_AT_N:
            brief.append((overlap.share_at_n, words))
    sentences = [f"N didn’t always run at once: {some(short, MOST_NAMED)}."] if short else []
    if brief and not short:
        shares = [
            f"{'under 0.1' if share < 0.001 else percent(share)} % of it with {words}"
            for share, words in sorted(brief)
        ]
        sentences.append(f"N ran at once for only part of the time: {some(shares, MOST_NAMED)}.")
    return sentences + ([f"More than N ran at once: {some(over, MOST_NAMED)}."] if over else [])


def _unfair(analysis: Analysis) -> list[str]:
    """Swept choices that aren't ranked because their cells differ in something else as well."""
    sentences = []
    measured = [figures.cell for figures in analysis.of_headline.values() if figures.count]
    for compare in analysis.compares("choice"):
        axis = next(axis for axis in analysis.experiment.axes if axis.name == compare.axes[0])
        if axis.variable not in analysis.run.swept or axis.name in ignored_axes(
            analysis.experiment.axes
        ):
            continue
        pairs = [
            pair for pair in combinations(measured, 2) if pair[0][axis.name] != pair[1][axis.name]
        ]
        apart = [
            other.label
            for other in analysis.experiment.axes
            if other.name not in compare.axes
            and all(cell[other.name] != another[other.name] for cell, another in pairs)
        ]
        if pairs and apart:
            sentences.append(f"No {axis.label} is ranked: each has another {listed(apart)}.")
    return sentences


def _drift(analysis: Analysis) -> list[str]:
    """Compared cells that weren't interleaved: no interval covers the drift between them."""
    # Values on an axis without a variable ran in the same cell.
    planned = {axis.name for axis in analysis.experiment.axes if axis.variable}
    between = {
        compare.name for compare in analysis.experiment.compare if planned & set(compare.axes)
    }
    rows = [
        row
        for row in analysis.findings
        if row.compare in between | {"knee", "memory"} and row.ratio
    ]
    if not any(row.rounds is None and not row.is_best for row in rows):
        return []
    repeats = f"sweep with --repeats {MINIMUM_ROUNDS} to find out"
    return [f"Compared cells ran one after the other: a difference may be drift; {repeats}."]


def _repeats(analysis: Analysis) -> list[str]:
    """How much the means of a cell's repeats differ."""
    means = [
        [mean for mean in figures.repeats.values() if mean > 0]
        for figures in analysis.cells.values()
    ]
    apart = max((max(of_cell) / min(of_cell) for of_cell in means if of_cell), default=1.0)
    if apart <= 1 + HOLDS_WITHIN:
        return []
    return [f"The means of a cell’s repeats differ by up to {apart:.2f} ×."]


def _intruders(analysis: Analysis) -> list[str]:
    count = sum(figures.overlap.intruders for figures in analysis.planned if figures.overlap)
    if not count:
        return []
    return [f"{counted(count, 'redelivered message')} of other cells ran during rounds of these."]


def _versions(analysis: Analysis) -> list[str]:
    versions = analysis.run.sdk_versions.items()
    several = [f"{name} {listed(numbers)}" for name, numbers in versions if len(numbers) > 1]
    if not several:
        return []
    return [f"The functions used more than one version of an SDK: {listed(several)}."]


def _untried(analysis: Analysis) -> list[str]:
    untried = analysis.experiment.untried.items() if analysis.run.target == "aws" else ()
    values = sorted(
        {cell[axis] for cell in analysis.cells for axis, names in untried if cell[axis] in names}
    )
    if not values:
        return []
    return [f"Nobody has measured {listed(values)} with this project before; check the figures."]
