"""One run against another: the ratio of the median times, a line a cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from stampede.experiment.declaration import n_axis
from stampede.phrases import listed
from stampede.report.figures import drawing
from stampede.runs.cell_key import Key

NAME = "run_ratios"
READING = (
    "Each line is one common cell: the median {one} of {other} divided by that of {base}, with its 95 % "
    "interval. Left of 1 {other} is faster, right of 1 slower; in the shaded band the difference is less than "
    "{within} %. The axis is logarithmic: half and double are equally far from 1."
)


@dataclass(frozen=True)
class Line:
    """One cell and its ratio {"value", "low", "high"}."""

    key: Key
    ratio: dict[str, Any]

    @property
    def label(self) -> str:
        """How the axis names it."""
        return self.key.words


def words(lines: Sequence[Line], one: str, letters: tuple[str, str]) -> str:
    """The picture's text alternative; `letters` are those of the run and of the one that it is compared with."""
    ratios = listed([f"{line.ratio['value']:.2f} with {line.label}" for line in lines])
    return f"Median {one} of {letters[0]} over that of {letters[1]}, by cell: {ratios}."


@drawing.styled
def draw(lines: Sequence[Line], within: float, one: str, letters: tuple[str, str]) -> Figure | None:
    """The picture; None without a line. `within` is the share by which medians may differ and still count as
    equal, `one` what is timed, `letters` as in `words`."""
    if not lines:
        return None
    figure, axes = drawing.lines([line.label for line in lines], 0.27)
    axes.axvspan(1 - within, 1 + within, color=drawing.MUTED, alpha=0.18, linewidth=0)
    of_n = (n_axis(lines[0].key.axes),)
    places = sorted({line.key.without(of_n) for line in lines})
    for at, line in enumerate(lines):
        colour, marker = drawing.look(places.index(line.key.without(of_n)))
        axes.plot([line.ratio["low"], line.ratio["high"]], [at, at], color=colour, linewidth=2)
        axes.plot(line.ratio["value"], at, marker, color=colour, markersize=7, markeredgecolor=drawing.PAPER)
    drawing.ratio_axis(axes, f"median {one}, {letters[0]} over {letters[1]}")
    return figure
