"""What all functions get together, against N: does it grow with N?"""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from stampede.experiment.declaration import is_of_n
from stampede.phrases import bandwidth
from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, end_labels, panels
from stampede.report.figures.series import Cell, Drawn, Series
from stampede.report.figures.throughput_per_function import ACROSS
from stampede.runs.cell_key import Key

NAME = "aggregate_throughput"
TITLE = "Aggregate throughput against N"
READING = (
    "Filled markers: all bytes of a cell over its elapsed time, ramp-up and tail included. Hollow rings: only "
    "within full overlap; there is none where N was never reached. The dashed line is the ideal: the throughput at "
    "the smallest N, scaled in proportion to N. Both axes are logarithmic, so a constant distance below the ideal "
    "is a constant factor. A single pass over a cell has no interval; with repeats, the bar spans the lowest to the "
    "highest repeat."
)
Ideals = Mapping[Key, Mapping[str, Any]]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    speeds = drawn.told(lambda cell: bandwidth(_whole(cell)) if _whole(cell) else None)
    return f"Aggregate throughput of all functions by N, with a line in proportion to N as the ideal: {speeds}."


@drawing.styled
def draw(drawn: Drawn) -> Figure | None:
    """The picture; None without an aggregate, or with one N only."""
    groups, known = drawn.chosen(_whole), drawn.concurrencies
    if not groups or len(known) == 1:
        return None
    highest = max(speed for one in groups for _, cell in one.cells if (speed := _whole(cell)))
    factor, unit = (1000, "Gbit/s") if highest >= 10_000 else (1, "Mbit/s")
    ideals, label = _ideals(drawn), f"{unit} for all functions"

    def panel(axes: Axes, one: Series) -> None:
        drawing.n_axis(axes, known, label="")
        _series(axes, one, ideals, 1, factor)

    if len(groups) > MOST_TOGETHER:
        return panels(groups, panel, label, _log_scale, ACROSS)
    figure, axes = drawing.plot()
    drawing.n_axis(axes, known)
    for number, one in enumerate(groups):
        _series(axes, one, ideals, drawing.dodge(number, len(groups), known), factor)
    _log_scale(axes)
    axes.set_ylabel(label)
    ring = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": drawing.MUTED, "markersize": 9}
    legend = [
        Line2D([], [], linestyle="none", label="in full overlap", **ring),
        Line2D([], [], color=drawing.MUTED, linestyle=(0, (5, 3)), label="ideal: in proportion to N"),
    ]
    drawing.legend_above(axes, legend)
    lasts = [[(key.n, _whole(cell) / factor) for key, cell in one.cells if _whole(cell)][-1] for one in groups]
    end_labels(axes, [(*last, one) for last, one in zip(lasts, groups, strict=True)])
    return figure


def _log_scale(axes: Axes) -> None:
    axes.set_yscale("log")
    lowest, highest = axes.get_ylim()
    if highest / lowest < 100:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _whole(cell: Cell) -> float | None:
    """The aggregate throughput in Mbit/s; None where nothing arrived, which a logarithmic axis can't show."""
    return (cell["parallelism"] or {}).get("mbit_per_s") or None


def _in_window(cell: Cell) -> float | None:
    return cell["parallelism"] and (cell["parallelism"]["window"] or {}).get("mbit_per_s")


def _ideals(drawn: Drawn) -> Ideals:
    """By cell: the comparison with the smallest N, which knows the ideal."""
    of_n = [one.name for one in drawn.experiment.compare if is_of_n(drawn.experiment, one)]
    rows = [row for name in of_n for row in drawn.numbers["comparisons"][name]]
    return {Key.of_figures(drawn.experiment.axes, row): row for row in rows}


def _series(axes: Axes, series: Series, ideals: Ideals, dodge: float, factor: int) -> None:
    cells = [(key, cell) for key, cell in series.cells if _whole(cell)]
    if not cells:
        return
    colour, places = series.colour, [key.n * dodge for key, _ in cells]
    wholes = [_whole(cell) / factor for _, cell in cells]
    axes.plot(places, wholes, color=colour, linewidth=1.6, marker=series.marker, markersize=6)
    line = [(places[0], wholes[0])]
    for key, _ in cells[1:]:
        found = ideals.get(key)
        ideal = found and found["throughput"]["ideal_mbit_per_s"]
        if ideal:
            line.append((key.n * dodge, ideal / factor))
    axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.1, linestyle=(0, (5, 3)))
    for key, cell in cells:
        _extras(axes, cell, key.n * dodge, colour, factor)


def _extras(axes: Axes, cell: Cell, place: float, colour: str, factor: int) -> None:
    """The ring of the window, and the bar over the repeats."""
    inside = _in_window(cell)
    if inside:
        axes.plot(place, inside / factor, "o", markersize=9, markerfacecolor="none", markeredgecolor=colour)
    timed = [one["parallelism"] for one in cell["repeats"] if one["parallelism"]]
    repeats = [one["mbit_per_s"] / factor for one in timed if one["mbit_per_s"]]
    if len(repeats) > 1:
        axes.plot([place] * 2, [min(repeats), max(repeats)], color=colour, linewidth=1.8, marker="_", markersize=8)
