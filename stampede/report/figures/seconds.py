"""Box plot of the seconds of one operation by cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from stampede.cell import Cell
from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, panels
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Series, Subject


class Seconds(Picture):
    """None without a time. `times` are the single ones of each cell, in seconds."""

    name = "seconds"
    title = "Seconds for one {operation}"
    caption = (
        "Each box is one cell. The box spans the middle half of its {operations} (p25 to p75), the line in it is the "
        "median, the marker the mean; the whiskers extend to the fastest and the slowest {operation}. Cells with fewer "
        "than {few} {operations} also show each of them as a dot, because so few make a box unreliable."
    )
    across_n = " Boxes at the same height for every N mean that times don’t grow with N."

    def __init__(self, subject: Subject, times: Mapping[Cell, Sequence[float]]) -> None:
        self.few = subject.numbers["rules"]["minimum_for_p5_p95"]
        if len(subject.concurrencies) > 1:
            self.caption += self.across_n
        super().__init__(subject)
        self.times = times
        self.label = f"seconds for one {self.operation}"

    def description(self) -> str:
        medians = self.subject.listing(lambda cell: f"{cell['seconds']['median_s']:.3g}" if cell["count"] else None)
        return f"Box plot of the seconds one {self.operation} took, by cell. Medians in seconds: {medians}."

    def draw(self) -> Figure | None:
        groups = self.subject.series_with(lambda cell: cell["count"] or None)
        if not groups:
            return None
        concurrencies = self.subject.concurrencies
        if len(concurrencies) == 1 and len(groups) > 1:
            return self._ranked(groups, concurrencies[0])
        positions = {n: at for at, n in enumerate(concurrencies)}
        is_crowded = len(positions) > (8 if len(groups) <= MOST_TOGETHER else 3)

        def boxes(axes: Axes, series: Series, offset: float = 0, width: float = 0.6) -> None:
            cells = [(key, cell) for key, cell in series.cells if cell["count"]]
            at = [positions[key.n] + offset for key, _ in cells]
            if cells:
                _boxes(axes, series, [cell for _, cell in cells], at, width, "vertical")
            for (key, cell), x in zip(cells, at, strict=True):
                if cell["count"] < self.few:
                    _dots(axes, series, *self._spread(key, x, 0.7 * width))
            axes.set_xticks(range(len(positions)), [f"N = {n:,}" for n in positions])
            axes.tick_params(axis="x", labelrotation=60 if is_crowded else 0)
            axes.set_xlim(-0.6, len(positions) - 0.4)

        if len(groups) > MOST_TOGETHER:
            return panels(groups, boxes, self.label, lambda axes: axes.set_ylim(bottom=0))
        figure, axes = drawing.plot()
        step = 0.8 / len(groups)
        for number, series in enumerate(groups):
            boxes(axes, series, (number - (len(groups) - 1) / 2) * step, 0.74 * step)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(self.label)
        if len(groups) > 1:
            drawing.legend_above(axes)
        return figure

    def _ranked(self, groups: Sequence[Series], n: int) -> Figure:
        """One N only: a box a line, the fastest on top."""
        lines = sorted(
            ((series, *series.cells[0]) for series in groups), key=lambda line: line[2]["seconds"]["median_s"]
        )
        figure, axes = drawing.lines([series.label for series, *_ in lines], 0.34)
        for at, (series, key, cell) in enumerate(lines):
            _boxes(axes, series, [cell], [at], 0.6, "horizontal")
            if cell["count"] < self.few:
                up, across = self._spread(key, at, 0.4)
                _dots(axes, series, across, up)
        # Room for the mark of the slowest.
        axes.set_xlim(0, 1.03 * max(cell["seconds"]["max_s"] for *_, cell in lines))
        axes.set_xlabel(f"{self.label} at N = {n:,}")
        return figure

    def _spread(self, key: Cell, at: float, width: float) -> tuple[list[float], Sequence[float]]:
        """Where each time of a cell stands, sideways in turn so that equal ones stay apart, and the times."""
        times_s = self.times.get(key, ())
        return [at + width * ((number * 0.618) % 1 - 0.5) for number in range(len(times_s))], times_s


def _boxes(
    axes: Axes, series: Series, cells: Sequence[CellFigures], at: Sequence[float], width: float, orientation: str
) -> None:
    colour = series.colour
    line: dict[str, Any] = {"color": colour, "linewidth": 1.4}
    names = {"whislo": "min_s", "q1": "p25_s", "med": "median_s", "mean": "mean_s", "q3": "p75_s", "whishi": "max_s"}
    artists = axes.bxp(
        [{name: cell["seconds"][ours] for name, ours in names.items()} | {"fliers": []} for cell in cells],
        positions=at,
        widths=width,
        orientation=orientation,
        manage_ticks=False,  # it would number the boxes in place of their names
        showmeans=True,
        patch_artist=True,
        boxprops={"facecolor": to_rgba(colour, 0.22), "edgecolor": colour, "linewidth": 1.2},
        medianprops={"color": colour, "linewidth": 2.4, "solid_capstyle": "butt"},
        whiskerprops=line,
        capprops=line,
        meanprops={
            "marker": series.marker,
            "markersize": 6,
            "markerfacecolor": colour,
            "markeredgecolor": drawing.PAPER,
            "markeredgewidth": 0.9,
        },
    )
    artists["means"][0].set_label(series.label)


def _dots(axes: Axes, series: Series, across: Sequence[float], up: Sequence[float]) -> None:
    axes.plot(across, up, ".", color=series.colour, markersize=4, markeredgewidth=0, alpha=0.8, zorder=4)
