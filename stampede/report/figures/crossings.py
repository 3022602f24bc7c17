"""Throughput against the size of one item, a line a choice: where do they cross?"""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from stampede.phrases import decimal_size
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject
from stampede.report.statistics.crossover import Place

MOST_PANELS = 6


class Crossings(Picture):
    """A panel a place, at most MOST_PANELS."""

    name = "crossings"
    title = "Throughput per function against file size"
    caption = (
        "Each line is one variant. Its ends were measured; the straight line between them is an interpolation on "
        "logarithmic axes. A dashed line marks a crossing: left of it the upper line is faster, right of it the other "
        "one. Elsewhere, lines that cross show no more than their means."
    )

    def __init__(self, subject: Subject, places: Sequence[Place]) -> None:
        super().__init__(subject)
        self.places = places[:MOST_PANELS]

    def description(self) -> str:
        speeds = self.subject.listing(lambda cell: f"{speed:,.0f}" if (speed := cell["client"]["mbit_per_s"]) else None)
        return f"Mbit/s of one function against the mean file size, one line per variant: {speeds}."

    def draw(self) -> Figure:
        columns = min(3, len(self.places))
        rows = -(-len(self.places) // columns)
        figure = Figure(figsize=(drawing.WIDTH_IN, 2.7 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        names = dict.fromkeys(name for place in self.places for name in place.lines)
        looks = {name: drawing.look(at) for at, name in enumerate(names)}
        for axes in grid.flat[len(self.places) :]:
            axes.set_axis_off()
        for axes, place in zip(grid.flat, self.places, strict=False):
            drawing.plain(axes)
            axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
            axes.set_xscale("log")
            axes.set_yscale("log")
            for name, line in place.lines.items():
                colour, marker = looks[name]
                axes.plot(*zip(*line, strict=True), color=colour, marker=marker, linewidth=1.6, label=name)
            for size_bytes, *_ in place.crossings:
                axes.axvline(size_bytes, color=drawing.MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.set_title(place.words, fontsize=10.5, loc="left", pad=4)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda size_bytes, _: decimal_size(size_bytes)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_locator(NullLocator())
            axes.tick_params(axis="x", labelrotation=30)
        figure.supylabel("Mbit/s for one function", fontsize=11)
        figure.supxlabel("mean file size (logarithmic)", fontsize=11)
        figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        return figure
