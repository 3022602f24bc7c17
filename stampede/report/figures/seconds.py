"""Box plot of the seconds of one operation by cell."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, panels
from stampede.report.figures.series import Cell, Drawn, Series
from stampede.runs.cell_key import Key

NAME = "seconds"
TITLE = "Seconds for one {one}"
READING = (
    "Each box is one cell. The box spans the middle half of its {many} (p25 to p75), the line in it is the median, "
    "the marker the mean; the whiskers extend to the fastest and the slowest {one}. Cells with fewer than {few} "
    "{many} also show each of them as a dot, because so few make a box unreliable. Boxes at the same height for "
    "every N mean that the {workers} don’t slow each other down."
)
Times = Mapping[Key, Sequence[float]]


def words(drawn: Drawn) -> str:
    """The picture's text alternative: what it shows, and the median of every box."""
    medians = drawn.told(lambda cell: f"{cell['seconds']['median_s']:.3g}" if cell["count"] else None)
    return f"Box plot of the seconds one {drawn.operation[0]} took, by N. Medians in seconds: {medians}."


@drawing.styled
def draw(drawn: Drawn, times: Times) -> Figure | None:
    """The picture; None without a time. `times` are the single ones of each cell, in seconds."""
    groups = drawn.chosen(lambda cell: cell["count"] or None)
    if not groups:
        return None
    few, label = drawn.numbers["rules"]["minimum_for_p5_p95"], f"seconds for one {drawn.operation[0]}"
    if len(drawn.concurrencies) == 1 and len(groups) > 1:
        return _ranked(groups, times, few, f"{label} at N = {drawn.concurrencies[0]:,}")
    positions = {n: at for at, n in enumerate(drawn.concurrencies)}

    def boxes(axes: Axes, one: Series, offset: float = 0, width: float = 0.6) -> None:
        cells = [(key, cell) for key, cell in one.cells if cell["count"]]
        at = [positions[key.n] + offset for key, _ in cells]
        _boxes(axes, [cell for _, cell in cells], at, one, width)
        for (key, cell), x in zip(cells, at, strict=True):
            if cell["count"] < few:
                places, values = _dots(x, times.get(key, ()), 0.7 * width)
                _dot(axes, places, values, one)
        axes.set_xticks(range(len(positions)), [f"N = {n:,}" for n in positions])
        axes.tick_params(
            axis="x", labelrotation=60 if len(positions) > (8 if len(groups) <= MOST_TOGETHER else 3) else 0
        )
        axes.set_xlim(-0.6, len(positions) - 0.4)

    if len(groups) > MOST_TOGETHER:
        return panels(groups, boxes, label, lambda axes: axes.set_ylim(bottom=0))
    figure, axes = drawing.plot()
    step = 0.8 / len(groups)
    for number, one in enumerate(groups):
        boxes(axes, one, (number - (len(groups) - 1) / 2) * step, 0.74 * step)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    if len(groups) > 1:
        drawing.legend_above(axes)
    return figure


def _ranked(groups: Sequence[Series], times: Times, few: int, label: str) -> Figure:
    """One N only: a box a line, the fastest on top."""
    lines = sorted(((one, *one.cells[0]) for one in groups), key=lambda line: line[2]["seconds"]["median_s"])
    figure, axes = drawing.lines([one.label for one, *_ in lines], 0.34)
    for at, (one, key, cell) in enumerate(lines):
        _boxes(axes, [cell], [at], one, 0.6, orientation="horizontal")
        if cell["count"] < few:
            places, values = _dots(at, times.get(key, ()), 0.4)
            _dot(axes, values, places, one)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    return figure


def _boxes(
    axes: Axes, cells: list[Cell], at: list[float], series: Series, width: float, orientation: str = "vertical"
) -> None:
    if not cells:
        return
    colour = series.colour
    line = {"color": colour, "linewidth": 1.4}
    drawn = axes.bxp(
        [_box(cell) for cell in cells],
        positions=at,
        widths=width,
        orientation=orientation,
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
    drawn["means"][0].set_label(series.label)


def _box(cell: Cell) -> dict[str, object]:
    figures = cell["seconds"]
    return {
        "whislo": figures["min_s"],
        "q1": figures["p25_s"],
        "med": figures["median_s"],
        "mean": figures["mean_s"],
        "q3": figures["p75_s"],
        "whishi": figures["max_s"],
        "fliers": [],
    }


def _dots(at: float, times_s: Sequence[float], width: float) -> tuple[list[float], Sequence[float]]:
    """Where each time stands: spread sideways in turn so that equal ones stay apart, and the times."""
    return [at + width * ((number * 0.618) % 1 - 0.5) for number in range(len(times_s))], times_s


def _dot(axes: Axes, across: Sequence[float], up: Sequence[float], series: Series) -> None:
    axes.plot(across, up, ".", color=series.colour, markersize=4, markeredgewidth=0, alpha=0.8, zorder=4)
