"""Seconds of each value of a choice, side by side in every cell: a line a cell, a marker a value."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from stampede.cell import Cell, distinguishing
from stampede.experiment import Compare
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Subject

# How far the markers of a line are apart, as a part of the distance of two lines.
APART = 0.25


class Pairs(Picture):
    """None where no cell has two values."""

    name = "pairs"
    title = "Median seconds for one {operation}, by variant"
    caption = (
        "Each line is one cell, each marker the median of one variant, with its 95 % interval where there are enough "
        "{operations}. The axis is logarithmic: equal distances are equal factors."
    )

    def __init__(self, subject: Subject, compare: Compare) -> None:
        super().__init__(subject)
        self.axes = compare.axes

    def description(self) -> str:
        medians = self.subject.listing(lambda cell: f"{cell['seconds']['median_s']:.3g}" if cell["count"] else None)
        return f"Median seconds of one {self.operation}, by variant: {medians}."

    def draw(self) -> Figure | None:
        cells = [(self.subject.key(cell), cell) for cell in self.subject.numbers["cells"] if cell["count"]]
        groups: dict[tuple[Any, ...], list[tuple[Cell, CellFigures]]] = {}
        for key, cell in cells:
            groups.setdefault(key.without(self.axes), []).append((key, cell))
        lines = [group for group in groups.values() if len(group) > 1]
        if not lines:
            return None
        shown_axes = distinguishing(key for key, _ in cells)
        names = dict.fromkeys(key.words_of(self.axes) for group in lines for key, _ in group)
        looks = {name: drawing.look(at) for at, name in enumerate(names)}
        labels = [group[0][0].words_without(self.axes, shown_axes) for group in lines]
        figure, axes = drawing.lines(labels, rest_in=1.3)
        axes.set_xscale("log")
        for at, group in enumerate(lines):
            medians = [cell["seconds"]["median_s"] for _, cell in group]
            axes.plot([min(medians), max(medians)], [at, at], color=drawing.GRID, linewidth=2, zorder=1)
            # Side by side, so that an equal one isn't hidden.
            places = (at + APART * (number - (len(group) - 1) / 2) for number in range(len(group)))
            for (key, cell), median, place in zip(group, medians, places, strict=True):
                colour, marker = looks[key.words_of(self.axes)]
                interval = cell["seconds"]["median_interval"]
                if interval:
                    axes.plot([interval["low"], interval["high"]], [place, place], color=colour, linewidth=2)
                axes.plot(median, place, marker, color=colour, markersize=7, markeredgecolor=drawing.PAPER)
        axes.set_xlabel(f"seconds for one {self.operation} (logarithmic)")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        handles = []
        for name, (colour, marker) in looks.items():
            handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", label=name))
        drawing.legend_above(axes, handles)
        return figure
