"""What one function gets, against N: does it hold? With one N only: which gets most?"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from stampede.phrases import speed
from stampede.report.figures import drawing, ranked
from stampede.report.figures.panels import MOST_TOGETHER, end_labels, panels
from stampede.report.figures.series import Cell, Drawn, Series
from stampede.runs.cell_key import Key

NAME = "throughput_per_function"
TITLE = "Throughput per function against N"
READING = (
    "Each marker is the bytes of one {one} over the mean time, the bar the 95 % interval (hollow marker: too few "
    "{many} for an interval). The dashed line is the ideal: the throughput at the smallest N. Markers on it mean "
    "that throughput per function holds; markers below it mean that the functions share a limit."
)
ACROSS = "N (logarithmic)"
_DASHED = {"linewidth": 1.1, "linestyle": (0, (5, 3))}
# The published speed of a cell, in Mbit/s, and whose it is.
Theirs = Mapping[Key, tuple[str, float]]


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    speeds = drawn.told(lambda cell: speed(_speed(cell)) if _speed(cell) is not None else None)
    return f"Mean Mbit/s of one function by N, with a flat line as the ideal: {speeds}."


@drawing.styled
def draw(drawn: Drawn, published: Theirs) -> Figure | None:
    """The picture; None without a speed. `published` are speeds of cells like these on AWS, drawn as muted lines."""
    groups, known = drawn.chosen(_speed), drawn.concurrencies
    if not groups:
        return None
    if len(known) == 1:
        return ranked.draw([(one.label, _speed(cell), _interval(cell), one) for one in groups
                            for _, cell in one.cells if _speed(cell) is not None],
                           f"Mbit/s for one function at N = {known[0]:,}")  # fmt: skip
    label = "Mbit/s for one function"
    if len(groups) > MOST_TOGETHER:
        return panels(groups, lambda axes, one: _panel(axes, one, groups, known), label, _look, ACROSS)
    figure, axes = drawing.plot()
    drawing.n_axis(axes, known)
    for number, one in enumerate(groups):
        _series(axes, one, drawing.dodge(number, len(groups), known), max(known))
    _look(axes)
    axes.set_ylabel(label)
    legend = [Line2D([], [], color=drawing.MUTED, label="ideal: as at the smallest N", **_DASHED)]
    legend += _published(axes, drawn, published)
    drawing.legend_above(axes, legend)
    end_labels(axes, [(*_last(one), one) for one in groups])
    return figure


def _panel(axes: Axes, series: Series, groups: list[Series], known: list[int]) -> None:
    """One series, the others behind it in grey."""
    drawing.n_axis(axes, known, label="")
    for other in groups:
        if other is not series:
            cells = [(key.n, _speed(cell)) for key, cell in other.cells if _speed(cell) is not None]
            axes.plot(*zip(*cells, strict=True), color=drawing.GRID, linewidth=1, zorder=1)
    _series(axes, series, 1, max(known))


def _look(axes: Axes) -> None:
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.08)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _speed(cell: Cell) -> float | None:
    return cell["mbit_per_s"]["per_function"]


def _interval(cell: Cell) -> Mapping[str, float] | None:
    return cell["mbit_per_s"]["per_function_interval"]


def _last(series: Series) -> tuple[float, float]:
    return [(key.n, _speed(cell)) for key, cell in series.cells if _speed(cell) is not None][-1]  # type: ignore


def _series(axes: Axes, series: Series, dodge: float, highest: int) -> None:
    cells = [(key, cell) for key, cell in series.cells if _speed(cell) is not None]
    places = [key.n * dodge for key, _ in cells]
    speeds = [_speed(cell) for _, cell in cells]
    axes.plot(places, speeds, color=series.colour, linewidth=1.6)
    axes.plot([places[0], highest * dodge], [speeds[0]] * 2, color=series.colour, **_DASHED)
    for place, (_, cell) in zip(places, cells, strict=True):
        interval = _interval(cell)
        if interval:
            axes.plot([place] * 2, [interval["low"], interval["high"]], color=series.colour, linewidth=1.8)
            for end in (interval["low"], interval["high"]):
                axes.plot(place, end, "_", color=series.colour, markersize=8, markeredgewidth=1.6)
        face = series.colour if interval else drawing.PAPER
        axes.plot(place, _speed(cell), series.marker, markersize=7, markerfacecolor=face, markeredgecolor=series.colour)


def _published(axes: Axes, drawn: Drawn, published: Theirs) -> list[Line2D]:
    """A muted line for the published cells of each series; their legend entry, [] without any."""
    look = {"color": drawing.MUTED, "linewidth": 1, "marker": "x", "markersize": 5}
    labels = []
    for one in drawn.series:
        theirs = [(key.n, *published[key]) for key, _ in one.cells if key in published]
        if theirs:
            axes.plot([n for n, *_ in theirs], [mbit_per_s for *_, mbit_per_s in theirs], **look)
            labels.append(theirs[0][1])
    return [Line2D([], [], label=label, **look) for label in dict.fromkeys(labels)]
