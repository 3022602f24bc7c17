"""Measured against predicted: the mean seconds of one operation over what the model said, a line a cell."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stampede.cell import Cell, distinguishing
from stampede.experiment import n_axis
from stampede.phrases import significant
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject
from stampede.report.statistics.prediction import axes_of
from stampede.report.statistics.rules import SHORTEST_S

# Beyond this the picture is longer than anyone scrolls: those furthest off are drawn, and the table has them all.
MOST_LINES = 40
LINE_IN = 0.3
# How far to the left anything is drawn: a logarithmic axis has no place for a bar that begins at 0.
LEAST = 0.1


class PredictedSeconds(Picture):
    """None where nothing has both a prediction and a time."""

    name = "predicted_seconds"
    title = "Seconds for one {operation}: measured over predicted"
    caption = (
        "Each line is one cell. At 1 the mean {operation} took as long as predicted, right of 1 longer, left of 1 "
        "shorter. The shaded bar is the predicted range. The line through the marker is the interval of the measured "
        "mean; a few {operations} have none. A filled marker lies within the range, or its interval reaches it; a "
        "hollow one is a miss. The seconds on the right are predicted → measured. The axis is logarithmic."
    )

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        predicted = subject.numbers["prediction"] or {"cells": []}
        # Those with a place on a logarithmic axis; where no operation was to succeed, nothing was predicted.
        rows = [row for row in predicted["cells"] if row["avg_s"]]
        rows = [row for row in rows if min(row["avg_s"]["measured"], row["avg_s"]["predicted"] or 0) >= SHORTEST_S]
        furthest = sorted(rows, key=lambda row: -abs(math.log(row["avg_s"]["measured"] / row["avg_s"]["predicted"])))
        drawn = {id(row) for row in furthest[:MOST_LINES]}
        axes = axes_of(subject.experiment)
        self.lines = [(Cell.of_figures(axes, row), row["avg_s"]) for row in rows if id(row) in drawn]
        if any(_is_cut(figures) for _, figures in self.lines):
            self.caption += f" A range or interval that goes below {LEAST:g} × is cut off there."
        # How many of them the picture has no room for.
        self.left_out = len(rows) - len(self.lines)

    def description(self) -> str:
        seconds = "; ".join(f"{_seconds(figures)} with {key.words}" for key, figures in self.lines)
        return f"Mean seconds of one {self.operation} by cell, predicted → measured: {seconds}."

    def draw(self) -> Figure | None:
        if not self.lines:
            return None
        keys = [key for key, _ in self.lines]
        of_n = (n_axis(self.subject.experiment.axes),)
        places = sorted({key.without(of_n) for key in keys})
        figure, axes = drawing.lines(_names(keys), LINE_IN, rest_in=1.2)
        for at, (key, figures) in enumerate(self.lines):
            colour, marker = drawing.look(places.index(key.without(of_n)))
            predicted, interval = figures["predicted"], figures["interval"]
            if figures["low"] is not None:
                low, high = (max(figures[end] / predicted, LEAST) for end in ("low", "high"))
                axes.barh(at, high - low, 0.6, low, color=drawing.MUTED, alpha=0.22, linewidth=0)
            if interval:
                ends = [max(interval[end] / predicted, LEAST) for end in ("low", "high")]
                axes.plot(ends, [at, at], color=colour, linewidth=2)
            look = {"markersize": 7, "markerfacecolor": drawing.PAPER if figures["inside"] is False else colour}
            axes.plot(figures["measured"] / predicted, at, marker, markeredgecolor=colour, **look)
            beside = {"transform": axes.get_yaxis_transform(), "va": "center", "color": drawing.MUTED}
            axes.text(1.02, at, _seconds(figures), fontsize=10, **beside)
        drawing.ratio_axis(axes, f"mean seconds of one {self.operation}, measured over predicted")
        mark = {"color": drawing.MUTED, "marker": "o", "linestyle": "none", "markersize": 7}
        legend = [
            Patch(facecolor=drawing.MUTED, alpha=0.22, label="predicted"),
            Line2D([], [], label="measured", **mark),
            Line2D([], [], label="miss", markerfacecolor=drawing.PAPER, **mark),
        ]
        drawing.legend_above(axes, legend)
        return figure


def _is_cut(figures: Mapping[str, Any]) -> bool:
    """Whether its range or interval begins left of the picture."""
    begins = [figures["low"], (figures["interval"] or {}).get("low")]
    return any(low is not None and low / figures["predicted"] < LEAST for low in begins)


def _names(keys: Sequence[Cell]) -> list[str]:
    """What tells these cells apart, beside N; the title says what they have in common."""
    of_n, shown_axes = n_axis(keys[0].axes), distinguishing(keys)
    shared = [axis.name for axis in keys[0].axes if axis.name != of_n and len({key[axis.name] for key in keys}) == 1]
    return [key.words_without(shared, shown_axes) or key.words for key in keys]


def _seconds(figures: Mapping[str, Any]) -> str:
    return f"{significant(figures['predicted'])} → {significant(figures['measured'])} s"
