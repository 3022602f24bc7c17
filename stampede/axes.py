"""The coordinates of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Of an axis that every cell has to tell.
NEEDED = object()
# The record's word for N, which all experiments have in common.
CONCURRENCY = "concurrency_limit"


@dataclass(frozen=True)
class Axis:
    """One coordinate of a cell.

    `name` is its column in cells.csv and its key in statistics.json. Where they aren't the same:
    `record_field` is the record's own word for it, `variable` what sets it (a Terraform variable of
    infra/, or with `in_order` a key of the work order), and `label` heads its column, with `unit`.
    `words` is a value of it in a sentence. `kind` is `int` (1 or more) or `str`, and `allowed` are
    the values that there are (a range, or a few texts) where only those of `kind` and more don't
    work. Where `variable` is empty, only records tell it; where it is how an environment's first
    operation differs from later ones, those have the value `later` (or what it gives from a cell's
    values), and the first ones the default.

    An axis with a `default` (a value, or what gives it from the values of the axes before) is one
    that records of before it, and most runs, don't tell: together such axes are the cell's variant,
    named only where a run departs from it, and their columns stand behind those of the published
    table.
    """

    name: str
    record_field: str = ""
    variable: str | None = None
    label: str = ""
    words: str = "{}"
    unit: str = ""
    kind: type = int
    default: Any = NEEDED
    in_order: bool = False
    allowed: Sequence[Any] = ()
    later: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "record_field", self.record_field or self.name)
        object.__setattr__(self, "variable", self.name if self.variable is None else self.variable)
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))

    def takes(self, value: Any) -> bool:
        """Whether `value` is one of this axis."""
        if type(value) is not self.kind:
            return False
        return (
            value in self.allowed
            if self.allowed
            else self.kind is str or value >= 1 or value == self.default
        )

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        if self.kind is int:
            bounds = (
                f"from {self.allowed[0]:,} to {self.allowed[-1]:,}"
                if self.allowed
                else "of 1 or more"
            )
            return f"a whole number {bounds}"
        return (
            f"one of: {', '.join(self.allowed)}"
            if len(self.allowed) > 2
            else " or ".join(self.allowed) or "text"
        )

    @property
    def is_variant(self) -> bool:
        """Whether it belongs to the cell's variant."""
        return self.default is not NEEDED

    def later_of(self, values: Mapping[str, Any]) -> Any:
        """Its value in later operations of a cell with these values."""
        return self.later(values) if callable(self.later) else self.later

    def default_of(self, before: Sequence[Any]) -> Any:
        """Its value in a cell that doesn't say, `before` being those of the axes before it; None
        where it must."""
        if not self.is_variant:
            return None
        return self.default(*before) if callable(self.default) else self.default


def memory_axis(default: Any = NEEDED) -> Axis:
    """The memory of the functions."""
    return Axis(
        "memory_size_mb",
        "memory_size",
        "memory_size",
        "memory",
        "{} MB",
        unit="MB",
        default=default,
    )


def concurrency_axis(default: Any = NEEDED) -> Axis:
    """N; every experiment has it."""
    return Axis("concurrency", CONCURRENCY, "concurrency_value", "N", "N = {}", default=default)


def n_axis(axes: Sequence[Axis]) -> str:
    """The name of the axis that is N."""
    return next(axis.name for axis in axes if axis.record_field == CONCURRENCY)
