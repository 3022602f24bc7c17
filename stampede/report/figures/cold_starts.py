"""Cold operations against warm ones, a line a cell."""

from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.series import Cell, Drawn

NAME = "cold_starts"
TITLE = "Cold starts against warm ones"
READING = (
    "Each line is one cell: the median of the first {many} of each function instance (cold) minus the median of its "
    "later ones (warm), with the 95 % interval. Right of the vertical line cold {many} are slower; where the interval "
    "crosses it, the two are too close to call. The function’s initialization ends before the {one} starts and isn’t "
    "included. Cold {many} are the first of a flood, when fewer functions run beside them: the difference includes "
    "that, and can be below zero for it."
)


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    added = drawn.told(
        lambda cell: f"{found['value']:+.3f}".replace("-", "−") if (found := _difference(cell)) else None
    )
    return f"Median seconds of cold minus those of warm {drawn.operation[1]}, by cell: {added}."


@drawing.styled
def draw(drawn: Drawn) -> Figure | None:
    """The picture; None when no cell has enough of both."""
    lines = [(one, key, cell) for one in drawn.series for key, cell in one.cells if _difference(cell)]
    if not lines:
        return None
    figure, axes = drawing.lines([f"{one.label}, N = {key.n:,}" for one, key, _ in lines], 0.27)
    axes.axvline(0, color=drawing.INK, linewidth=1)
    for at, (series, _, cell) in enumerate(lines):
        found = _difference(cell)
        axes.plot([found["low"], found["high"]], [at, at], color=series.colour, linewidth=2)
        axes.plot(found["value"], at, series.marker, color=series.colour, markersize=7, markeredgecolor=drawing.PAPER)
    axes.set_xlabel("cold minus warm, seconds")
    return figure


def _difference(cell: Cell) -> dict[str, float] | None:
    return cell["cold"]["difference_of_medians_s"]
