"""The coordinates of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The `default` of an axis without one: every cell needs a value.
NEEDED = object()
# The name of N in the records of all experiments.
CONCURRENCY = "concurrency_limit"


@dataclass(frozen=True)
class Axis:
    """One coordinate of a cell.

    `name` is its column in cells.csv and its key in statistics.json. The others default to it:
    `record_field`, its name in records; `variable`, which sets it (a Terraform variable of infra/,
    or with `in_order` a key of the work order); and `label`, the heading of its column, with
    `unit`. `words` formats a value for a sentence. `kind` is `int` (1 or more) or `str`, and
    `allowed` restricts the values further (a range, or a few texts). If `variable` is empty, only
    records have the axis. If it tells an environment's first operation from later ones, `later` is
    the value of the later ones (or a function of a cell's values), and `default` that of the first.

    An axis with a `default` (a value, or a function of the values of the axes before it) may be
    missing in records and run.json. Together these axes are the cell's variant: they are named only
    where a run departs from the defaults, and their columns follow those of the published table.
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
        """Whether `value` is possible on this axis."""
        if type(value) is not self.kind:
            return False
        if self.allowed:
            return value in self.allowed
        return self.kind is str or value >= 1 or value == self.default

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        allowed = self.allowed
        if self.kind is int:
            bounds = f"from {allowed[0]:,} to {allowed[-1]:,}" if allowed else "of 1 or more"
            return f"a whole number {bounds}"
        return (
            f"one of: {', '.join(allowed)}" if len(allowed) > 2 else " or ".join(allowed) or "text"
        )

    @property
    def is_variant(self) -> bool:
        """Whether it belongs to the cell's variant."""
        return self.default is not NEEDED

    def later_of(self, values: Mapping[str, Any]) -> Any:
        """Its value in later operations of a cell with these values."""
        return self.later(values) if callable(self.later) else self.later

    def default_of(self, before: Sequence[Any]) -> Any:
        """Its value in a cell that has none, from the values of the axes `before` it; None if it
        has no default."""
        if not self.is_variant:
            return None
        return self.default(*before) if callable(self.default) else self.default


def memory_axis(default: Any = NEEDED) -> Axis:
    """The memory of the functions."""
    size = "memory_size"
    return Axis("memory_size_mb", size, size, "memory", "{} MB", "MB", default=default)


def concurrency_axis(default: Any = NEEDED) -> Axis:
    """N; every experiment has it."""
    return Axis("concurrency", CONCURRENCY, "concurrency_value", "N", "N = {}", default=default)


def n_axis(axes: Sequence[Axis]) -> str:
    """The name of the axis that is N."""
    return next(axis.name for axis in axes if axis.record_field == CONCURRENCY)
