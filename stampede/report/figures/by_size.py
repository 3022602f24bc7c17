"""How many times as fast and as cheap one of two choices is, against the size of an object."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from stampede.phrases import decimal_size
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject
from stampede.report.statistics.by_size import VERBS

PANEL_IN = 2.5
# What each ratio is of, and at how many sizes a line is drawn.
TOOK, DRAWN_SIZES = {"speedup": "seconds", "cheapness": "usd"}, 100
MARKERS = {"write": "s", "read": "o"}
# What is done with an object, its bytes, how many times as fast.
Published = Sequence[tuple[str, float, float]]


class BySize(Picture):
    """A line a series in each part; None where none has more than one size."""

    name = "by-size"
    title = "{what} of {compared} relative to {base}"
    caption = (
        "{parts}. Above the line at 1 is the first variant in the title ahead, below it the second, where the bar, a "
        "95 % interval, leaves 1 out. Large hollow markers are published figures, small markers are measured sizes. "
        "Between them the time is interpolated, linearly in the bytes. Both axes are logarithmic."
    )

    def __init__(self, subject: Subject, compared: str, base: str, published: Published) -> None:
        self.compared, self.base, self.series = compared, base, subject.numbers["by_size"]
        self.is_priced = any(point["cheapness"] for series in self.series for point in series["points"])
        self.what, self.parts = "Speed", "How many times as fast one object is"
        if self.is_priced:
            self.what = "Speed and cost"
            self.parts = "Upper part: how many times as fast; lower part: how many times as cheap one object is"
        # The words of each series have what the title of another picture would say.
        super().__init__(replace(subject, common=""))
        self.published = published

    def description(self) -> str:
        parts = []
        for series in self.series:
            ratios = {
                kind: [
                    f"{point[kind]['value']:.2f} at {decimal_size(point['size_bytes'])}"
                    for point in series["points"]
                    if point[kind]
                ]
                for kind in TOOK
            }
            costs = f"; as cheap: {', '.join(ratios['cheapness'])}" if ratios["cheapness"] else ""
            parts.append(f"{series['words']}: {', '.join(ratios['speedup'])}{costs}")
        return f"{self.what} by object size. {'. '.join(parts)}."

    def draw(self) -> Figure | None:
        if not any(len(series["points"]) > 1 for series in self.series):
            return None
        kinds = [("speedup", "as fast")]
        if self.is_priced:
            kinds.append(("cheapness", "as cheap"))
        figure = Figure(figsize=(drawing.WIDTH_IN, PANEL_IN * len(kinds) + 0.9), layout="constrained")
        grid = figure.subplots(len(kinds), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (kind, label) in zip(grid, kinds, strict=True):
            for at, series in enumerate(self.series):
                if points := [point for point in series["points"] if point[kind]]:
                    _line(axes, points, kind, *drawing.look(at))
            axes.set_ylabel(f"times {label}")
        hollow = {"markerfacecolor": "none", "markeredgecolor": drawing.INK}
        for moves, size_bytes, speedup in self.published:
            grid[0].plot(size_bytes, speedup, MARKERS[moves], markersize=12, markeredgewidth=1.3, zorder=3, **hollow)
        for axes in grid:
            _scales(axes)
        grid[-1].set_xlabel("object size (logarithmic)")
        handles = []
        for at, series in enumerate(self.series):
            colour, marker = drawing.look(at)
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, label=series["words"]))
        for moves in sorted({moves for moves, *_ in self.published}):
            look = {"linestyle": "none", "marker": MARKERS[moves], "markersize": 10}
            handles.append(Line2D([], [], label=f"published, {VERBS[moves]}", **look, **hollow))
        drawing.legend_above(grid[0], handles)
        return figure


def _line(axes: Axes, points: Sequence[Mapping[str, Any]], kind: str, colour: str, marker: str) -> None:
    sizes, took = [point["size_bytes"] for point in points], TOOK[kind]
    between = np.union1d(sizes, np.geomspace(sizes[0], sizes[-1], DRAWN_SIZES))
    ours, base = (np.interp(between, sizes, [point[took][name] for point in points]) for name in ("ours", "base"))
    measured = np.searchsorted(between, sizes).tolist()
    axes.plot(between, base / ours, color=colour, linewidth=1.6, marker=marker, markersize=5, markevery=measured)
    for point in points:
        if point[kind]["low"] is not None:
            ends = [point[kind]["low"], point[kind]["high"]]
            axes.plot([point["size_bytes"]] * 2, ends, color=colour, linewidth=1.2)


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
