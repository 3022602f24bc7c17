"""Measured against predicted: the mean seconds of one operation over what the model said, a line a cell."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stampede.experiment.declaration import n_axis
from stampede.phrases import listed, significant
from stampede.report.figures import drawing
from stampede.report.figures.series import Drawn
from stampede.report.statistics.prediction import axes_of
from stampede.report.statistics.rules import SHORTEST_S
from stampede.runs.cell_key import Key, distinguishing

NAME = "predicted_seconds"
TITLE = "Seconds for one {one}: measured over predicted"
READING = (
    "Each line is one cell. At 1 the mean {one} took as long as predicted, right of 1 longer, left of 1 shorter. The "
    "shaded bar is the predicted range, the line through the marker the interval of the measured mean. A filled marker "
    "means that they overlap, a hollow one a miss. The seconds on the right are predicted → measured. The axis is "
    "logarithmic."
)
# Beyond this the picture is longer than anyone scrolls: those furthest off are drawn, and the table has them all.
MOST_LINES = 40
LINE_IN, NAME_LINE_IN, NAME_LETTERS = 0.3, 0.21, 32
# How far a bar is drawn that begins at 0, which has no place on a logarithmic axis.
LEAST = 0.1
Row = Mapping[str, Any]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    told = [f"{_seconds(row)} with {key.words}" for key, row in _lines(drawn)]
    return f"Mean seconds of one {drawn.operation[0]} by cell, predicted → measured: {listed(told)}."


@drawing.styled
def draw(drawn: Drawn) -> Figure | None:
    """The picture; None where nothing has both a prediction and a time."""
    lines = _lines(drawn)
    if not lines:
        return None
    of_n = (n_axis(drawn.experiment.axes),)
    places = sorted({key.without(of_n) for key, _ in lines})
    names = [fill(name, NAME_LETTERS) for name in _names([key for key, _ in lines])]
    line_in = max(LINE_IN, NAME_LINE_IN * (1 + max(name.count("\n") for name in names)))
    figure, axes = drawing.lines(names, line_in, rest_in=1.2)
    for at, (key, row) in enumerate(lines):
        one, (colour, marker) = row["avg_s"], drawing.look(places.index(key.without(of_n)))
        if one["low"] is not None:
            low, high = (max(one[end] / one["predicted"], LEAST) for end in ("low", "high"))
            axes.barh(at, high - low, 0.6, low, color=drawing.MUTED, alpha=0.22, linewidth=0)
        if one["interval"]:
            ends = [max(one["interval"][end] / one["predicted"], LEAST) for end in ("low", "high")]
            axes.plot(ends, [at, at], color=colour, linewidth=2)
        face = drawing.PAPER if one["inside"] is False else colour
        axes.plot(one["measured"] / one["predicted"], at, marker, markersize=7, markerfacecolor=face,
                  markeredgecolor=colour)  # fmt: skip
        axes.text(1.02, at, _seconds(row), transform=axes.get_yaxis_transform(), va="center", color=drawing.MUTED,
                  fontsize=10)  # fmt: skip
    drawing.ratio_axis(axes, f"mean seconds of one {drawn.operation[0]}, measured over predicted")
    drawing.legend_above(axes, _legend())
    return figure


def left_out(drawn: Drawn) -> int:
    """How many cells with both the picture has no room for."""
    return max(0, len(_comparable(drawn)) - MOST_LINES)


def _lines(drawn: Drawn) -> list[tuple[Key, Row]]:
    """The cells that are drawn, in their order."""
    rows = _comparable(drawn)
    off = sorted(rows, key=lambda row: -abs(math.log(row["avg_s"]["measured"] / row["avg_s"]["predicted"])))
    chosen, axes = off[:MOST_LINES], axes_of(drawn.experiment)
    return [(Key.of_figures(axes, row), row) for row in rows if any(row is one for one in chosen)]


def _names(keys: Sequence[Key]) -> list[str]:
    """What tells these cells apart, beside N; the title says what they have in common."""
    told, of_n = distinguishing(keys), n_axis(keys[0].axes)
    shared = [axis.name for axis in keys[0].axes if axis.name != of_n and len({key[axis.name] for key in keys}) == 1]
    return [key.words_without(shared, told) or key.words for key in keys]


def _comparable(drawn: Drawn) -> Sequence[Row]:
    """Those with a place on a logarithmic axis; where no operation was to succeed, nothing was predicted."""
    rows = [row for row in (drawn.numbers["prediction"] or {"cells": []})["cells"] if row["avg_s"]]
    return [row for row in rows if min(row["avg_s"]["measured"], row["avg_s"]["predicted"] or 0) >= SHORTEST_S]


def _seconds(row: Row) -> str:
    return f"{significant(row['avg_s']['predicted'])} → {significant(row['avg_s']['measured'])} s"


def _legend() -> list[Line2D | Patch]:
    mark = {"color": drawing.MUTED, "marker": "o", "linestyle": "none", "markersize": 7}
    return [
        Patch(facecolor=drawing.MUTED, alpha=0.22, label="predicted"),
        Line2D([], [], label="measured", **mark),
        Line2D([], [], label="miss", markerfacecolor=drawing.PAPER, **mark),
    ]
