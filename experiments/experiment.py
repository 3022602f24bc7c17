"""What a declaration of an experiment consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Axis:
    """One coordinate of a cell: the Terraform variable that sets it, and the record's own word for it."""

    variable: str
    record_field: str


@dataclass(frozen=True)
class Matrix:
    """The default cells of a target: every combination of `swept`, with `fixed` the same in all of them."""

    swept: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One experiment. A cell is its axes' values, as its records have them.

    `messages_per_concurrency` times N messages are sent to each cell of concurrency N; `matrices` are by target.
    """

    name: str
    question: str
    axes: Sequence[Axis]
    messages_per_concurrency: int
    matrices: Mapping[str, Matrix]

    @property
    def record_fields(self) -> dict[str, str]:
        """The record's word for each axis by its Terraform variable."""
        return {axis.variable: axis.record_field for axis in self.axes}
