"""What comes through against the axis on which more buys something up to a point, beside what was published."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, panels
from stampede.report.figures.series import Drawn, Series
from stampede.report.published import Theirs
from stampede.report.statistics.knee import KNEE
from stampede.runs.cell_key import Key

NAME = "knee"
TITLE = "Throughput against {label}"
READING = (
    "Each marker is the median of a cell, the bar its 95 % interval (hollow: too few {many} for an interval). Both "
    "axes are logarithmic: the dotted line is in proportion, and where a line bends away from it, the gain shrinks. "
    "A ring marks the knee, beyond which more gave no gain; a line without a ring has none, or none that could be "
    "shown. Published figures are grey; their bars span the slowest to the fastest run."
)
_RING = {"marker": "o", "markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.8, "linestyle": "none",
         "clip_on": False}  # fmt: skip
# Published lines are told apart by their dashes: they are all grey.
_DASHES = ((0, ()), (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1, 2)))
MOST_SERIES = 9
Found = Mapping[str, Any]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    axis, unit = drawn.experiment.knee[0], drawn.experiment.speed.unit  # type: ignore[index]
    told = [
        f"{one['place'] or 'all'}: "
        + ", ".join(f"{point['median']:,.4g} at {point[axis]:,}" for point in one["points"])
        for one in drawn.numbers["knees"]["series"][:MOST_SERIES]
    ]
    return f"Median {unit} on logarithmic axes. {'; '.join(told)}."


@drawing.styled
def draw(drawn: Drawn, published: Sequence[Theirs]) -> Figure | None:
    """The picture; None where no series has two cells."""
    found: Sequence[Found] = drawn.numbers["knees"]["series"][:MOST_SERIES]
    if not found:
        return None
    experiment = drawn.experiment
    axis = next(one for one in experiment.axes if one.name == experiment.knee[0])  # type: ignore[index]
    lines = _published_lines(published, axis.name, drawn)
    xs = {point[axis.name] for one in found for point in one["points"]}
    if len(found) <= MOST_TOGETHER:
        xs |= {x for _, line in lines for x, *_ in line}
    across, up = f"{axis.label} (logarithmic)", f"{experiment.speed.unit} (logarithmic)"
    names = [one["place"] if len(found) > 1 else "measured" for one in found]
    series = [Series(name, [], *drawing.look(at)) for at, name in enumerate(names)]
    by_label = dict(zip((one.label for one in series), found, strict=True))

    def finish(axes: Axes) -> None:
        drawing.n_axis(axes, xs, across)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())

    if len(series) > MOST_TOGETHER:

        def panel(axes: Axes, one: Series) -> None:
            finish(axes)
            axes.set_xlabel("")
            _line(axes, by_label[one.label], axis.name, one)

        return panels(series, panel, up, lambda axes: None, across)
    figure, axes = drawing.plot(4.3)
    finish(axes)
    for at, (_, line) in enumerate(lines):
        _published_line(axes, line, _DASHES[at % len(_DASHES)])
    _ideal(axes, found[0]["points"], axis.name)
    for one in series:
        _line(axes, by_label[one.label], axis.name, one)
    axes.set_ylabel(up)
    drawing.legend_above(axes, _legend(series, [label for label, _ in lines], found))
    return figure


def _line(axes: Axes, found: Found, axis: str, series: Series) -> None:
    points = [point for point in found["points"] if point["median"]]
    axes.plot([one[axis] for one in points], [one["median"] for one in points], color=series.colour, linewidth=1.6)
    for point in points:
        x, interval = point[axis], point["interval"]
        if interval and interval["low"] > 0:
            axes.plot([x, x], [interval["low"], interval["high"]], color=series.colour, linewidth=1.8)
        face = series.colour if interval else drawing.PAPER
        axes.plot(x, point["median"], series.marker, markersize=7, markerfacecolor=face, markeredgecolor=series.colour)
    if found["level"] == KNEE:
        axes.plot(found["knee"], found["speed"], markeredgecolor=drawing.INK, zorder=5, **_RING)


def _ideal(axes: Axes, points: Sequence[Found], axis: str) -> None:
    """In proportion to the smallest, as far up as anything came through."""
    first = next((one for one in points if one["median"]), None)
    if first:
        most = max(one["median"] for one in points) / first["median"]
        far = min(most * 1.4, points[-1][axis] / first[axis])
        axes.plot([first[axis], first[axis] * far], [first["median"], first["median"] * far], color=drawing.INK,
                  linewidth=1, linestyle=":")  # fmt: skip


def _published_lines(
    published: Sequence[Theirs], axis: str, drawn: Drawn
) -> list[tuple[str, list[tuple[int, float, list[float]]]]]:
    """Name and points (x, speed, speeds of single runs) of each published series of more than one point."""
    groups: dict[tuple[str, tuple[Any, ...]], list[Theirs]] = {}
    for one in published:
        if one.published.in_figure and one.speed(drawn.experiment.speed):
            groups.setdefault((one.published.label, one.key.without((axis,))), []).append(one)
    several = {name: len({key for label, key in groups if label == name}) > 1 for name, _ in groups}
    lines = []
    for (label, _), members in groups.items():
        if len(members) > 1:
            members.sort(key=lambda one: one.key[axis])
            name = f"{label}, {_place(members[0].key, axis, groups)}" if several[label] else label
            metric = drawn.experiment.speed
            lines.append((name, [(one.key[axis], one.speed(metric) or 0, one.speeds(metric)) for one in members]))
    return lines


def _place(key: Key, axis: str, groups: Mapping[Any, Sequence[Theirs]]) -> str:
    """What tells a published series from the others."""
    firsts = [members[0].key for members in groups.values() if len(members) > 1]
    return " ".join(
        key.value_words(one.name)
        for one in key.axes
        if one.name != axis and len({other[one.name] for other in firsts}) > 1
    )


def _published_line(axes: Axes, line: Sequence[tuple[int, float, list[float]]], dashes: Any) -> None:
    axes.plot([x for x, *_ in line], [speed for _, speed, _ in line], color=drawing.MUTED, linewidth=1,
              linestyle=dashes, marker="x", markersize=5)  # fmt: skip
    for x, _, runs in line:
        if runs:
            axes.plot([x, x], [min(runs), max(runs)], color=drawing.MUTED, linewidth=0.8)


def _legend(series: Sequence[Series], published: Sequence[str], found: Sequence[Found]) -> list[Line2D]:
    entries = [Line2D([], [], color=one.colour, marker=one.marker, label=one.label) for one in series]
    if any(one["level"] == KNEE for one in found):
        ring = _RING | {"markersize": 9}
        entries.append(Line2D([], [], markeredgecolor=drawing.INK, label="knee", **ring))
    entries += [Line2D([], [], color=drawing.MUTED, linewidth=1, marker="x", markersize=5, label=label,
                       linestyle=_DASHES[at % len(_DASHES)]) for at, label in enumerate(published)]  # fmt: skip
    return [*entries, Line2D([], [], color=drawing.INK, linewidth=1, linestyle=":", label="in proportion")]
