"""The two tables of a page: measured next to published figures, and comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from experiments import Experiment
from stampede.axes import Axis
from stampede.cell import SETTINGS, Cell, common_axes, distinguishing
from stampede.experiment import BySize
from stampede.phrases import (
    NOTHING,
    counted,
    decimal_size,
    dollars,
    listed,
    ratios,
    significant,
    size_words,
    some,
)
from stampede.report import published
from stampede.report.analysis import Analysis
from stampede.report.cells import Figures, mbit_per_s
from stampede.report.economy import break_even
from stampede.report.findings import Finding
from stampede.report.intervals import Estimate
from stampede.report.run import Run
from stampede.runs.cells import SECONDS, taken
from stampede.tables import Field, Row, Table

# Seven of the eleven columns are figures.
MOST_COORDINATES = 4
MOST_PREDICTED = 12
LEVELS = {
    "holds": "✓ same within 10 %",
    "slower": "▼ slower",
    "faster": "▲ faster",
    "unclear": "? too close to call",
}
SLIGHTLY = {True: "▲ at least slightly faster", False: "▼ at least slightly slower"}


def results(analysis: Analysis) -> Table:
    """A row for each planned or measured cell, followed by published ones of its coordinates."""
    run, experiment = analysis.run, analysis.experiment
    every = published.every_cell(experiment)
    rows: list[dict[str, Any]] = []
    shown: list[published.PublishedCell] = []
    for cell, figures in analysis.cells.items():
        rows.append(_measured_row(run, cell, figures))
        for row in every:
            # A row that matches several cells is shown next to the first only.
            if row.cell == cell or (row.stands_beside(cell) and row not in shown):
                shown.append(row)
                rows.append(_published_row(row, cell, experiment))
    title = "Measured and published" if shown else "Measured"
    caption = [
        *_common(rows, experiment),
        *_of_published(analysis, shown),
        *_left_out(analysis),
        *predicted(run, analysis.cells),
    ]
    if not any(finding.ratio for finding in analysis.findings):  # there is no other table
        caption += _not_compared(analysis.findings)
    fields = [
        *coordinates(rows, experiment),
        *figure_fields(experiment),
        *_stored_fields(experiment),
    ]
    title = f"{title}: seconds for one {experiment.operation[0]}"
    return Table("results", title, fields, rows, caption, is_strong=itemgetter("is_measured"))


def _measured_row(run: Run, cell: Cell, figures: Figures) -> dict[str, Any]:
    experiment, overlap, median = run.experiment, figures.overlap, figures.median
    seconds = {
        "avg_s" if name == "mean_s" else name: value for name, value in figures.seconds.items()
    }
    metrics = {metric.name: figures.metrics.get(metric.name) for metric in taken(experiment)}
    return {
        **_place(cell),
        "is_measured": True,
        "source": ", ".join([run.source, *(stand_in.short for stand_in in run.stand_ins([cell]))]),
        **seconds,
        **metrics,
        "interval": _span(median.low, median.high) if median else "",
        "median_low_s": median and median.low,
        "median_high_s": median and median.high,
        experiment.speed.name: _speed(figures, experiment),
        "most_at_once": overlap and overlap.peak,
        "share_at_full_n": overlap and overlap.share_at_n,
    }


def _speed(figures: Figures, experiment: Experiment) -> float | None:
    """The speed of one worker: the median if a knee is sought, else work over the mean time."""
    if experiment.knee:
        return figures.speeds.median if len(figures.speeds) else None
    mean_s, declared = figures.seconds["mean_s"], experiment.by_size
    if experiment.speed.how == "rate":
        return mbit_per_s(figures.mean_bytes, mean_s)
    if declared and mean_s:
        cell, moved_bytes = figures.cell, figures.mean_bytes
        objects = moved_bytes / cell[declared.size] if moved_bytes else cell[declared.count]
        return objects / mean_s
    return figures.metrics.get(experiment.speed.name)


def _published_row(
    row: published.PublishedCell, beside: Cell, experiment: Experiment
) -> dict[str, Any]:
    speed = {experiment.speed.name: row.speed(experiment.speed)}
    source = {"source": row.published.label, "is_measured": False}
    return {**_place(row.beside(beside)), **source, **row.figures, **speed}


def _place(cell: Cell) -> dict[str, Any]:
    return {**cell.figures(), SETTINGS: cell.settings, "cell": cell}


def coordinates(rows: Sequence[Row], experiment: Experiment) -> list[Field]:
    """A column for each axis on which the rows differ; the last combines those that don't fit."""
    differing = _differing(rows, experiment)
    has_settings = len({row["cell"].settings for row in rows}) > 1
    if not differing and not has_settings:
        differing = [axis for axis in experiment.axes if axis.name == "concurrency"]
    single = len(differing)
    if single + has_settings > MOST_COORDINATES:
        single = MOST_COORDINATES - 1
    # A row that says where it ran names its stand-in there.
    is_marked = not any("source" in row for row in rows)
    fields = [_coordinate(axis, experiment, is_marked) for axis in differing[:single]]
    rest = differing[single:]
    if rest or has_settings:
        label = " and ".join([axis.label for axis in rest[:1]] + ["settings"] * has_settings)
        show = partial(_rest_words, rest)
        fields.append(Field("cell", label, show=show, is_text=True, only="reading"))
    return fields


