"""A sweep's plan: which cells, in which order, with how many messages. Pure: the same options give the same plan."""

from __future__ import annotations

import difflib
import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Axis, Experiment
from stampede import phrases
from stampede.errors import UsageError
from stampede.planning.products import Product, products, replaced, rest
from stampede.runs import needed
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.stacks.infra_variables import declared, refuse_other_owner
from stampede.variable_rules import RULES

MAX_CELLS = 1000


@dataclass(frozen=True)
class Cell:
    """One cell: its name as it stands in messages and records, its swept variables, and which repeat it is (from 1)."""

    name: str
    coordinates: dict[str, Any] = field(hash=False)
    repeat: int


@dataclass(frozen=True)
class Plan:
    """Everything that decides what a sweep does; stored in run.json, so that `--resume` does the same.

    The cells are the combinations of `swept`, and of each of `also`, which names the same variables. `rest` is what
    nobody set, and `rounds` in how many the cells that are interleaved send their messages, both by the cell's name
    without its repeat. A file or folder stands there by its name, and where it is in `paths`, by variable and name.
    """

    experiment: str
    target: str
    swept: dict[str, list[Any]]
    fixed: dict[str, Any]
    messages_per_concurrency: int
    warm_up_per_concurrency: int = 0
    repeats: int = 1
    seed: int = 1
    start_barrier_s: float | None = None
    order: list[str] = field(default_factory=list)
    also: list[dict[str, list[Any]]] = field(default_factory=list)
    rest: dict[str, dict[str, Any]] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)
    paths: dict[str, dict[str, str]] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """All cells in the order in which they run: shuffled by `seed`, so that drift doesn't look like N."""
        return [cell for stack in self.stacks() for cell in stack]

    def stacks(self) -> list[list[Cell]]:
        """The same, together what shares a stack: cells of one repeat that differ only in their work orders."""
        stacks: dict[str, list[Cell]] = {}
        for repeat in range(1, self.repeats + 1):
            for coordinates in self.combinations():
                name = cell_name(coordinates | ({"repeat": repeat} if self.repeats > 1 else {}))
                cell = Cell(name, coordinates, repeat)
                stacks.setdefault(json.dumps([repeat, self.variables(cell)], sort_keys=True), []).append(cell)
        groups, dice = list(stacks.values()), random.Random(self.seed)
        dice.shuffle(groups)
        for group in groups:
            dice.shuffle(group)
        return groups

    def blocks(self) -> list[list[Cell]]:
        """The same, together what runs interleaved: the cells of a stack, or a cell alone."""
        blocks: list[list[Cell]] = []
        for stack in self.stacks():
            blocks += [stack] if self.rounds_of(stack[0]) > 1 else [[cell] for cell in stack]
        return blocks

    def rounds_of(self, cell: Cell) -> int:
        """In how many rounds a cell sends its messages; 1 for a cell that runs alone."""
        return self.rounds.get(cell_name(cell.coordinates), 1)

    def in_round(self, block: Sequence[Cell], number: int) -> list[Cell]:
        """The cells of a block in the order of its round `number` (from 1), shuffled by that and `seed`: randomised
        multiple interleaved trials (Abedi and Brecht, ICPE 2017)."""
        order = list(block)
        random.Random(f"{self.seed}, {number}, {block[0].name}").shuffle(order)
        return order

    def combinations(self) -> list[dict[str, Any]]:
        """The coordinates of every cell, each once, in the order of the declaration."""
        cells = [cell for values in (self.swept, *self.also) for cell in Product(values).combinations()]
        return list({cell_name(cell): cell for cell in cells}.values())

    def values(self, cell: Cell) -> dict[str, Any]:
        """Everything that the plan sets in a cell: Terraform variables, and axes of the work order."""
        rest = self.rest.get(cell_name(cell.coordinates), {})
        values = {"experiment": self.experiment, **self.fixed, **rest, **cell.coordinates}
        return values | {name: path[values[name]] for name, path in self.paths.items() if values.get(name) is not None}

    def in_order(self, cell: Cell) -> dict[str, Any]:
        """What the plan sets by a cell's work orders."""
        axes = EXPERIMENTS[self.experiment].order_axes
        return {name: value for name, value in self.values(cell).items() if name in axes}

    def variables(self, cell: Cell) -> dict[str, Any]:
        """The Terraform variables of a cell."""
        axes = EXPERIMENTS[self.experiment].order_axes
        return {name: value for name, value in self.values(cell).items() if name not in axes}

    def concurrency(self, cell: Cell) -> int:
        """N of a cell."""
        return int(self.values(cell).get("concurrency_value", 1))

    def messages(self, cell: Cell, values: Mapping[str, Any]) -> int:
        """Messages that are measured in a cell, whose experiment knows it by `values`."""
        usual = {"messages_per_concurrency": self.messages_per_concurrency}
        own = EXPERIMENTS[self.experiment].messages({**values, **usual})
        return self.concurrency(cell) * self.messages_per_concurrency if own is None else own

    def warm_up_messages(self, cell: Cell) -> int:
        """Messages sent first in a cell, recorded and counted in no figure."""
        return self.concurrency(cell) * self.warm_up_per_concurrency

    def as_dict(self) -> dict[str, Any]:
        """The plan as it stands in run.json, with the order spelled out."""
        cells, values = self.cells(), asdict(self)
        if not self.paths:
            del values["paths"]
        return values | {
            "order": [cell.name for cell in cells],
            "cells": [
                {"cell": cell.name, "repeat": cell.repeat, **self.rest.get(cell_name(cell.coordinates), {})}
                | cell.coordinates
                for cell in cells
            ],
            "warm_up_messages": sum(self.warm_up_messages(cell) for cell in cells),
            "start_barrier": self.start_barrier_s is not None,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Plan:
        """The plan of a stored run. Raises ValueError where a part is missing or can't be right."""
        if stored.get("counts"):
            raise ValueError("its numbers of messages are those of an option that is gone, --messages auto")
        newer = {"also", "rest", "rounds", "paths"}
        values = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored and name != "order"}
        if missing := [name for name in cls.__dataclass_fields__ if name not in newer | {"order"} | set(values)]:
            raise ValueError(f"{missing[0]} is missing")
        needed.check(values, cls)
        plan = cls(**values)
        plan.check_values()
        return plan

    def check_values(self) -> None:
        """Raise ValueError for an experiment that isn't there, a variable that isn't a number where it must be one, or
        where there is no cell."""
        if self.experiment not in EXPERIMENTS:
            raise ValueError(f"experiment: must be one of {', '.join(EXPERIMENTS)}, got {self.experiment!r}")
        cells, variables = self.cells(), declared()
        if not cells:
            raise ValueError("it has no cells")
        for cell in cells:
            for name, value in self.variables(cell).items():
                variable = variables.get(name)
                if variable and variable.type == "number" and not _is_number(value):
                    raise ValueError(f"{name}: must be a number, got {value!r}")
            n = self.values(cell).get("concurrency_value", 1)
            if type(n) is not int or n < 1:
                raise ValueError(f"concurrency_value: must be a whole number of 1 or more, got {n!r}")


