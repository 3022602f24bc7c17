"""Box plot of download seconds by cell."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from report.figures import drawing
from report.figures.series import Cell, Numbers, Series, by_memory, concurrencies, told
from report.ways import Key, key_of_figures

NAME = "download_seconds"
TITLE = "Seconds for one download, by N"
READING = (
    "Each box is one cell. The box holds the middle half of its downloads (p25 to p75), the line in it is the median, "
    "the marker the mean; the whiskers reach to the fastest and the slowest download. Cells with fewer than {few} "
    "downloads also show each of them as a dot: there, a box promises more than it knows. Boxes at one height for "
    "every N mean that a function is not slowed down by its neighbours."
)


def words(numbers: Numbers) -> str:
    """The picture's text alternative: what it shows, and the median of every box."""
    medians = told(numbers, lambda cell: f"{cell['seconds']['median_s']:.3g}" if cell["count"] else None)
    return f"Box plot of the seconds one download took, by N. Medians in seconds: {medians}."


@drawing.styled
def draw(numbers: Numbers, times: Mapping[Key, Sequence[float]]) -> Figure | None:
    """The picture; None without a download. `times` are the single downloads of each cell, in seconds."""
    if not any(cell["count"] for cell in numbers["cells"]):
        return None
    figure, axes = drawing.plot()
    positions = {n: at for at, n in enumerate(concurrencies(numbers))}
    groups = by_memory(numbers)
    step = 0.8 / len(groups)
    for number, series in enumerate(groups):
        offset = (number - (len(groups) - 1) / 2) * step
        cells = [cell for cell in series.cells if cell["count"]]
        at = [positions[cell["concurrency"]] + offset for cell in cells]
        _boxes(axes, cells, at, series, 0.74 * step)
        for cell, x in zip(cells, at, strict=True):
            if cell["count"] < numbers["rules"]["minimum_for_p5_p95"]:
                _dots(axes, x, times.get(key_of_figures(cell), ()), series, 0.5 * step)
    axes.set_xticks(range(len(positions)), [f"N = {n}" for n in positions])
    if len(positions) > 8:
        axes.tick_params(axis="x", labelrotation=60)
    axes.set_xlim(-0.6, len(positions) - 0.4)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("seconds for one download")
    drawing.legend_above(axes)
    return figure


def _boxes(axes: Axes, cells: list[Cell], at: list[float], series: Series, width: float) -> None:
    if not cells:
        return
    colour = series.colour
    line = {"color": colour, "linewidth": 1.4}
    drawn = axes.bxp(
        [_box(cell) for cell in cells],
        positions=at,
        widths=width,
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


def _dots(axes: Axes, x: float, times_s: Sequence[float], series: Series, width: float) -> None:
    """Each download once, spread sideways in turn so that equal times stay apart."""
    places = [x + width * ((number * 0.618) % 1 - 0.5) for number in range(len(times_s))]
    axes.plot(places, times_s, ".", color=series.colour, markersize=4, markeredgewidth=0, alpha=0.8, zorder=4)
