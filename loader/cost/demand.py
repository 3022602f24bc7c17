"""What a plan asks for, cell by cell, as numbers: the plan's own values, else TF_VAR_*, else infra's defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loader.errors import UsageError
from loader.plan import INFRA, Cell, Plan
from report import ways

_BLOCK = re.compile(r'^variable "(?P<name>\w+)" \{\n(?P<body>.*?)^\}', re.MULTILINE | re.DOTALL)
_DEFAULT = re.compile(r"^  default\s+= (?P<value>.+)$", re.MULTILINE)


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
    """The demand of one cell; `defaults` are `infra_defaults()`. Raises UsageError for what is no number."""
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


def infra_defaults(environ: Mapping[str, str]) -> dict[str, Any]:
    """{variable: value} that Terraform uses where nothing is given: the TF_VAR_* of `environ`, else infra's default."""
    text = (INFRA / "variables.tf").read_text()
    found = {}
    for block in _BLOCK.finditer(text):
        default = _DEFAULT.search(block["body"])
        found[block["name"]] = json.loads(default["value"]) if default else None
    given = {name: environ[f"TF_VAR_{name}"] for name in found if f"TF_VAR_{name}" in environ}
    return found | {name: _value(value) for name, value in given.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _whole(values: Mapping[str, Any], name: str) -> int:
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise UsageError(f"--set {name}: {value!r} is no whole number")
    return int(value)


def _pollers(value: Any) -> Pollers | None:
    """Read infra's object({minimum, maximum}), given as a dict or as HCL text."""
    if value is None:
        return None
    numbers = dict(re.findall(r"(minimum|maximum)\W+(\d+)", value if isinstance(value, str) else json.dumps(value)))
    if set(numbers) != {"minimum", "maximum"}:
        raise UsageError(f"provisioned_pollers: {value!r} is not {{minimum=2, maximum=20}}")
    return Pollers(int(numbers["minimum"]), int(numbers["maximum"]))