def make_plan(experiment: Experiment, target: str, settings: Sequence[str], **options: Any) -> Plan:
    """The plan of `experiment` on `target` with `--set variable=v1,v2` settings laid over the default matrix.

    Where the matrix has several products of values, a text tells them apart: each keeps the given ones that are among
    its own, the first also those that are in none, and a product that is left with none is dropped. Numbers are the
    given ones in every product, but where a product has pinned its own. What stands in two products is one cell.

    Raises UsageError for an unknown variable, a value twice or of the wrong kind, a concurrency that isn't a whole
    number above 0, or more than MAX_CELLS cells.
    """
    matrix = experiment.matrices[target]
    parts, fixed = products(matrix), dict(matrix.fixed)
    given_values = dict(parse_setting(setting, experiment) for setting in settings)
    for name, values in given_values.items():
        fixed.pop(name, None)
        if len(values) == 1 and not any(name in part.values for part in parts):
            fixed[name] = values[0]
        else:
            parts = replaced(parts, name, values)
    _refuse_what_is_pinned(given_values, parts)
    plan = Plan(experiment.name, target, parts[0].values, fixed, also=[part.values for part in parts[1:]], **options)
    plan = _with_short_names(plan)
    if (count := len(plan.combinations()) * plan.repeats) > MAX_CELLS:
        raise UsageError(f"--set: the matrix has {count} cells, and at most {MAX_CELLS} can run", "sweep fewer values")
    try:
        plan.check_values()
    except ValueError as error:
        raise UsageError(f"--set {error}") from None
    unset = {cell_name(cell): rest(experiment, target, {**fixed, **cell}) for cell in plan.combinations()}
    return replace(plan, rest={name: values for name, values in unset.items() if values})


