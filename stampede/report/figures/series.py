"""The cells of statistics.json as the series of a picture: one for all that differ in N alone, each with its colour
and marker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments import Axis, Experiment
from stampede.experiment.declaration import n_axis
from stampede.phrases import listed
from stampede.report.figures.drawing import look
from stampede.runs.cell_key import Key, distinguishing, own_columns

Cell = Mapping[str, Any]
Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """Cells that differ in N alone, by ascending N, and how they are told apart from the others; `label` is how the
    picture names it.
    """

    label: str
    cells: list[tuple[Key, Cell]]
    colour: str
    marker: str


@dataclass(frozen=True)
class Drawn:
    """What pictures are drawn from: the series of a run, and what its experiment calls things.

    `common` is what all series have in common, in words; their labels leave it out.
    """

    experiment: Experiment
    numbers: Numbers
    series: Sequence[Series]
    common: str

    @property
    def operation(self) -> tuple[str, str]:
        """What is timed, one and many."""
        return self.experiment.operation

    @property
    def concurrencies(self) -> list[int]:
        """Every N with a time or an error, ascending."""
        return sorted({key.n for one in self.series for key, _ in one.cells})

    def chosen(self, figure: Callable[[Cell], Any]) -> list[Series]:
        """The series with a figure in any cell."""
        return [one for one in self.series if any(figure(cell) is not None for _, cell in one.cells)]

    def told(self, figure: Callable[[Cell], str | None]) -> str:
        """`with 1,024 MB 12.6 at N = 1 and 13.1 at N = 5; with 2,048 MB ...` for a text alternative; "" without one."""
        parts = []
        for one in self.series:
            texts = [f"{text} at N = {key.n:,}" for key, cell in one.cells if (text := figure(cell)) is not None]
            if texts:
                parts.append(f"with {one.label} {listed(texts)}")
        return "; ".join(parts)


def drawn(experiment: Experiment, numbers: Numbers) -> Drawn:
    """The cells with at least one time or error, as series in the order of their keys."""
    of_n = n_axis(experiment.axes)
    groups: dict[tuple[Any, ...], list[tuple[Key, Cell]]] = {}
    for cell in numbers["cells"]:
        if cell["count"] or cell["errors"]:
            key = Key.of_figures(experiment.axes, cell)
            groups.setdefault(key.without((of_n,)), []).append((key, cell))
    told = distinguishing(key for cells in groups.values() for key, _ in cells)
    firsts = [cells[0][0] for _, cells in sorted(groups.items())]
    shared = _shared(firsts, own_columns(experiment.axes, told), of_n) if len(firsts) > 1 else []
    return Drawn(
        experiment,
        numbers,
        [
            Series(
                key.words_without((of_n, *shared), told),
                cells,
                *look(at),
            )
            for at, (key, (_, cells)) in enumerate(zip(firsts, sorted(groups.items()), strict=True))
        ],
        listed([firsts[0].value_words(name) for name in shared]) if firsts else "",
    )


def _shared(keys: Sequence[Key], axes: Sequence[Axis], of_n: str) -> list[str]:
    """Those of `axes` on which all stand at the same value; [] when that leaves nothing to name them by."""
    names = [axis.name for axis in axes if axis.name != of_n]
    shared = [name for name in names if len({key[name] for key in keys}) == 1]
    return shared if len(shared) < len(names) or len({key.variant_words for key in keys}) > 1 else []
