"""Reads `--set` and `--order` and checks their values, for every verb."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Axis, Experiment
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


def parse_setting(text: str, experiment: Experiment) -> tuple[str, list[Any]]:
    """Split `variable=v1,v2` of --set: a Terraform variable, or an axis of the work order. Raises
    UsageError."""
    axes = experiment.order_axes
    elsewhere = [name for other in EXPERIMENTS.values() for name in other.order_axes]
    name, listed = split_setting(
        "--set", text, [*RULES, *axes, *elsewhere], "infra/ has no variable"
    )
    if name == "experiment":
        raise UsageError(
            "--set experiment: the experiment isn't a setting of its own plan",
            "give it as EXPERIMENT",
        )
    is_own = name in axes or (name in RULES and takes(name, experiment.name))
    if not is_own or name in experiment.unused:
        raise UsageError(f"--set {name}: {experiment.name} doesn't use it", "leave it out")
    ruled = {axis.variable: axis for axis in experiment.axes if axis.in_order or axis.allowed}
    values = setting_values("--set", name, listed, ruled.get(name))
    if len(set(map(hcl.text_of, values))) < len(values):
        raise UsageError(
            f"--set {name}: a value is given twice", "use --repeats to run cells again"
        )
    return name, values


def refuse_twice(option: str, settings: Iterable[str], way_out: str) -> None:
    """Raise UsageError if two of the `settings`, NAME=VALUES, have the same name: Terraform would
    take the last one, but both may be meant."""
    for name, times in Counter(text.partition("=")[0] for text in settings).items():
        if times > 1:
            raise UsageError(f"{option} {name}: given more than once; {way_out}")


def split_setting(option: str, text: str, known: Collection[str], has_no: str) -> tuple[str, str]:
    """Split `name=values`. Raises UsageError for another form or an unknown name."""
    name, _, listed = text.partition("=")
    if not name or not listed:
        form = "VARIABLE=VALUE[,VALUE...]" if option == "--set" else "KEY=VALUE"
        raise UsageError(f"{option}: {text!r} isn't of the form {form}")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"known: {', '.join(sorted(known))}" if known else "leave it out"
        raise UsageError(
            f"{option}: {has_no} {name!r}", f"did you mean {near[0]}?" if near else hint
        )
    return name, listed


def setting_values(option: str, name: str, listed: str, axis: Axis | None) -> list[Any]:
    """Read `v1,v2` as values of the variable `name`, or of an `axis` of the work order. null is the
    default, and {...} and [...] are HCL or JSON.

    Commas within braces, brackets and double quotes don't separate values. Raises UsageError.
    """
    variable = None if axis and axis.in_order else RULES.get(name)
    try:
        values = [_value(part, variable) for part in hcl.split(listed)]
    except HclError as error:
        quote = (
            'write a text with commas, quotes or brackets in double quotes ("a, b"), and an '
            "object like"
        )
        unread = f"{option} {name}: {listed!r} can't be read: {error}"
        raise UsageError(unread, f"{quote} {{minimum=2,maximum=20}}") from None
    for value in values:
        if axis and not axis.takes(value):
            raise UsageError(f"{option} {name}: must be {axis.rule}, got {value!r}")
        if variable and (why := variable.refusal(value)):
            raise UsageError(f"{option} {name}: {why}", variable.fix)
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
    if (
        hidden_s is not None
        and timeout_s is not None
        and hidden_s < (least_s := least_hidden_s(values))
    ):
        least = f"{HOLDS} x timeout_s{' + batching_window_s' * bool(window_s)} = {least_s}"
        rule = f"must be at least {least}, got {hidden_s}"
        raise UsageError(
            f"visibility_timeout_s: {rule}", "leave it out, or use a shorter timeout_s"
        )


def least_hidden_s(values: Mapping[str, Any]) -> int:
    """Seconds for which the queue of a cell hides a received message by default."""
    return HOLDS * values["timeout_s"] + (values.get("batching_window_s") or 0)


def path_variables() -> list[str]:
    """The variables that name a file or folder, of which tables and records only show the name."""
    return [name for name, rule in RULES.items() if rule.shared.get("is_path")]


def absolute_path(path: Any) -> Path:
    """A path of a setting; a relative path begins at the current folder."""
    return Path(str(path)).expanduser().resolve()


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell's ID in messages and records, such as memory_size=1024,concurrency_value=5."""
    paths = path_variables()
    names = {
        name: absolute_path(cell[name]).name
        for name in cell
        if name in paths and cell[name] is not None
    }
    return ",".join(f"{name}={hcl.text_of(value)}" for name, value in {**cell, **names}.items())
