"""How the rate went over time, two small plots a cell: what came through and what was turned down, and what was in
flight."""

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stampede.report.figures import drawing
from stampede.report.figures.series import Drawn
from stampede.report.trajectories import Trajectory

NAME = "rate"
TITLE = "Copy rate over time"
READING = (
    "Two plots per cell, of its median {one}. Above: objects copied per second, and filled, calls per second that S3 "
    "answered with SlowDown. Below: calls in flight. An adaptive pace rises until S3 throttles it, backs off and rises "
    "again; a fixed pace stays at its setting."
)
MOST_CELLS, COLUMNS, CELL_IN = 8, 2, 2.35
TITLE_LETTERS = 30
_LIMIT = {"color": drawing.INK, "linewidth": 1, "linestyle": (0, (4, 3))}
COPIED, SLOWED, FLYING = drawing.SERIES[0], drawing.SERIES[1], drawing.SERIES[2]


def chosen(found: Sequence[Trajectory]) -> list[Trajectory]:
    """Those that are drawn: first the ones that find their pace, then those that were turned down most."""
    ranked = sorted(found, key=lambda one: (one.pace == "fixed", -one.slowdowns, [-at for at in _numbers(one)]))
    return sorted(ranked[:MOST_CELLS], key=lambda one: one.key)


def _numbers(one: Trajectory) -> list[int]:
    return [value for value in one.key.values if isinstance(value, int)]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    return (
        "Objects copied per second, calls throttled per second, and calls in flight, over time; the "
        "table has the figures."
    )


@drawing.styled
def draw(shown: Sequence[Trajectory], labels: Sequence[str], limit_per_s: float | None) -> Figure | None:
    """The picture; None without any. `labels` name them, `limit_per_s` is a line across."""
    if not shown:
        return None
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(drawing.WIDTH_IN, CELL_IN * rows + 0.7), layout="constrained")
    outer = figure.add_gridspec(rows, columns)
    for at, one in enumerate(shown):
        inner = outer[at // columns, at % columns].subgridspec(2, 1, height_ratios=(2, 1), hspace=0.06)
        above = figure.add_subplot(inner[0])
        below = figure.add_subplot(inner[1], sharex=above)
        _rates(above, one, limit_per_s)
        _flight(below, one)
        above.set_title(fill(labels[at], TITLE_LETTERS), fontsize=10.5, loc="left", pad=4)
    figure.supxlabel("seconds since the first call", fontsize=11)
    figure.legend(handles=_legend(limit_per_s), loc="outside upper center", ncols=2)
    return figure


def _rates(axes: Axes, one: Trajectory, limit_per_s: float | None) -> None:
    _plain(axes)
    axes.fill_between(one.at_s, one.slowdowns_per_s, color=SLOWED, alpha=0.45, linewidth=0)
    axes.plot(one.at_s, one.copied_per_s, color=COPIED, linewidth=1.5)
    if limit_per_s:
        axes.axhline(limit_per_s, **_LIMIT)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelbottom=False)


def _flight(axes: Axes, one: Trajectory) -> None:
    _plain(axes)
    axes.plot(one.at_s, one.in_flight, color=FLYING, linewidth=1.3)
    axes.set_ylim(0, max(1, one.in_flight.max()) * 1.15)
    axes.set_xlim(0, one.at_s[-1])


def _plain(axes: Axes) -> None:
    drawing.plain(axes)
    axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _legend(limit_per_s: float | None) -> list[Line2D | Patch]:
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=COPIED, label="copied per second"),
        Patch(facecolor=SLOWED, alpha=0.45, label="SlowDown per second"),
        Line2D([], [], color=FLYING, label="calls in flight"),
    ]
    if limit_per_s:
        entries.append(Line2D([], [], label=f"{limit_per_s:,.0f} per second and prefix (S3’s guide)", **_LIMIT))
    return entries
