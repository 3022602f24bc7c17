"""One run against another: the ratio of the median times, a line a cell."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from stampede.cell import Cell, distinguishing
from stampede.experiment import n_axis
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.statistics.rules import HOLDS_WITHIN


class RunRatios(Picture):
    """None without a ratio. `ratios` are {"value", "low", "high"} by cell, `letter` and `base` those of the run and of
    the one that it is compared with."""

    def __init__(self, operation: str, letter: str, base: str, ratios: Mapping[Cell, Mapping[str, Any]]) -> None:
        self.operation, self.letter, self.base = operation, letter, base
        self.ratios, named_axes = ratios, distinguishing(ratios)
        self.labels = [key.words_without((), named_axes) for key in ratios]
        self.name = f"ratios-{letter}"
        self.title = f"Median {operation} of {letter} over that of {base}"
        self.caption = (
            f"Each line is one common cell: the median {operation} of {letter} divided by that of {base}, with its "
            f"95 % interval. Left of 1 {letter} is faster, right of 1 slower; in the shaded band the difference is "
            f"less than {HOLDS_WITHIN * 100:g} %. The axis is logarithmic: half and double are equally far from 1."
        )

    def description(self) -> str:
        ratios = "; ".join(
            f"{ratio['value']:.2f} with {label}" for label, ratio in zip(self.labels, self.ratios.values(), strict=True)
        )
        return f"Median {self.operation} of {self.letter} over that of {self.base}, by cell: {ratios}."

    def draw(self) -> Figure | None:
        if not self.ratios:
            return None
        figure, axes = drawing.lines(self.labels, 0.27)
        axes.axvspan(1 - HOLDS_WITHIN, 1 + HOLDS_WITHIN, color=drawing.MUTED, alpha=0.18, linewidth=0)
        of_n = (n_axis(next(iter(self.ratios)).axes),)
        places = sorted({key.without(of_n) for key in self.ratios})
        for at, (key, ratio) in enumerate(self.ratios.items()):
            colour, marker = drawing.look(places.index(key.without(of_n)))
            axes.plot([ratio["low"], ratio["high"]], [at, at], color=colour, linewidth=2)
            axes.plot(ratio["value"], at, marker, color=colour, markersize=7, markeredgecolor=drawing.PAPER)
        drawing.ratio_axis(axes, f"median {self.operation}, {self.letter} over {self.base}")
        return figure
