"""What a plan asks for, cell by cell, as numbers: the plan's own values, else what `infra_defaults` gives."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loader import hcl
from loader.errors import UsageError
from loader.hcl import HclError
from loader.run.plan import Cell, Plan
from report import ways


@dataclass(frozen=True)
class Pollers:
    """Provisioned event pollers of the trigger, from `minimum` up to `maximum`."""

    minimum: int
    maximum: int


@dataclass(frozen=True)
class Demand:
    """One cell in numbers. Sizes in MB as Lambda counts them (MiB), times in seconds."""

    name: str
    memory_mb: int
    concurrency: int
    messages: int
    warm_up_messages: int
    object_mb: int
    ephemeral_mb: int
    timeout_s: int
    architecture: str = "x86_64"
    barrier_s: float = 0.0
    pollers: Pollers | None = None
    method: str = ways.METHOD
    sink: str = ways.SINK
    range_part_mb: int = 16

    @property
    def all_messages(self) -> int:
        """Messages sent in the cell, warm-ups included."""
        return self.messages + self.warm_up_messages


def demand(plan: Plan, cell: Cell, defaults: Mapping[str, Any]) -> Demand:
    """The demand of one cell; `defaults` are `infra_defaults()`. Raises UsageError for what isn't a number."""
    values = {**defaults, **plan.variables(cell)}
    return Demand(
        name=cell.name,
        memory_mb=_whole(values, "memory_size"),
        concurrency=_whole(values, "concurrency_value"),
        messages=plan.messages(cell),
        warm_up_messages=plan.warm_up_messages(cell),
        object_mb=_whole(values, "object_size_mb"),
        ephemeral_mb=_whole(values, "ephemeral_storage_mb"),
        timeout_s=_whole(values, "timeout_s"),
        architecture=str(values["architecture"]),
        barrier_s=plan.start_barrier_s or 0.0,
        pollers=_pollers(values.get("provisioned_pollers")),
        method=(method := str(values["method"])),
        sink=str(values["sink"] or ways.default_sink(method)),
        range_part_mb=_whole(values, "range_part_mb"),
    )


def demands(plan: Plan, defaults: Mapping[str, Any]) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run. Raises UsageError."""
    return [demand(plan, cell, defaults) for cell in plan.cells()]


def setting(plan: Plan, name: str, defaults: Mapping[str, Any]) -> Any:
    """The value of a variable that is the same in all cells, such as region; of the first cell where it is swept."""
    return {**defaults, **plan.variables(plan.cells()[0])}[name]


def _whole(values: Mapping[str, Any], name: str) -> int:
    if not _is_whole(value := values[name]):
        raise UsageError(
            f"{name}: must be a whole number, got {value!r}; "
            f"correct --set {name}=..., TF_VAR_{name} or the *.tfvars file of infra/"
        )
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0


def _pollers(value: Any) -> Pollers | None:
    """Read infra's object({minimum, maximum}), given as a dict or as HCL or JSON text."""
    if isinstance(value, str):
        with contextlib.suppress(HclError):
            value = hcl.value(value)
    if value is None:
        return None
    numbers = [value.get(name) for name in ("minimum", "maximum")] if isinstance(value, dict) else [None]
    if not all(map(_is_whole, numbers)):
        raise UsageError(
            "provisioned_pollers: must be an object of two whole numbers, as {minimum=2,maximum=20}, "
            f"got {hcl.text_of(value)}"
        )
    return Pollers(*map(int, numbers))
