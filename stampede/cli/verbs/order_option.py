"""What --order adds to the messages of a verb by hand: what a plan would say of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stampede.errors import UsageError
from stampede.planning.plan import rest
from stampede.planning.settings import refuse_twice, setting_values, split_setting
from stampede.stacks.target import Target


def order_of(target: Target, given: Sequence[str]) -> dict[str, Any]:
    """The open parts of the work orders: as given, else the first of the experiment's matrix. Raises UsageError."""
    experiment = target.experiment
    matrix, axes = experiment.matrices[target.option], experiment.order_axes
    first = {**{name: values[0] for name, values in matrix.swept.items()}, **matrix.fixed}
    chosen = {name: first[name] for name in axes if name in first}
    refuse_twice("--order", given, "a flood has one value")
    for text in given:
        name, listed = split_setting("--order", text, axes, f"the messages of {experiment.name} have no key")
        values = setting_values("--order", name, listed, axes[name])
        if len(values) != 1:
            raise UsageError(f"--order {name}: a flood has one value, got {listed!r}; start a flood for each value")
        chosen[name] = values[0]
    applied = {name: value for name, value in target.outputs.items() if name not in axes}
    left = rest(experiment, target.option, {**applied, **chosen})
    return chosen | {name: value for name, value in left.items() if name in axes}
