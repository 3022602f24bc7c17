"""The cells of statistics.json as the series of a picture: one a memory size and way to download, each with its colour
and marker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from report.figures.drawing import MARKERS, SERIES
from report.phrases import listed
from report.ways import key_of_figures, told_apart, way_words

Cell = Mapping[str, Any]
Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """One memory size and way: its cells by ascending N, and how it is told apart from the others; `label` is how the
    legend names it.
    """

    label: str
    cells: list[Cell]
    colour: str
    marker: str


def by_memory(numbers: Numbers) -> list[Series]:
    """The cells with at least one download or error, one Series a memory size and way, ascending."""
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in numbers["cells"]:
        if cell["count"] or cell["errors"]:
            key = key_of_figures(cell)
            groups.setdefault((key.memory_mb, *key.way), []).append(cell)
    named = told_apart(map(key_of_figures, numbers["cells"]))
    return [
        Series(
            f"{memory} MB, {way_words(*way)}" if named else f"{memory} MB",
            cells,
            SERIES[at % len(SERIES)],
            MARKERS[at % len(MARKERS)],
        )
        for at, ((memory, *way), cells) in enumerate(sorted(groups.items()))
    ]


def concurrencies(numbers: Numbers) -> list[int]:
    """Every N with a download or an error, ascending."""
    return sorted({cell["concurrency"] for series in by_memory(numbers) for cell in series.cells})


def told(numbers: Numbers, figure: Callable[[Cell], str | None]) -> str:
    """`with 1024 MB 12.6 at N = 1 and 13.1 at N = 5; with 2048 MB ...` for a text alternative; "" without a figure."""
    parts = []
    for series in by_memory(numbers):
        found = [(figure(cell), cell["concurrency"]) for cell in series.cells]
        texts = [f"{text} at N = {n}" for text, n in found if text is not None]
        if texts:
            parts.append(f"with {series.label} {listed(texts)}")
    return "; ".join(parts)
