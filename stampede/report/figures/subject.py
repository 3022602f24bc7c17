"""What pictures are drawn from: the cells of statistics.json as series, one for all that differ in N alone, each with
its colour and marker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments import Experiment
from stampede.cell import Cell, distinguishing, own_columns
from stampede.experiment import n_axis
from stampede.phrases import listed
from stampede.report.figures.drawing import look

CellFigures = Mapping[str, Any]
Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """Cells that differ in N alone, by ascending N; `label` is how the picture names it."""

    label: str
    cells: list[tuple[Cell, CellFigures]]
    colour: str
    marker: str


@dataclass(frozen=True)
class Subject:
    """A run as its pictures show it. `common` is what all series have in common, in words, and their labels lack."""

    experiment: Experiment
    numbers: Numbers
    series: Sequence[Series]
    common: str

    @classmethod
    def of(cls, experiment: Experiment, numbers: Numbers) -> Subject:
        """The cells with at least one time or error, as series in the order of their keys."""
        axes, of_n = experiment.axes, n_axis(experiment.axes)
        groups: dict[tuple[Any, ...], list[tuple[Cell, CellFigures]]] = {}
        for cell in numbers["cells"]:
            if cell["count"] or cell["errors"]:
                key = Cell.of_figures(axes, cell)
                groups.setdefault(key.without((of_n,)), []).append((key, cell))
        shown_axes = distinguishing(key for cells in groups.values() for key, _ in cells)
        lines = [cells for _, cells in sorted(groups.items())]
        firsts = [cells[0][0] for cells in lines]

        names = [axis.name for axis in own_columns(axes, shown_axes) if axis.name != of_n]
        shared = [name for name in names if len({key[name] for key in firsts}) == 1]
        if len(firsts) < 2 or (len(shared) == len(names) and len({key.variant_words() for key in firsts}) == 1):
            shared = []  # it would leave nothing to name the series by
        series = [
            Series(first.words_without((of_n, *shared), shown_axes), cells, *look(at))
            for at, (first, cells) in enumerate(zip(firsts, lines, strict=True))
        ]
        return cls(experiment, numbers, series, listed([firsts[0].value_words(name) for name in shared]))

    @property
    def concurrencies(self) -> list[int]:
        """Every N with a time or an error, ascending."""
        return sorted({key.n for series in self.series for key, _ in series.cells})

    def key(self, figures: CellFigures) -> Cell:
        """The coordinates of a cell."""
        return Cell.of_figures(self.experiment.axes, figures)

    def series_with(self, figure: Callable[[CellFigures], Any]) -> list[Series]:
        """Those with the figure in any cell."""
        return [series for series in self.series if any(figure(cell) is not None for _, cell in series.cells)]

    def listing(self, figure: Callable[[CellFigures], str | None]) -> str:
        """`12.6 at N = 1 and 13.1 at N = 5 with 1,024 MB; 12.4 at ...` for a text alternative; "" without one."""
        parts = []
        for series in self.series:
            texts = [f"{text} at N = {key.n:,}" for key, cell in series.cells if (text := figure(cell)) is not None]
            if texts:
                parts.append(f"{listed(texts)} with {series.label}")
        return "; ".join(parts)
