"""Reads `--set` and `--order` and checks their values, for every verb."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments import Experiment
from stampede.cell import batch_size_of
from stampede.errors import UsageError
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.stacks.infra_variables import takes
from stampede.variable_rules import RULES, Rule

# A message stays hidden for this many timeouts of the function, plus the trigger's batching window
# (Lambda guide, services-sqs-configure).
HOLDS = RULES["visibility_timeout_s"].shared["timeouts"]
BATCH = RULES["batch_size"].shared
# The variables that name a file or folder, of which tables and records only show the name.
PATHS = [name for name, rule in RULES.items() if rule.shared.get("is_path")]


def read_settings(
    option: str, texts: Iterable[str], experiment: Experiment
) -> dict[str, list[Any]]:
    """The values of each NAME=V1,V2... of --set (a Terraform variable, or a key of the work order)
    or --order (a key of the work order), by name. Raises UsageError."""
    usable = list(experiment.order_axes)
    if option == "--set":
        others = {*experiment.unused, "experiment"}
        usable += [name for name in RULES if takes(name, experiment.name) and name not in others]
    settings: dict[str, list[Any]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        if not name or not listed:
            raise UsageError(f"{option}: {text!r} isn't of the form NAME=VALUE[,VALUE...]")
        if name in settings:
            raise UsageError(
                f"{option} {name}: given more than once",
                "give all its values at once, separated by commas",
            )
        if name not in usable:
            own = ["object"] if experiment.own_object else []
            near = difflib.get_close_matches(name, [*usable, *own], n=1)
            hint = f"did you mean {near[0]}?" if near else "leave it out"
            raise UsageError(f"{option} {name}: {experiment.name} has no such setting", hint)
        settings[name] = _values(option, name, listed, experiment)
    return settings


def read_single(option: str, texts: Iterable[str], experiment: Experiment) -> dict[str, Any]:
    """As `read_settings`, where each name has one value."""
    settings = read_settings(option, texts, experiment)
    for name, values in settings.items():
        if len(values) > 1:
            raise UsageError(f"{option} {name}: takes one value here, got {len(values)}")
    return {name: value for name, [value] in settings.items()}


def _values(option: str, name: str, listed: str, experiment: Experiment) -> list[Any]:
    """Read `v1,v2`. null is the default, and {...} and [...] are HCL or JSON.

    Commas within braces, brackets and double quotes don't separate values. Raises UsageError.
    """
    axis = next((axis for axis in experiment.axes if axis.variable == name), None)
    variable = None if axis and axis.in_order else RULES[name]
    try:
        values = [_value(part, variable) for part in hcl.split(listed)]
    except HclError as error:
        way_out = (
            'write a text with commas, quotes or brackets in double quotes ("a, b"), and an '
            "object like {minimum=2,maximum=20}"
        )
        raise UsageError(f"{option} {name}: {listed!r} can't be read: {error}", way_out) from None
    for value in values:
        if axis and (axis.in_order or axis.allowed) and not axis.takes(value):
            raise UsageError(f"{option} {name}: must be {axis.rule}, got {value!r}")
        if variable and (why := variable.refusal(value)):
            raise UsageError(f"{option} {name}: {why}", variable.fix)
    if len(set(map(hcl.text_of, values))) < len(values):
        way_out = "use --repeats to run cells again"
        raise UsageError(f"{option} {name}: a value is given twice", way_out)
    return values


def _value(text: str, variable: Rule | None) -> Any:
    if not text:
        raise HclError('a value is empty (an empty text is "")')
    if text == "null" or text[0] in '{["':
        value = hcl.value(text)
    elif variable is not None and variable.type == "string":
        return text
    else:
        try:
            value = json.loads(text, parse_constant=str)
        except ValueError:
            return text
    if variable is not None and variable.attributes and isinstance(value, int):
        # provisioned_pollers=50: minimum and maximum
        return dict.fromkeys(variable.attributes, value)
    return value if variable is None or isinstance(value, str) else variable.typed(value)


def refuse_broken_rules(values: Mapping[str, Any]) -> None:
    """Raise UsageError for a value that infra/ refuses; Terraform would do so only after the sweep
    has begun. The experiment itself isn't checked."""
    for name, value in values.items():
        if name in RULES and name != "experiment" and (why := RULES[name].refusal(value)):
            fix = f"correct --set {name}=..., TF_VAR_{name} or the *.tfvars file of infra/"
            raise UsageError(
                f"{name}: {why}", f"{fix}; {RULES[name].fix}" if RULES[name].fix else fix
            )
    batch_size, window_s = batch_size_of(values), values.get("batching_window_s") or 0
    if batch_size > BATCH["without_window"] and not window_s:
        way_out = "add --set batching_window_s=1, for --target aws"
        raise UsageError(f"batch_size = {batch_size}: {BATCH['window_rule']}", way_out)
    hidden_s, timeout_s = values.get("visibility_timeout_s"), values.get("timeout_s")
    if None not in (hidden_s, timeout_s) and hidden_s < least_hidden_s(values):
        raise UsageError(
            f"visibility_timeout_s: must be at least {HOLDS} x timeout_s"
            f"{' + batching_window_s' * bool(window_s)} = {least_hidden_s(values)}, got {hidden_s}",
            "leave it out, or use a shorter timeout_s",
        )


def least_hidden_s(values: Mapping[str, Any]) -> int:
    """Seconds for which the queue of a cell hides a received message by default."""
    return HOLDS * values["timeout_s"] + (values.get("batching_window_s") or 0)


def with_whole_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the paths of PATHS from the root; a relative one begins at the current
    folder."""
    paths = {name: str(_absolute(values[name])) for name in PATHS if values.get(name) is not None}
    return {**values, **paths}


def _absolute(path: Any) -> Path:
    return Path(os.path.realpath(Path(str(path)).expanduser()))


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell's ID in messages and records, such as memory_size=1024,concurrency_value=5."""
    names = {name: _absolute(cell[name]).name for name in PATHS if cell.get(name) is not None}
    return ",".join(f"{name}={hcl.text_of(value)}" for name, value in {**cell, **names}.items())
