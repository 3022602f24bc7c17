"""Seconds of each value of a choice, side by side in every cell: a line a cell, a marker a value."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from stampede.experiment.declaration import Compare
from stampede.report.figures import drawing
from stampede.report.figures.series import Drawn
from stampede.runs.cell_key import Key, distinguishing

NAME = "pairs"
TITLE = "Median seconds for one {one}, by variant"
READING = (
    "Each line is one cell, each marker the median of one variant, with its 95 % interval where there are enough "
    "{many}. The axis is logarithmic: equal distances are equal factors."
)


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    medians = drawn.told(lambda cell: f"{cell['seconds']['median_s']:.3g}" if cell["count"] else None)
    return f"Median seconds of one {drawn.operation[0]}, by variant: {medians}."


@drawing.styled
def draw(drawn: Drawn, compare: Compare) -> Figure | None:
    """The picture; None where no cell has two values."""
    cells = [(Key.of_figures(drawn.experiment.axes, cell), cell) for cell in drawn.numbers["cells"] if cell["count"]]
    groups: dict[tuple, list] = {}
    for key, cell in cells:
        groups.setdefault(key.without(compare.axes), []).append((key, cell))
    lines = [group for group in groups.values() if len(group) > 1]
    if not lines:
        return None
    told = distinguishing(key for key, _ in cells)
    names = list(dict.fromkeys(key.words_of(compare.axes) for group in lines for key, _ in group))
    looks = {name: drawing.look(at) for at, name in enumerate(names)}
    labels = [group[0][0].words_without(compare.axes, told) for group in lines]
    figure, axes = drawing.lines(labels, rest_in=1.3)
    axes.set_xscale("log")
    for at, group in enumerate(lines):
        medians = [cell["seconds"]["median_s"] for _, cell in group]
        axes.plot([min(medians), max(medians)], [at, at], color=drawing.GRID, linewidth=2, zorder=1)
        for (key, cell), median in zip(group, medians, strict=True):
            colour, marker = looks[key.words_of(compare.axes)]
            interval = cell["seconds"]["median_interval"]
            if interval:
                axes.plot([interval["low"], interval["high"]], [at, at], color=colour, linewidth=2)
            axes.plot(median, at, marker, color=colour, markersize=7, markeredgecolor=drawing.PAPER)
    axes.set_xlabel(f"seconds for one {drawn.operation[0]} (logarithmic)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    handles = [Line2D([], [], color=colour, marker=marker, linestyle="none", label=name)
               for name, (colour, marker) in looks.items()]  # fmt: skip
    drawing.legend_above(axes, handles)
    return figure
