"""How many times as fast and as cheap one of two choices is, against the size of an object."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from stampede.phrases import decimal_size
from stampede.report.figures import drawing
from stampede.report.figures.series import Drawn
from stampede.report.statistics.by_size import VERBS

NAME = "by-size"
TITLE = "Time and cost against object size"
READING = (
    "Upper part: how many times as fast; lower part: how many times as cheap one object is. Above the line at 1 the "
    "first variant in the title wins, below it the second. Bars are 95 % intervals, large hollow markers are "
    "published figures, small markers are measured sizes. Between them the time is interpolated, linearly in the "
    "bytes; prices are exact at any size. Both axes are logarithmic."
)
PANEL_IN = 2.5
# What each ratio is of, and at how many sizes a line is drawn.
TOOK, DRAWN_SIZES = {"speedup": "seconds", "cheapness": "usd"}, 100
Published = Sequence[tuple[str, float, float]]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    parts = []
    for series in drawn.numbers["by_size"]:
        at = [f"{point['speedup']['value']:.2f} at {decimal_size(point['size_bytes'])}" for point in series["points"]]
        costs = [f"{point['cheapness']['value']:.2f} at {decimal_size(point['size_bytes'])}"
                 for point in series["points"] if point["cheapness"]]  # fmt: skip
        parts.append(f"{series['words']}: {', '.join(at)}" + (f"; as cheap: {', '.join(costs)}" if costs else ""))
    return f"Speedup and cost advantage by object size. {'. '.join(parts)}."


@drawing.styled
def draw(series: Sequence[Mapping[str, Any]], published: Published) -> Figure | None:
    """A line a series in each part; `published` are (the series' moves, bytes, times as fast). None without a
    series."""
    if not series:
        return None
    kinds = [("speedup", "as fast")]
    if any(point["cheapness"] for one in series for point in one["points"]):
        kinds.append(("cheapness", "as cheap"))
    figure = Figure(figsize=(drawing.WIDTH_IN, PANEL_IN * len(kinds) + 0.9), layout="constrained")
    grid = figure.subplots(len(kinds), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (kind, label) in zip(grid, kinds, strict=True):
        for at, one in enumerate(series):
            if points := [point for point in one["points"] if point[kind]]:
                _line(axes, points, kind, *drawing.look(at))
        axes.set_ylabel(f"times {label}")
    handles = _handles(series)
    marks = {"write": "s", "read": "o"}
    for moves, size_bytes, speedup in published:
        grid[0].plot(size_bytes, speedup, marks[moves], markersize=12, markerfacecolor="none", zorder=3,
                     markeredgecolor=drawing.INK, markeredgewidth=1.3)  # fmt: skip
    for moves in sorted({moves for moves, *_ in published}):
        handles.append(Line2D([], [], linestyle="none", marker=marks[moves], markersize=10, markerfacecolor="none",
                              markeredgecolor=drawing.INK, label=f"published, {VERBS[moves]}"))  # fmt: skip
    for axes in grid:
        _scales(axes)
    grid[-1].set_xlabel("object size (logarithmic)")
    drawing.legend_above(grid[0], handles)
    return figure


def _line(axes: Axes, points: Sequence[Mapping[str, Any]], kind: str, colour: str, marker: str) -> None:
    sizes, took = [one["size_bytes"] for one in points], TOOK[kind]
    between = np.union1d(sizes, np.geomspace(sizes[0], sizes[-1], DRAWN_SIZES))
    ours, base = (np.interp(between, sizes, [one[took][name] for one in points]) for name in ("ours", "base"))
    axes.plot(between, base / ours, color=colour, marker=marker, markersize=5, linewidth=1.6,
              markevery=np.searchsorted(between, sizes).tolist())  # fmt: skip
    for one in points:
        if one[kind]["low"] is not None:
            axes.plot([one["size_bytes"]] * 2, [one[kind]["low"], one[kind]["high"]], color=colour, linewidth=1.2)


def _scales(axes: Axes) -> None:
    drawing.plain(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(y=0.12)  # room for a large mark
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.8), max(high, 1.25))
    axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
    axes.axhline(1, color=drawing.INK, linewidth=1.2)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size_bytes, _: decimal_size(size_bytes)))
    axes.xaxis.set_minor_locator(NullLocator())


def _handles(series: Sequence[Mapping[str, Any]]) -> list[Line2D]:
    return [Line2D([], [], color=colour, marker=marker, markersize=5, label=one["words"])
            for one, (colour, marker) in ((one, drawing.look(at)) for at, one in enumerate(series))]  # fmt: skip