def _differing(rows: Sequence[Row], experiment: Experiment) -> list[Axis]:
    """The axes on which rows differ, except variants at their default. Numbers that follow from
    others count only if nothing else tells measured rows apart."""
    cells = [row["cell"] for row in rows]
    measured = [row["cell"] for row in rows if row["is_measured"]]
    departures = set().union(*(cell.departures for cell in cells))
    axes = [
        axis
        for axis in experiment.axes
        if (axis.name in departures or not axis.is_variant)
        and len({cell[axis.name] for cell in cells}) > 1
    ]
    following = [axis.name for axis in axes if callable(axis.default) and axis.kind is int]
    if len({cell.without(following) for cell in measured}) == len(set(measured)):
        return [axis for axis in axes if axis.name not in following]
    return axes


def _coordinate(axis: Axis, experiment: Experiment, is_marked: bool) -> Field:
    declared = experiment.by_size
    if declared and axis.name == declared.size:
        return Field("cell", "objects", show=partial(_objects, declared), only="reading")
    if axis.unit == "bytes":
        return Field(
            axis.name, axis.label, show=lambda size: decimal_size(size, digits=9), only="reading"
        )
    if axis.kind is int:
        return Field(axis.name, axis.label, axis.unit, show="{:,}".format, only="reading")
    text = Cell.marked_text if is_marked else Cell.text
    return Field(
        "cell", axis.label, show=lambda cell: text(cell, axis), is_text=True, only="reading"
    )


def _objects(declared: BySize, cell: Cell) -> str:
    """`50 × 10 KB`: what one operation moves."""
    return f"{cell[declared.count]:,} × {decimal_size(cell[declared.size], digits=9)}"


def _rest_words(axes: Sequence[Axis], cell: Cell) -> str:
    words = [cell.plain.value_words(axis.name) for axis in axes]
    return ", ".join(filter(None, [*words, cell.settings])) or NOTHING


def figure_fields(experiment: Experiment) -> list[Field]:
    """The columns after the coordinates: target, times, speed and counts."""
    speed = experiment.speed
    return [
        Field("source", "where", is_text=True, rank=1),
        Field("median_s", "median", "s", show=significant, rank=2),
        Field("interval", "95 %", "s", rank=7, only="reading"),
        Field("avg_s", "mean", "s", show=significant, rank=6),
        Field(
            speed.name,
            f"{speed.label}, {'median' if experiment.knee else 'mean'}",
            speed.unit,
            significant,
            rank=3,
        ),
        Field("count", "n", show="{:,}".format, rank=4),
        Field("most_at_once", "peak", show="{:,}".format, rank=5, look=_short_of_n),
    ]


def _short_of_n(row: Row) -> str:
    peak = row.get("most_at_once")
    return "short" if peak is not None and peak < row["cell"].n else ""


def _stored_fields(experiment: Experiment) -> list[Field]:
    """The columns of files only: every coordinate, and further figures."""
    more = [name for name in SECONDS if name != "avg_s"]
    metrics = [metric.name for metric in taken(experiment) if metric.name != experiment.speed.name]
    names = [*more, "median_low_s", "median_high_s", "share_at_full_n", *metrics, SETTINGS]
    places = [Field(axis.name, only="files") for axis in experiment.axes]
    return [*places, *(Field(name, only="files") for name in names)]


