"""What one function gets, against N: does it hold? With one N only: which gets most?"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from stampede.cell import Cell
from stampede.phrases import speed
from stampede.report.figures import drawing, ranked
from stampede.report.figures.panels import MOST_TOGETHER, end_labels, panels
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Series, Subject

ACROSS = "N (logarithmic)"
_DASHED = {"linewidth": 1.1, "linestyle": (0, (5, 3))}
_PUBLISHED = {"color": drawing.MUTED, "linewidth": 1, "marker": "x", "markersize": 5}
# The published speed of a cell, in Mbit/s, and whose it is.
Theirs = Mapping[Cell, tuple[str, float]]


class ThroughputPerFunction(Picture):
    """None without a speed. `published` are speeds of cells like these on AWS, drawn as muted lines."""

    name = "throughput_per_function"
    title = "Throughput per function against N"
    caption = (
        "Each marker is the bytes of one {operation} over the mean time, the bar the 95 % interval (hollow marker: "
        "it has none). The dashed line is the ideal: the throughput at the smallest N. Markers on "
        "it mean that throughput per function holds; markers below it, that it falls."
    )

    def __init__(self, subject: Subject, published: Theirs) -> None:
        self.concurrencies = subject.concurrencies
        if len(self.concurrencies) == 1:
            self.title, self.caption = ranked.TITLE, ranked.CAPTION
        super().__init__(subject)
        self.published = published

    def description(self) -> str:
        speeds = self.subject.listing(lambda cell: None if _speed(cell) is None else speed(_speed(cell)))
        return f"Mean Mbit/s of one function by N, with a flat line as the ideal: {speeds}."

    def draw(self) -> Figure | None:
        groups, label = self.subject.series_with(_speed), "Mbit/s for one function"
        if not groups:
            return None
        if len(self.concurrencies) == 1:
            lines = [
                (series.label, _speed(cell), _interval(cell), series) for series in groups for _, cell in _known(series)
            ]
            return ranked.ranked(lines, f"{label} at N = {self.concurrencies[0]:,}")
        if len(groups) > MOST_TOGETHER:
            return panels(groups, lambda axes, series: self._panel(axes, series, groups), label, _scale, ACROSS)
        figure, axes = drawing.plot()
        drawing.n_axis(axes, self.concurrencies)
        for number, series in enumerate(groups):
            self._line(axes, series, drawing.dodge(number, len(groups), self.concurrencies))
        _scale(axes)
        axes.set_ylabel(label)
        legend = [Line2D([], [], color=drawing.MUTED, label="ideal: as at the smallest N", **_DASHED)]
        drawing.legend_above(axes, [*legend, *self._published_lines(axes)])
        lasts = [(*_known(series)[-1], series) for series in groups]
        end_labels(axes, [(key.n, _speed(cell), series) for key, cell, series in lasts])
        return figure

    def _panel(self, axes: Axes, series: Series, groups: list[Series]) -> None:
        """One series, the others behind it in grey."""
        drawing.n_axis(axes, self.concurrencies, label="")
        for other in groups:
            if other is not series:
                points = [(key.n, _speed(cell)) for key, cell in _known(other)]
                axes.plot(*zip(*points, strict=True), color=drawing.GRID, linewidth=1, zorder=1)
        self._line(axes, series, 1)

    def _line(self, axes: Axes, series: Series, dodge: float) -> None:
        colour, cells = series.colour, _known(series)
        places, speeds = [key.n * dodge for key, _ in cells], [_speed(cell) for _, cell in cells]
        axes.plot(places, speeds, color=colour, linewidth=1.6)
        axes.plot([places[0], max(self.concurrencies) * dodge], [speeds[0]] * 2, color=colour, **_DASHED)
        for place, (_, cell) in zip(places, cells, strict=True):
            interval = _interval(cell)
            if interval:
                axes.plot([place] * 2, [interval["low"], interval["high"]], color=colour, linewidth=1.8)
                for end in (interval["low"], interval["high"]):
                    axes.plot(place, end, "_", color=colour, markersize=8, markeredgewidth=1.6)
            face = colour if interval else drawing.PAPER
            axes.plot(place, _speed(cell), series.marker, markersize=7, markerfacecolor=face, markeredgecolor=colour)

    def _published_lines(self, axes: Axes) -> list[Line2D]:
        """A muted line for the published cells of each series; their legend entries."""
        labels = []
        for series in self.subject.series:
            theirs = [(key.n, *self.published[key]) for key, _ in series.cells if key in self.published]
            if theirs:
                axes.plot([n for n, *_ in theirs], [mbit_per_s for *_, mbit_per_s in theirs], **_PUBLISHED)
                labels.append(theirs[0][1])
        return [Line2D([], [], label=label, **_PUBLISHED) for label in dict.fromkeys(labels)]


def _speed(cell: CellFigures) -> float | None:
    return cell["mbit_per_s"]["per_function"]


def _interval(cell: CellFigures) -> Mapping[str, float] | None:
    return cell["mbit_per_s"]["per_function_interval"]


def _known(series: Series) -> list[tuple[Cell, CellFigures]]:
    """The cells with a speed."""
    return [(key, cell) for key, cell in series.cells if _speed(cell) is not None]


def _scale(axes: Axes) -> None:
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.08)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
