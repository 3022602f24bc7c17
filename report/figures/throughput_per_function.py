"""What one function gets, against N: does it hold?"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from report import published
from report.figures import drawing
from report.figures.series import Numbers, Series, by_memory, concurrencies, told
from report.measured import rate
from report.phrases import speed

NAME = "throughput_per_function"
TITLE = "What one function gets, against N"
READING = (
    "Each marker is the size of the object over the mean time, for one function; the bar through it is the 95 % "
    "interval of the mean (hollow marker: too few downloads for one). The dashed line is the ideal: every function "
    "gets as much as at the smallest N. Where markers stay on it, throughput per function holds; where they fall "
    "below, functions share something that has run out."
)


def words(numbers: Numbers) -> str:
    """The picture's text alternative."""
    speeds = told(numbers, lambda cell: speed(_speed(cell)) if _speed(cell) is not None else None)
    return f"Mbit/s of one function, by N, beside a flat line for the ideal. Mean Mbit/s: {speeds}."


@drawing.styled
def draw(numbers: Numbers, *, beside_published: bool) -> Figure | None:
    """The picture; None without a speed. `beside_published` adds the published line: same object, also on AWS."""
    groups = [series for series in by_memory(numbers) if any(_speed(cell) for cell in series.cells)]
    if not groups:
        return None
    figure, axes = drawing.plot()
    known = concurrencies(numbers)
    drawing.n_axis(axes, known)
    for number, series in enumerate(groups):
        _series(axes, series, drawing.dodge(number, len(groups), known), max(known))
    legend = [_key(series) for series in groups]
    legend.append(Line2D([], [], color=drawing.MUTED, linestyle=(0, (5, 3)), label="ideal: as at the smallest N"))
    if beside_published:
        legend += _published(axes, known)
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.08)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_ylabel("Mbit/s for one function")
    drawing.legend_above(axes, legend)
    return figure


def _speed(cell: dict) -> float | None:
    return cell["mbit_per_s"]["per_function"]


def _key(series: Series) -> Line2D:
    return Line2D([], [], color=series.colour, marker=series.marker, label=series.label, markersize=6)


def _series(axes: Axes, series: Series, dodge: float, highest: int) -> None:
    cells = [cell for cell in series.cells if _speed(cell) is not None]
    places = [cell["concurrency"] * dodge for cell in cells]
    speeds = [_speed(cell) for cell in cells]
    axes.plot(places, speeds, color=series.colour, linewidth=1.6)
    axes.plot([places[0], highest * dodge], [speeds[0]] * 2, color=series.colour, linewidth=1.1, linestyle=(0, (5, 3)))
    for place, cell in zip(places, cells, strict=True):
        interval = cell["mbit_per_s"]["per_function_interval"]
        if interval:
            axes.plot([place] * 2, [interval["low"], interval["high"]], color=series.colour, linewidth=1.8)
            for end in (interval["low"], interval["high"]):
                axes.plot(place, end, "_", color=series.colour, markersize=8, markeredgewidth=1.6)
        face = series.colour if interval else drawing.PAPER
        axes.plot(place, _speed(cell), series.marker, markersize=7, markerfacecolor=face, markeredgecolor=series.colour)


def _published(axes: Axes, known: list[int]) -> list[Line2D]:
    """One muted line a published memory size; their legend entry, [] when no N is in common."""
    table = published.download()
    memories = sorted({memory for memory, n in table if n in known})
    look = {"color": drawing.MUTED, "linewidth": 1, "marker": "x", "markersize": 5}
    for memory in memories:
        cells = [table[memory, n] for n in known if (memory, n) in table]
        speeds = [rate(published.DOWNLOAD_OBJECT_BYTES, cell.avg_s) for cell in cells]
        axes.plot([cell.concurrency for cell in cells], speeds, **look)
    return [Line2D([], [], label=published.DOWNLOAD_LABEL, **look)] if memories else []