def _common(rows: Sequence[Row], experiment: Experiment) -> Iterator[str]:
    """What all rows have in common."""
    cells = [row["cell"].plain for row in rows]
    if len(cells) < 2:
        return
    departures = set().union(*(cell.departures for cell in cells))
    same = [
        axis.name
        for axis in experiment.axes
        if (axis.name in departures or not axis.is_variant)
        and len({cell[axis.name] for cell in cells}) == 1
    ]
    if same:
        yield f"In all rows: {', '.join(_labelled(cells[0], name, experiment) for name in same)}."


def _labelled(cell: Cell, name: str, experiment: Experiment) -> str:
    """A value, with its axis unless it names that itself."""
    axis = next(axis for axis in experiment.axes if axis.name == name)
    words = cell.value_words(name)
    return f"{axis.label} {words}" if axis.words == "{}" else words


def _of_published(analysis: Analysis, shown: Sequence[published.PublishedCell]) -> Iterator[str]:
    """The setting of the published rows, and whether seconds can be compared."""
    tables = {(row.published.label, row.published.setting): row.published for row in shown}
    for table in tables.values():
        sentence = f"{table.label}: {table.setting}."
        beside = [row for row in shown if row.published is table]
        measured = [
            figures
            for cell, figures in analysis.cells.items()
            if figures.count and any(row.stands_beside(cell) for row in beside)
        ]
        objects, advice = table.objects_axis, ""
        if analysis.run.target == "aws":  # elsewhere neither can be compared
            advice = f": compare {analysis.experiment.speed.unit}, not seconds"
        sizes = {figures.size_bytes for figures in measured}
        if table.object_bytes and sizes != {table.object_bytes}:
            own = listed([size_words(size) for size in sorted(sizes - {None})]) or "of unknown size"
            sentence += f" The {table.moved} here is {own}{advice}."
        if objects and {row.cell[objects] for row in beside} != {
            figures.cell[objects] for figures in measured
        }:
            sentence += f" A set here has another number of objects{advice}."
        yield sentence
    sizes = {_object_bytes(figures) for figures in analysis.cells.values()} - {None}
    if sizes and any(table.objects for table in tables.values()):
        yield f"The objects here have {listed(sorted(map(decimal_size, sizes)))}."


def _object_bytes(figures: Figures) -> float | None:
    """The mean size of the objects of copies; None if it isn't recorded."""
    copied = figures.metrics.get("copied")
    return figures.mean_bytes * figures.count / copied if figures.mean_bytes and copied else None


def _left_out(analysis: Analysis) -> Iterator[str]:
    count = sum(figures.count - len(figures.sample) for figures in analysis.cells.values())
    if count:
        operations = counted(count, *analysis.experiment.operation)
        yield (
            f"{operations} left out of speeds and comparisons: continued an earlier delivery, or "
            "failed by half."
        )


def predicted(run: Run, cells: Iterable[Cell]) -> Iterator[str]:
    """The mean seconds that the model predicted, only for a run on AWS."""
    stored = run.manifest.get("prediction")
    forecasts = stored.get("cells") if isinstance(stored, dict) and run.target == "aws" else None
    axes, seconds = run.experiment.planned_axes, {}
    for name, forecast in forecasts.items() if isinstance(forecasts, dict) else ():
        mean_s = forecast.get("avg_s") if isinstance(forecast, dict) else None
        place = run.key_of(name)
        if type(mean_s) in (int, float) and mean_s >= 0 and place:
            seconds[place.on(axes)] = mean_s
    places = sorted(seconds.keys() & {cell.on(axes) for cell in cells})
    if len(places) == 1:
        yield f"Predicted mean: {significant(seconds[places[0]])} s."
    elif places:
        shown = distinguishing(places)
        same = common_axes(places)
        means = [
            f"{significant(seconds[place])} s with {place.words_without(same, shown)}"
            for place in places
        ]
        yield f"Predicted means: {some(means, MOST_PREDICTED)}."


