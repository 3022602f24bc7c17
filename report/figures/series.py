"""The cells of statistics.json as the series of a picture: one a memory size, each with its colour and marker."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from report.figures.drawing import MARKERS, SERIES
from report.phrases import listed

Cell = Mapping[str, Any]
Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """One memory size: its cells by ascending N, and how it is told apart from the others."""

    memory_mb: int
    cells: list[Cell]
    colour: str
    marker: str

    @property
    def label(self) -> str:
        """How the legend names it."""
        return f"{self.memory_mb} MB"


def by_memory(numbers: Numbers) -> list[Series]:
    """The cells with at least one download or error, one Series a memory size, ascending."""
    groups: dict[int, list[Cell]] = {}
    for cell in numbers["cells"]:
        if cell["count"] or cell["errors"]:
            groups.setdefault(cell["memory_size_mb"], []).append(cell)
    return [
        Series(memory, cells, SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)])
        for at, (memory, cells) in enumerate(sorted(groups.items()))
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