def _with_short_names(plan: Plan) -> Plan:
    """The plan with files and folders by their names; relative paths begin at the current folder. Raises UsageError
    where two have the same name: nothing else tells their cells and records apart."""
    paths: dict[str, dict[str, str]] = {}
    for name in (name for name, rule in RULES.items() if rule.shared.get("is_path")):
        swept = [value for product in (plan.swept, *plan.also) for value in product.get(name, ())]
        values = [value for value in dict.fromkeys([*swept, plan.fixed.get(name)]) if value is not None]
        named = {path.name: str(path) for path in map(absolute_path, values)}
        if len(named) < len(values):
            found = f"--set {name}: two of {', '.join(map(str, values))} have the same name"
            raise UsageError(found, "rename one; tables and records have the name alone")
        if named:
            paths[name] = named

    def short(values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(values) | {
            name: [_name(value) for value in values[name]] if isinstance(values[name], list) else _name(values[name])
            for name in paths.keys() & values.keys()
        }

    also = [short(product) for product in plan.also]
    return replace(plan, swept=short(plan.swept), also=also, fixed=short(plan.fixed), paths=paths)


def absolute_path(path: Any) -> Path:
    """A path that a setting names; a relative one begins at the current folder."""
    return Path(str(path)).expanduser().resolve()


def _name(path: Any) -> str | None:
    return None if path is None else absolute_path(path).name


def _refuse_what_is_pinned(given_values: Mapping[str, Sequence[Any]], left: Sequence[Product]) -> None:
    """Raise UsageError for values that no product takes: each that is left has pinned its own."""
    for name, values in given_values.items():
        pinned = [product.values[name][0] for product in left if name in product.pinned]
        if len(pinned) == len(left) and any(value not in pinned for value in values):
            always = " or ".join(hcl.text_of(value) for value in dict.fromkeys(pinned))
            raise UsageError(f"--set {name}: is always {always} in these cells", "leave it out")


def parse_setting(text: str, experiment: Experiment) -> tuple[str, list[Any]]:
    """Split `variable=v1,v2` of --set: a Terraform variable, or an axis of the work order. Raises UsageError."""
    known = {**declared(), **experiment.order_axes}
    name, _, _ = text.partition("=")
    if name not in known and (others := [other.name for other in EXPERIMENTS.values() if name in other.order_axes]):
        owners = f"is a key of the messages of {phrases.listed(others)}"
        raise UsageError(f"--set {name}: {owners}; {experiment.name} doesn't use it")
    name, listed = split_setting("--set", text, known, "infra/ has no variable")
    if name == "experiment":
        raise UsageError("--set experiment: the experiment isn't a setting of its own plan", "give it as EXPERIMENT")
    if name not in experiment.order_axes:
        refuse_other_owner(name, experiment.name)
    if name in experiment.unused:
        raise UsageError(f"--set {name}: has no effect on {experiment.name}", "leave it out")
    ruled = {axis.variable: axis for axis in experiment.axes if axis.in_order or axis.allowed}
    values = setting_values("--set", name, listed, ruled.get(name))
    if (variable := declared().get(name)) and variable.type == "number":
        for value in values:
            if not _is_number(value):  # of `1,000` Terraform reads 000 as 0
                fix = "write it like 1000: digits alone, and no zero first"
                raise UsageError(f"--set {name}: must be a number, got {value!r}", fix)
        values = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    if variable and (rule := RULES.get(name)) and rule.choices:
        for value in values:
            if value is not None and value not in (*rule.choices, *rule.null_means):
                raise UsageError(f"--set {name}: {rule.rule}, got {value!r}")
    if len({json.dumps(value, sort_keys=True) for value in values}) < len(values):
        raise UsageError(f"--set {name}: a value is given twice", "use --repeats to run cells again")
    return name, values


def resume_command(plan: Plan, run: str) -> str:
    """The command that goes on with a run of `plan`; `run` is its id as an argument."""
    return f"stampede sweep {plan.experiment} --target {plan.target} --resume {run}"


def refuse_twice(option: str, settings: Iterable[str], way_out: str) -> None:
    """Raise UsageError for a name that more than one of the `settings`, NAME=VALUES, gives: Terraform would take the
    last, but both may be meant."""
    for name, times in Counter(text.partition("=")[0] for text in settings).items():
        if times > 1:
            raise UsageError(f"{option} {name}: given more than once; {way_out}")


def split_setting(option: str, text: str, known: Collection[str], has_no: str) -> tuple[str, str]:
    """The name and the text of the values of `name=values`; raises UsageError for another form or an unknown name."""
    name, equals, listed = text.partition("=")
    if not equals or not name or not listed:
        form = "VARIABLE=VALUE[,VALUE...]" if option == "--set" else "KEY=VALUE"
        raise UsageError(f"{option}: {text!r} isn't of the form {form}")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"known: {', '.join(sorted(known))}" if known else "leave it out"
        hint = f"did you mean {near[0]}?" if near else hint
        raise UsageError(f"{option}: {has_no} {name!r}", hint)
    return name, listed


def setting_values(option: str, name: str, listed: str, axis: Axis | None) -> list[Any]:
    """Read `v1,v2`; null, true, false and numbers become such, {...} and [...] are read as HCL or JSON.

    Braces, brackets and double quotes hold together what belongs to one value; those of an `axis` must be of its kind.
    Raises UsageError.
    """
    try:
        values = [_value(part) for part in hcl.split(listed)]
    except HclError as error:
        raise UsageError(
            f"{option} {name}: {listed!r} can't be read: {error}",
            "write a text with commas, quotes or "
            'brackets in double quotes ("a, b"), and an object like {minimum=2,maximum=20}',
        ) from None
    for value in values if axis else ():
        if not axis.takes(value):
            raise UsageError(f"{option} {name}: must be {axis.rule}, got {value!r}")
    return values


def _is_number(value: Any) -> bool:
    return value is None or type(value) in (int, float)


def share_of_round(count: int, rounds: int, number: int) -> range:
    """Which of `count` messages, from 0, a cell sends in its round `number` (from 1): shares differ by one at most."""
    return range(count * (number - 1) // rounds, count * number // rounds)


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell's readable id, as it stands in messages and records: memory_size=1024,concurrency_value=5."""
    return ",".join(f"{name}={hcl.text_of(value)}" for name, value in cell.items())


def _value(text: str) -> Any:
    if not text:
        raise HclError('a value is empty (an empty text is "")')
    if text == "null" or text[0] in '{["':
        return hcl.value(text)
    try:
        value = json.loads(text, parse_constant=str)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
