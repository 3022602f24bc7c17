"""The charts of a run: the one with the answer, and those among the details."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stampede.axes import n_axis
from stampede.cell import Cell, common_axes, distinguishing, ignored_axes
from stampede.phrases import decimal_size, significant
from stampede.report import charts
from stampede.report.analysis import Analysis
from stampede.report.cells import Figures, curves, is_of_athena
from stampede.report.charts import Box, Chart, Curve, Line, Mark, Panel, Ratio
from stampede.report.findings import MEMORY, Finding
from stampede.report.intervals import MINIMUM_ROUNDS, Estimate
from stampede.report.trajectories import Trajectory

# Cells with fewer operations show each as a dot, because a box of so few is unreliable.
FEW = 20


def first(analysis: Analysis) -> Chart | None:
    """The headline as a chart; None without a time."""
    kinds = {finding.kind for finding in analysis.findings if finding.ratio}
    if not any(figures.count for figures in analysis.of_headline.values()):
        return None
    for kind, draw in (
        ("knee", _knee),
        ("size", _sizes),
        ("memory", _memories),
        ("choice", _choices),
    ):
        if kind in kinds:
            chart = draw(analysis)
            if chart:
                return chart
    return _against_a_scale(analysis) or boxes(analysis)


def _against_a_scale(analysis: Analysis) -> Chart | None:
    """The median against N, or another scale; None if none with an effect was swept."""
    experiment = analysis.experiment
    timed = {
        cell: figures
        for cell, figures in analysis.of_headline.items()
        if figures.median and not is_of_athena(figures, experiment)
    }
    ignored = ignored_axes(experiment.axes)
    scales = [compare.axes[0] for compare in experiment.compare if compare.kind == "scale"]
    names = [
        n_axis(experiment.axes),
        *([experiment.by_size.size] if experiment.by_size else []),
        *scales,
    ]
    swept = (
        name for name in names if name not in ignored and len({cell[name] for cell in timed}) > 1
    )
    name = next(swept, None)
    if name is None:
        return None
    axis = next(axis for axis in experiment.axes if axis.name == name)
    if experiment.by_size and name == experiment.by_size.size:
        return _per_object(timed, name)
    lines = _lines({cell: _mark(figures.median) for cell, figures in timed.items()}, name)
    title = f"Median seconds of one {experiment.operation[0]} against {axis.label}"
    return charts.line(
        "seconds_by", title, _words(lines, "s"), lines, f"{axis.label} (logarithmic)", "seconds"
    )


def _per_object(timed: Mapping[Cell, Figures], name: str) -> Chart:
    """The median of one object against its size: an operation moves many."""
    marks = {}
    for cell, figures in timed.items():
        share = cell[name] / figures.mean_bytes if figures.mean_bytes else 1
        marks[cell] = Mark(
            *(value if value is None else value * share for value in figures.median or (0,))
        )
    lines = _lines(marks, name)
    up, across = "seconds (logarithmic)", "object size (logarithmic)"
    title, words = "Median seconds per object, by size", _words(lines, "s", decimal_size)
    return charts.line(
        "per_object", title, words, lines, across, up, is_log_up=True, x_words=decimal_size
    )


def _mark(estimate: Estimate | None) -> Mark:
    return Mark(*estimate) if estimate else Mark(0)


def _lines(marks: Mapping[Cell, Mark], axis: str, ringed: Sequence[Cell] = ()) -> list[Line]:
    """A line for cells that differ only in this axis and in numbers that follow from it; its label
    is what distinguishes it."""
    axes = next(iter(marks)).axes
    along = (axis, *(other.name for other in axes if callable(other.default) and other.kind is int))
    series: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in sorted(marks):
        series.setdefault(cell.without(along), []).append(cell)
    longest = _longest(list(series.values()))
    shown = distinguishing(cell for cells in longest for cell in cells)
    common = common_axes([cells[0] for cells in longest])
    lines = []
    for cells in longest:
        label = cells[0].words_without((*along, *common), shown) or "measured"
        own_rings = [cell[axis] for cell in cells if cell in ringed]
        lines.append(Line(label, {cell[axis]: marks[cell] for cell in cells}, own_rings))
    return lines


def _longest(series: Sequence[list[Cell]]) -> list[list[Cell]]:
    """The series that fit next to an answer: the longest; a single cell is no line."""
    by_length = sorted(series, key=len, reverse=True)[: charts.MOST_LINES]
    least = min(2, len(by_length[0]))
    return [cells for cells in series if cells in by_length and len(cells) >= least]


def _words(
    lines: Sequence[Line], unit: str, x_words: Callable[[float], str] = "{:,}".format
) -> str:
    """The text alternative: every value."""
    parts = []
    for line in lines:
        values = [
            f"{significant(mark.value)} {unit} at {x_words(x)}" for x, mark in line.marks.items()
        ]
        parts.append(f"{line.label}: {', '.join(values)}")
    return f"{'; '.join(parts)}."


def _knee(analysis: Analysis) -> Chart | None:
    experiment = analysis.experiment
    if experiment.knee is None:
        return None
    name, calls = experiment.knee
    rows = [finding for finding in analysis.findings if finding.kind == "knee"]
    marks = {row.subject: _speed_mark(analysis.cells[row.subject]) for row in rows}
    ringed = [row.subject for row in rows if row.titles and row.titles.get("knee")]
    lines, unit = _lines(marks, name, ringed), experiment.speed.unit
    title = f"Median throughput against {calls}" + (": a ring marks the knee" if ringed else "")
    return charts.line(
        "knee",
        title,
        _words(lines, unit),
        lines,
        f"{calls} (logarithmic)",
        f"{unit} (logarithmic)",
        is_log_up=True,
        is_proportion=True,
    )


def _speed_mark(figures: Figures) -> Mark:
    sample = figures.speeds
    if len(sample) < MINIMUM_ROUNDS:
        return Mark(sample.median)
    return Mark(*sample.interval_of_median())


def _sizes(analysis: Analysis) -> Chart | None:
    declared = analysis.experiment.by_size
    rows = [finding for finding in analysis.findings if finding.kind == "size" and finding.ratio]
    if declared is None or not rows:
        return None
    lines = _lines({row.subject: _mark(row.ratio) for row in rows}, declared.size)
    choice, base = (cell[declared.choice] for cell in (rows[0].subject, rows[0].baseline))
    title = f"Speed of {choice} relative to {base}, by object size"
    return charts.line(
        "by_size",
        title,
        _words(lines, "×", decimal_size),
        lines,
        "object size (logarithmic)",
        "times as fast",
        is_log_up=True,
        x_words=decimal_size,
        level=1,
    )


def _memories(analysis: Analysis) -> Chart | None:
    rows = [
        row
        for row in analysis.findings
        if row.kind == "memory" and row.subject in analysis.of_headline
    ]
    if not rows:
        return None
    marks = {row.subject: _mark(analysis.cells[row.subject].median) for row in rows}
    ringed = [row.subject for row in rows if (row.titles or {}).get("fastest")]
    lines = _lines(marks, MEMORY, ringed)
    one = analysis.experiment.operation[0]
    title = f"Median seconds of one {one} by memory" + (
        ": a ring marks the fastest" if ringed else ""
    )
    return charts.line(
        "memory", title, _words(lines, "s"), lines, "memory, MB (logarithmic)", "seconds"
    )


def _choices(analysis: Analysis) -> Chart | None:
    # The axes that select the headline's cells aren't a choice.
    decided = analysis.experiment.headline_of.keys()
    declared = [
        compare.name for compare in analysis.experiment.compare if not decided & set(compare.axes)
    ]
    of_headline = (row for row in analysis.findings if row.subject in analysis.of_headline)
    rows = [row for row in of_headline if row.kind == "choice" and row.compare in declared]
    rows.sort(key=lambda row: declared.index(row.compare))
    if not rows:
        return None
    rows = [row for row in rows if row.compare == rows[0].compare]
    n = max(row.subject.n for row in rows)
    return forest(analysis, [row for row in rows if row.subject.n == n])


def forest(
    analysis: Analysis, rows: Sequence[Finding], name: str = "ratios", title: str = ""
) -> Chart | None:
    """The ratios of findings, with their intervals."""
    rows = [row for row in rows if row.ratio]
    if not rows:
        return None
    shown = distinguishing(cell for row in rows for cell in (row.subject, row.baseline))
    common = common_axes([row.subject for row in rows])
    ratios = []
    for row in rows:
        axes = row.axes(analysis.experiment)
        where = row.subject.words_without((*axes, *common), shown)
        sides = f"{row.subject.words_of(axes)} / {row.baseline.words_of(axes)}" if axes else ""
        label = ", ".join(filter(None, [sides, where]))
        ratios.append(Ratio(label or "measured", *row.ratio))
    words = "; ".join(f"{ratio.label}: {ratio.value:.2f}" for ratio in ratios)
    return charts.forest(
        name, title or "Times as fast, by medians", f"{words}.", ratios, "times as fast"
    )


def boxes(analysis: Analysis) -> Chart | None:
    """The times of each cell, in the order of the tables."""
    cells = [figures for figures in analysis.cells.values() if figures.count]
    if not cells:
        return None
    shown = distinguishing(figures.cell for figures in cells)
    common = common_axes([figures.cell for figures in cells])
    names = ("min_s", "p25_s", "median_s", "p75_s", "max_s")
    drawn = []
    for figures in cells:
        few = figures.everything.values.tolist() if figures.count < FEW else []
        numbers = [figures.seconds[name] for name in names]
        label = figures.cell.words_without(common, shown) or "measured"
        drawn.append(Box(label, *numbers, values=few))
    one = analysis.experiment.operation[0]
    words = "; ".join(f"{box.label}: median {significant(box.median)} s" for box in drawn)
    return charts.box("seconds", f"Seconds for one {one}", f"{words}.", drawn, "seconds")


def timeline(analysis: Analysis) -> Chart | None:
    """How many ran at once in each planned cell, over time; its floods one after the other."""
    panels = []
    shown = distinguishing(figures.cell for figures in analysis.planned)
    for figures in analysis.planned[: charts.MOST_PANELS]:
        at_s: list[float] = []
        running: list[float] = []
        for times, counts in curves(analysis.run, figures.cell):
            begins = at_s[-1] if at_s else 0.0
            at_s += [begins + time for time in times]
            running += counts
        if at_s:
            title = figures.cell.on(analysis.experiment.planned_axes).words_without((), shown)
            panels.append(
                Panel(
                    title, [Curve("running", at_s, running, is_filled=True)], float(figures.cell.n)
                )
            )
    if not panels:
        return None
    peaks = [f"{panel.title}: {max(panel.curves[0].heights):,.0f}" for panel in panels]
    workers = analysis.experiment.worker[1]
    words = f"Peaks: {'; '.join(peaks)}."
    across, up = "seconds since the first start", f"{workers} running"
    return charts.timeline(
        "overlap_timeline", f"{workers.capitalize()} running over time", words, panels, across, up
    )


def rates(trajectories: Sequence[Trajectory]) -> Chart | None:
    """Objects copied and calls throttled per second, for the median operation of each cell."""
    shown = distinguishing(trajectory.cell for trajectory in trajectories)
    panels = []
    for trajectory in trajectories[: charts.MOST_PANELS]:
        panels.append(
            Panel(
                trajectory.cell.words_without((), shown),
                [
                    Curve(
                        "copied per second", trajectory.at_s, trajectory.copied_per_s, is_step=False
                    ),
                    Curve(
                        "SlowDown per second",
                        trajectory.at_s,
                        trajectory.slowdowns_per_s,
                        True,
                        False,
                    ),
                ],
            )
        )
    if not panels:
        return None
    words = "Objects copied, and calls throttled, per second, over time."
    return charts.timeline(
        "rate", "Copy rate over time", words, panels, "seconds since the first call", "per second"
    )


def predicted_ramp(
    workers: str, predictions: Sequence[tuple[Cell, Mapping[str, Any]]]
) -> Chart | None:
    """How many are expected to run at once, over time; `predictions` are as in run.json."""
    shown = distinguishing(cell for cell, _ in predictions)
    panels = []
    for cell, prediction in predictions[: charts.MOST_PANELS]:
        if prediction["ramp"]:
            first_s = prediction["ramp"][0][0]
            at_s, running = ([step[at] for step in prediction["ramp"]] for at in (0, 1))
            curve = Curve("running", [at - first_s for at in at_s], running, is_filled=True)
            panels.append(
                Panel(cell.words_without((), shown), [curve], float(cell.n), prediction["span_s"])
            )
    if not panels:
        return None
    across = "seconds since the first start, predicted"
    return charts.timeline(
        "predicted_ramp", f"{workers.capitalize()} at once", "Predicted.", panels, across, workers
    )
