"""What all functions get together, against N: does it grow with N?"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from stampede.cell import Cell
from stampede.experiment import is_of_n
from stampede.phrases import bandwidth
from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, end_labels, panels
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Series
from stampede.report.figures.throughput_per_function import ACROSS

DASHES = (0, (5, 3))
# The throughput of all functions in proportion to N, in Mbit/s, by cell.
Ideals = Mapping[Cell, float | None]


class AggregateThroughput(Picture):
    """None without an aggregate, or with one N only."""

    name = "aggregate_throughput"
    title = "Aggregate throughput against N"
    caption = (
        "Filled markers: all bytes of a cell over its elapsed time, ramp-up and tail included. Hollow rings: only "
        "within full overlap; there is none where N was never reached. The dashed line is the ideal: the throughput at "
        "the smallest N, scaled in proportion to N. Both axes are logarithmic, so a constant distance below the ideal "
        "is a constant factor. A single pass over a cell has no interval; with repeats, the bar spans the lowest to "
        "the highest repeat."
    )

    def description(self) -> str:
        speeds = self.subject.listing(lambda cell: bandwidth(mbit_per_s) if (mbit_per_s := _aggregate(cell)) else None)
        return f"Aggregate throughput of all functions by N, with a line in proportion to N as the ideal: {speeds}."

    def draw(self) -> Figure | None:
        groups, concurrencies = self.subject.series_with(_aggregate), self.subject.concurrencies
        if not groups or len(concurrencies) == 1:
            return None
        speeds = [[(key.n, speed) for key, cell in series.cells if (speed := _aggregate(cell))] for series in groups]
        highest = max(speed for line in speeds for _, speed in line)
        factor, unit = (1000, "Gbit/s") if highest >= 10_000 else (1, "Mbit/s")
        ideals, label = self._ideals(), f"{unit} for all functions"

        def panel(axes: Axes, series: Series) -> None:
            drawing.n_axis(axes, concurrencies, label="")
            _line(axes, series, ideals, 1, factor)

        if len(groups) > MOST_TOGETHER:
            return panels(groups, panel, label, _log_scale, ACROSS)
        figure, axes = drawing.plot()
        drawing.n_axis(axes, concurrencies)
        for number, series in enumerate(groups):
            _line(axes, series, ideals, drawing.dodge(number, len(groups), concurrencies), factor)
        _log_scale(axes)
        axes.set_ylabel(label)
        ring = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": drawing.MUTED, "markersize": 9}
        legend = [
            Line2D([], [], linestyle="none", label="in full overlap", **ring),
            Line2D([], [], color=drawing.MUTED, linestyle=DASHES, label="ideal: in proportion to N"),
        ]
        drawing.legend_above(axes, legend)
        lasts = [line[-1] for line in speeds]
        end_labels(axes, [(n, speed / factor, series) for (n, speed), series in zip(lasts, groups, strict=True)])
        return figure

    def _ideals(self) -> Ideals:
        """From the comparisons with the smallest N."""
        experiment, comparisons = self.subject.experiment, self.subject.numbers["comparisons"]
        of_n = [compare.name for compare in experiment.compare if is_of_n(experiment, compare)]
        rows = [row for name in of_n for row in comparisons[name]]
        return {self.subject.key(row): row["throughput"]["ideal_mbit_per_s"] for row in rows}


def _aggregate(cell: CellFigures) -> float | None:
    """In Mbit/s; None where nothing arrived, which a logarithmic axis can't show."""
    return (cell["parallelism"] or {}).get("mbit_per_s") or None


def _log_scale(axes: Axes) -> None:
    axes.set_yscale("log")
    lowest, highest = axes.get_ylim()
    if highest / lowest < 100:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _line(axes: Axes, series: Series, ideals: Ideals, dodge: float, factor: int) -> None:
    """One series with its ideal, the ring of full overlap, and a bar over the repeats."""
    cells = [(key, cell, speed / factor) for key, cell in series.cells if (speed := _aggregate(cell))]
    if not cells:
        return
    colour, places, speeds = series.colour, [key.n * dodge for key, *_ in cells], [speed for *_, speed in cells]
    axes.plot(places, speeds, color=colour, linewidth=1.6, marker=series.marker, markersize=6)
    ideal_line = [(places[0], speeds[0])]
    for key, *_ in cells[1:]:
        if ideal := ideals.get(key):
            ideal_line.append((key.n * dodge, ideal / factor))
    axes.plot(*zip(*ideal_line, strict=True), color=colour, linewidth=1.1, linestyle=DASHES)
    for place, (_, cell, _) in zip(places, cells, strict=True):
        in_window = (cell["parallelism"]["window"] or {}).get("mbit_per_s")
        if in_window:
            axes.plot(place, in_window / factor, "o", markersize=9, markerfacecolor="none", markeredgecolor=colour)
        timed = [repeat["parallelism"] for repeat in cell["repeats"] if repeat["parallelism"]]
        repeats = [part["mbit_per_s"] / factor for part in timed if part["mbit_per_s"]]
        if len(repeats) > 1:
            ends = [min(repeats), max(repeats)]
            axes.plot([place] * 2, ends, color=colour, linewidth=1.8, marker="_", markersize=8)
