"""What all functions get together, against N: does it grow with N?"""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from report.figures import drawing
from report.figures.series import Cell, Numbers, Series, by_memory, concurrencies, told
from report.phrases import bandwidth
from report.ways import Key, key_of_figures

NAME = "aggregate_throughput"
TITLE = "What all functions get together, against N"
READING = (
    "All bytes of a cell over the time from its first start to its last end, ramp and tail included (filled), and "
    "inside the full-overlap window only (hollow ring; none where N was never reached). The dashed line is the ideal: "
    "N times what one gets at the smallest N. Both axes are logarithmic, so the ideal is straight and a constant "
    "factor below it is a constant distance. One pass over a cell gives one aggregate and no interval; with repeats, "
    "the bar reaches from the lowest repeat to the highest."
)


def words(numbers: Numbers) -> str:
    """The picture's text alternative."""
    speeds = told(numbers, lambda cell: bandwidth(_whole(cell)) if _whole(cell) else None)
    return f"Throughput of all functions together, by N, beside a line in proportion to N for the ideal: {speeds}."


@drawing.styled
def draw(numbers: Numbers) -> Figure | None:
    """The picture; None without an aggregate."""
    groups = [series for series in by_memory(numbers) if any(_whole(cell) for cell in series.cells)]
    if not groups:
        return None
    figure, axes = drawing.plot()
    known = concurrencies(numbers)
    drawing.n_axis(axes, known)
    axes.set_yscale("log")
    highest = max(filter(None, (_whole(cell) for series in groups for cell in series.cells)))
    factor, unit = (1000, "Gbit/s") if highest >= 10_000 else (1, "Mbit/s")
    ideals = _ideals(numbers)
    for number, series in enumerate(groups):
        _series(axes, series, ideals, drawing.dodge(number, len(groups), known), factor)
    lowest, highest = axes.get_ylim()
    if highest / lowest < 100:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel(f"{unit} for all functions")
    legend = [Line2D([], [], color=one.colour, marker=one.marker, label=one.label, markersize=6) for one in groups]
    ring = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": drawing.MUTED, "markersize": 9}
    legend.append(Line2D([], [], linestyle="none", label="in the window", **ring))
    legend.append(Line2D([], [], color=drawing.MUTED, linestyle=(0, (5, 3)), label="ideal: N times the first"))
    drawing.legend_above(axes, legend)
    return figure


def _whole(cell: Cell) -> float | None:
    return cell["parallelism"] and cell["parallelism"]["mbit_per_s"]


def _in_window(cell: Cell) -> float | None:
    return cell["parallelism"] and (cell["parallelism"]["window"] or {}).get("mbit_per_s")


def _ideals(numbers: Numbers) -> Mapping[Key, Mapping[str, Any]]:
    """By cell: the comparison with the smallest N, which knows the ideal."""
    against = numbers["comparisons"]["against_smallest_n"]
    return {key_of_figures(one): one for one in against}


def _series(axes: Axes, series: Series, ideals: Mapping[Key, Any], dodge: float, factor: int) -> None:
    cells = [cell for cell in series.cells if _whole(cell)]
    if not cells:
        return
    colour, places = series.colour, [cell["concurrency"] * dodge for cell in cells]
    wholes = [_whole(cell) / factor for cell in cells]
    axes.plot(places, wholes, color=colour, linewidth=1.6, marker=series.marker, markersize=6)
    line = [(places[0], wholes[0])]
    for cell in cells[1:]:
        found = ideals.get(key_of_figures(cell))
        ideal = found and found["throughput"]["ideal_mbit_per_s"]
        if ideal:
            line.append((cell["concurrency"] * dodge, ideal / factor))
    axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.1, linestyle=(0, (5, 3)))
    for cell in cells:
        _extras(axes, cell, cell["concurrency"] * dodge, colour, factor)


def _extras(axes: Axes, cell: Cell, place: float, colour: str, factor: int) -> None:
    """The ring of the window, and the bar over the repeats."""
    inside = _in_window(cell)
    if inside:
        axes.plot(place, inside / factor, "o", markersize=9, markerfacecolor="none", markeredgecolor=colour)
    timed = [one["parallelism"] for one in cell["repeats"] if one["parallelism"]]
    repeats = [one["mbit_per_s"] / factor for one in timed if one["mbit_per_s"]]
    if len(repeats) > 1:
        axes.plot([place] * 2, [min(repeats), max(repeats)], color=colour, linewidth=1.8, marker="_", markersize=8)
