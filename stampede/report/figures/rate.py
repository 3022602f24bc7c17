"""How the rate went over time, two small plots a cell: what was copied and what S3 throttled, and what was in
flight."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stampede.cell import distinguishing
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject
from stampede.report.trajectories import Trajectory

MOST_CELLS, COLUMNS, CELL_IN = 8, 2, 2.35
TITLE_LETTERS = 30
_LIMIT = {"color": drawing.INK, "linewidth": 1, "linestyle": (0, (4, 3))}
COPIED, SLOWED, FLYING = drawing.SERIES[0], drawing.SERIES[1], drawing.SERIES[2]


class Rate(Picture):
    """At most MOST_CELLS of the trajectories; `limit_per_s` is a line across."""

    name = "rate"
    title = "Copy rate over time"
    caption = (
        "Two plots per cell, of its median {operation}. Above: objects copied per second, and filled, calls per second "
        "that S3 answered with SlowDown. Below: calls in flight. An adaptive pace rises until S3 throttles it, backs "
        "off and rises again; with a fixed pace the calls in flight stay at or below the limit, however S3 answers."
    )

    def __init__(self, subject: Subject, trajectories: Sequence[Trajectory], limit_per_s: float | None) -> None:
        super().__init__(subject)
        shown_axes = distinguishing(trajectory.key for trajectory in trajectories)
        shown = sorted(sorted(trajectories, key=_rank)[:MOST_CELLS], key=lambda trajectory: trajectory.key)
        self.trajectories = [(trajectory.key.words_without((), shown_axes), trajectory) for trajectory in shown]
        self.left_out = len(trajectories) - len(shown)
        self.limit_per_s = limit_per_s

    def description(self) -> str:
        return (
            "Objects copied per second, calls throttled per second, and calls in flight, over time; the "
            "table has the means and maxima of each cell’s median copy run."
        )

    def draw(self) -> Figure:
        columns = min(COLUMNS, len(self.trajectories))
        rows = -(-len(self.trajectories) // columns)
        figure = Figure(figsize=(drawing.WIDTH_IN, CELL_IN * rows + 0.7), layout="constrained")
        outer = figure.add_gridspec(rows, columns)
        for at, (label, trajectory) in enumerate(self.trajectories):
            inner = outer[at // columns, at % columns].subgridspec(2, 1, height_ratios=(2, 1), hspace=0.06)
            above = figure.add_subplot(inner[0])
            below = figure.add_subplot(inner[1], sharex=above)
            self._rates(above, trajectory)
            _flight(below, trajectory)
            above.set_title(fill(label, TITLE_LETTERS), fontsize=10.5, loc="left", pad=4)
        figure.supxlabel("seconds since the first call", fontsize=11)
        legend: list[Line2D | Patch] = [
            Line2D([], [], color=COPIED, label="copied per second"),
            Patch(facecolor=SLOWED, alpha=0.45, label="SlowDown per second"),
            Line2D([], [], color=FLYING, label="calls in flight"),
        ]
        if self.limit_per_s:
            legend.append(Line2D([], [], label=f"{self.limit_per_s:,.0f} per second and prefix (S3’s guide)", **_LIMIT))
        figure.legend(handles=legend, loc="outside upper center", ncols=2)
        return figure

    def _rates(self, axes: Axes, trajectory: Trajectory) -> None:
        _plain(axes)
        axes.fill_between(trajectory.at_s, trajectory.slowdowns_per_s, color=SLOWED, alpha=0.45, linewidth=0)
        axes.plot(trajectory.at_s, trajectory.copied_per_s, color=COPIED, linewidth=1.5)
        if self.limit_per_s:
            axes.axhline(self.limit_per_s, **_LIMIT)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelbottom=False)


def _rank(trajectory: Trajectory) -> tuple[Any, ...]:
    """First those that find their pace, then those that S3 throttled most, then the largest settings."""
    settings = [-value for value in trajectory.key.coordinates if isinstance(value, int)]
    return trajectory.pace == "fixed", -trajectory.slowdowns, settings


def _flight(axes: Axes, trajectory: Trajectory) -> None:
    _plain(axes)
    axes.plot(trajectory.at_s, trajectory.in_flight, color=FLYING, linewidth=1.3)
    axes.set_ylim(0, max(1, trajectory.in_flight.max()) * 1.15)
    axes.set_xlim(0, trajectory.at_s[-1])


def _plain(axes: Axes) -> None:
    drawing.plain(axes)
    axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
