"""What a plan asks for, cell by cell, as numbers: the plan's own values, else what `infra_defaults` gives, else the
experiment's defaults."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments import EXPERIMENTS, Experiment
from stampede.errors import UsageError
from stampede.experiment import Usage
from stampede.planning.plan import Cell, Plan, cell_name
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES


@dataclass(frozen=True)
class Pollers:
    """Provisioned event pollers of the trigger, from `minimum` up to `maximum`."""

    minimum: int
    maximum: int


@dataclass(frozen=True)
class Demand:
    """One cell in numbers, and the `values` that its experiment knows it by. Sizes in MB as Lambda counts them (MiB),
    times in seconds; `applies` unless the cell before has the same stack. `preparations` are messages, 0 or 1, that
    prepare the cell, `workers` what carries the others out, in the plural, in `rounds`.

    `alike` is its name without its repeat. What the model says of its floods, where it `is_foreseen`: `floods_s` are
    from the first message of each to its last record, `working_s` those of all operations together, those too that are
    cut off at the time limit, `longest_s` those of the slowest, were there no limit, and `start_s` those of an
    environment's start that are billed. Otherwise `working_s` is the most that they can be in Lambda."""

    name: str
    memory_mb: int
    concurrency: int
    messages: int
    warm_up_messages: int
    timeout_s: int
    values: Mapping[str, Any]
    usage: Usage
    architecture: str = "x86_64"
    barrier_s: float = 0.0
    pollers: Pollers | None = None
    applies: bool = True
    preparations: int = 0
    workers: str = "functions"
    rounds: int = 1
    alike: str = ""
    is_foreseen: bool = False
    floods_s: float = 0.0
    working_s: float = 0.0
    longest_s: float = 0.0
    start_s: float = 0.0

    @property
    def operations(self) -> int:
        """What is timed or warmed up in the cell, one a message."""
        return self.messages + self.warm_up_messages

    @property
    def all_messages(self) -> int:
        """Messages sent in the cell, whatever they are for."""
        return self.operations + self.preparations

    def preparation_s(self, target: str) -> float:
        """Seconds of the message that prepares the cell; 0 without one."""
        return self.usage.preparation_s.get(target, 0.0) * self.preparations


def demands(plan: Plan, defaults: Mapping[str, Any]) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run; `defaults` are `infra_defaults()`.

    Raises UsageError for what isn't a number.
    """
    cells = plan.cells()
    before = [None, *(plan.variables(cell) for cell in cells)]
    return [
        _demand(plan, cell, defaults, applies=plan.variables(cell) != last)
        for cell, last in zip(cells, before, strict=False)
    ]


def complete(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, with numbers as int and what is null at its default. Raises UsageError for what is no whole number."""
    numbers = [name for name, variable in declared().items() if variable.type == "number" and name in values]
    nullable = {name for name in numbers if values[name] is None and declared()[name].nullable}
    whole = {**values, **{name: _whole(values, name) for name in numbers if name not in nullable}}
    whole |= {name: default for name, default in experiment.defaults.items() if whole.get(name) is None}
    before: list[Any] = []
    for axis in experiment.axes:
        if whole.get(axis.variable) is None:
            whole[axis.variable] = axis.default_of(before)
        before.append(whole[axis.variable])
    return whole


def setting(plan: Plan, name: str, defaults: Mapping[str, Any]) -> Any:
    """The value of a variable that is the same in all cells, such as region; of the first cell where it is swept."""
    return {**defaults, **plan.variables(plan.cells()[0])}[name]


def _demand(plan: Plan, cell: Cell, defaults: Mapping[str, Any], *, applies: bool) -> Demand:
    experiment = EXPERIMENTS[plan.experiment]
    values = complete(experiment, {**defaults, **plan.values(cell)})
    if not (rule := RULES["architecture"]).allows(values["architecture"]):  # each has a price
        raise UsageError(f"architecture: {rule.rule}, got {values['architecture']!r}")
    usage = experiment.usage(values)
    return Demand(
        name=cell.name,
        memory_mb=values["memory_size"],
        concurrency=values["concurrency_value"],
        messages=plan.messages(cell, values),
        warm_up_messages=plan.warm_up_messages(cell),
        timeout_s=values["timeout_s"],
        values=values,
        usage=usage,
        architecture=str(values["architecture"]),
        barrier_s=plan.start_barrier_s or 0.0,
        pollers=_pollers(values.get("provisioned_pollers")),
        applies=applies,
        preparations=1 if usage.preparation_s else 0,
        workers=experiment.worker[1],
        rounds=plan.rounds_of(cell),
        alike=cell_name(cell.coordinates),
    )


def _whole(values: Mapping[str, Any], name: str) -> int:
    value = values[name]
    if isinstance(value, str) and value.isdecimal():
        return int(value)  # as Terraform takes it
    if not _is_whole(value):
        raise UsageError(
            f"{name}: must be a whole number, got {value!r}",
            correction(name),
        )
    return int(value)


def correction(name: str) -> str:
    """The way out of a wrong value of a variable: the places that it may come from."""
    return f"correct --set {name}=..., TF_VAR_{name} or the *.tfvars file of infra/"


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
            "provisioned_pollers: must be an object of two whole numbers, such as {minimum=2,maximum=20}, "
            f"got {hcl.text_of(value)}"
        )
    return Pollers(*map(int, numbers))