def comparisons(
    findings: Sequence[Finding], experiment: Experiment, base: str = ""
) -> Table | None:
    """A row for each finding with a ratio; None without any. `base` names the common baseline."""
    shown = distinguishing(
        cell for finding in findings for cell in (finding.subject, finding.baseline)
    )
    common = common_axes(row.subject for row in findings)
    # A knee's series begins with itself; the fastest memory size is listed for its cost.
    measured = [
        finding for finding in findings if (finding.titles if finding.is_best else finding.ratio)
    ]
    measured = [finding for finding in measured if finding.kind != "knee" or not finding.is_best]
    if not measured:
        return None
    rows = [_comparison(finding, experiment, common, shown) for finding in measured]
    costs = any(row["cheaper"] is not None for row in rows)
    fields = [
        Field("what", "comparison", is_text=True),
        Field("where", "at", is_text=True),
        Field("ratio", "speed", "×", show="{:.2f}".format, rank=1),
        Field("interval", "95 %", "×", rank=2),
        *(
            [Field("usd", "USD", "per million", show=dollars, rank=6)]
            if any(row["usd"] for row in rows)
            else []
        ),
        *([Field("cheaper", "as cheap", "×", show="{:.2f}".format, rank=4)] if costs else []),
        *([Field("cheaper_interval", "95 %", "×", rank=5)] if costs else []),
        Field("result", "result", is_text=True, rank=3, look=lambda row: row["level"]),
    ]
    if not any(row["where"] for row in rows):
        fields = [field for field in fields if field.name != "where"]
    caption = ["“speed”: how many times as fast the first is as the second, by medians."]
    caption += _break_evens(measured, experiment)
    caption += _not_compared(findings)
    return Table("comparisons", f"Compared{base}", fields, rows, caption)


def _not_compared(findings: Sequence[Finding]) -> Iterator[str]:
    whys = Counter(finding.why for finding in findings if finding.why and not finding.ratio)
    if whys:
        refused = [f"{counted(count, 'pair')} ({why})" for why, count in whys.items()]
        yield f"Not compared: {listed(refused)}."


def _break_evens(findings: Sequence[Finding], experiment: Experiment) -> Iterator[str]:
    """The object sizes at which another choice becomes faster, or cheaper."""
    declared = experiment.by_size
    if declared is None:
        return
    along = (declared.size, *(axis.name for axis in experiment.axes if callable(axis.default)))
    series: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        if finding.kind == "size":
            series.setdefault(finding.subject.without(along), []).append(finding)
    shown = distinguishing(finding.subject for finding in findings)
    for rows in series.values():
        for what, name in (("time", "ratio"), ("cost", "cheaper")):
            estimates = {
                row.subject[declared.size]: getattr(row, name) for row in rows if getattr(row, name)
            }
            turn = break_even(estimates)
            if turn:
                where = rows[0].subject.words_without(along, shown)
                yield (
                    f"Break-even of {what} between {decimal_size(turn[0])} and "
                    f"{decimal_size(turn[1])}: {where}."
                )


def _comparison(
    finding: Finding, experiment: Experiment, common: Sequence[str], shown: frozenset[str]
) -> dict[str, Any]:
    axes = finding.axes(experiment)
    ratio, cheaper = finding.ratio, finding.cheaper
    return {
        "what": _what(finding, axes),
        "where": finding.subject.words_without((*axes, *common), shown),
        "ratio": ratio and ratio.value,
        "interval": _ends(ratio),
        "usd": finding.usd,
        "cheaper": cheaper and cheaper.value,
        "cheaper_interval": _ends(cheaper),
        "result": result_words(finding),
        "level": finding.level,
    }


def _what(finding: Finding, axes: Sequence[str]) -> str:
    if finding.kind == "start":
        return "first against later operations"
    subject, baseline = (cell.words_of(axes) for cell in (finding.subject, finding.baseline))
    return subject if subject == baseline else f"{subject} against {baseline}"


def result_words(finding: Finding) -> str:
    """The text of a finding in its row."""
    if finding.why:
        return finding.why
    if finding.kind == "knee" and finding.titles is not None:
        if "below" in finding.titles:
            return "more calls help"
        return {True: "the knee", False: "may be the knee"}.get(
            finding.titles.get("knee"), "no further gain"
        )
    if finding.kind == "memory":
        titles = [
            title if is_alone else f"perhaps {title}"
            for title, is_alone in (finding.titles or {}).items()
        ]
        return ", ".join(titles) or LEVELS.get(finding.level, "")
    if finding.level == "unclear" and finding.ratio and finding.ratio.leaves_1_out:
        return SLIGHTLY[finding.ratio.value > 1]
    return LEVELS.get(finding.level, "")


def _ends(estimate: Estimate | None) -> str:
    return ratios(estimate._asdict()) if estimate and estimate.has_interval else ""


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{significant(low)} to {significant(high)}"
