"""A sweep's plan: which cells, in which order, with how many messages. Pure: the same options give the same plan."""

from __future__ import annotations

import difflib
import itertools
import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Axis, Experiment, of_run
from stampede import phrases
from stampede.cell import Cell, settings_text
from stampede.errors import UsageError
from stampede.planning.products import Product, products, replaced, rest
from stampede.runs import needed
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.stacks.infra_variables import declared, refuse_other_owner, takes
from stampede.variable_rules import RULES, Rule

MAX_CELLS = 1000


@dataclass(frozen=True)
class Plan:
    """Everything that decides what a sweep does; stored in run.json, so that `--resume` does the same.

    `cells` are in the order in which they run. `swept` are the variables that name them, and `fixed` those that the
    matrix or --set gives all of them one value.
    """

    experiment: str
    target: str
    cells: tuple[Cell, ...]
    swept: tuple[str, ...]
    fixed: tuple[str, ...]
    messages_per_concurrency: int
    warm_up_per_concurrency: int = 0
    repeats: int = 1
    seed: int = 1
    start_barrier_s: float | None = None

    def stacks(self) -> list[list[Cell]]:
        """The cells, together what shares a stack: those of one repeat that differ only in their work orders."""
        return [list(cells) for _, cells in itertools.groupby(self.cells, lambda cell: cell.block)]

    def blocks(self) -> list[list[Cell]]:
        """The cells, together what runs interleaved: the cells of a stack, or a cell alone."""
        blocks: list[list[Cell]] = []
        for stack in self.stacks():
            blocks += [stack] if stack[0].rounds > 1 else [[cell] for cell in stack]
        return blocks

    def in_round(self, block: Sequence[Cell], number: int) -> list[Cell]:
        """The cells of a block in the order of its round `number` (from 1), shuffled by that and `seed`: randomised
        multiple interleaved trials (Abedi and Brecht, ICPE 2017)."""
        order = list(block)
        random.Random(f"{self.seed}, {number}, {block[0].name}").shuffle(order)
        return order

    def variables(self, cell: Cell, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The Terraform variables of a cell: those that the plan is about, and those that Terraform would set
        otherwise; `defaults` are `infra_defaults()`. What only null stands for is null."""
        named, unused = ("experiment", *self.fixed, *self.swept), EXPERIMENTS[self.experiment].unused
        of_stack = {name: value for name, value in _of_stack(cell).items() if name not in unused}
        given = {name: None if _only_null_means(name, value) else value for name, value in of_stack.items()}
        return {name: value for name, value in given.items() if name in named or value != defaults.get(name)}

    def as_dict(self) -> dict[str, Any]:
        """The plan as it stands in run.json, beside its cells."""
        return {name: value for name, value in asdict(replace(self, cells=())).items() if name not in _ELSEWHERE}

    @classmethod
    def from_run(cls, manifest: Mapping[str, Any]) -> Plan:
        """The plan of a run.json. Raises ValueError where a part is missing or can't be right."""
        experiment = of_run(manifest)
        stored = needed.check(manifest.get("cells"), list[Any])
        if not 0 < len(stored) <= MAX_CELLS:
            raise ValueError(f"it has {phrases.counted(len(stored), 'cell')}")
        cells = [_read_again(Cell.from_json(row, experiment), experiment) for row in stored]
        _check_concurrency(cells)
        options = needed.check(manifest.get("plan"), dict[str, Any])
        return replace(needed.check({**options, "experiment": experiment.name, "cells": []}, cls), cells=tuple(cells))


# Of a plan, what run.json has beside it.
_ELSEWHERE = ("experiment", "cells")


def _of_stack(cell: Cell) -> dict[str, Any]:
    in_order = cell.in_order()
    return {name: value for name, value in cell.values.items() if name not in in_order}


def _only_null_means(name: str, value: Any) -> bool:
    return name in RULES and value in RULES[name].null_means


def _read_again(cell: Cell, experiment: Experiment) -> Cell:
    """A stored cell, with the defaults of variables that there weren't yet. Raises ValueError."""
    texts = [name for name, variable in declared().items() if variable.type == "string" and name != "experiment"]
    for name, value in ((name, cell.values.get(name)) for name in texts):
        rule = RULES.get(name, Rule())
        if value is not None and not (isinstance(value, str) and rule.allows(value)):
            raise ValueError(f"{name}: {rule.rule or 'must be a text'}, got {value!r}")
    for name, axis in experiment.order_axes.items():
        if name in cell.values and not axis.takes(cell.values[name]):
            raise ValueError(f"{name}: must be {axis.rule}, got {cell.values[name]!r}")
    try:
        return replace(cell, values=complete(experiment, {**_defaults(experiment), **cell.values}))
    except UsageError as error:
        raise ValueError(error.found) from None


def _defaults(experiment: Experiment, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Those of the variables that the experiment has, without others those of infra/."""
    if defaults is None:
        defaults = {name: variable.default for name, variable in declared().items()}
    return {name: value for name, value in defaults.items() if takes(name, experiment.name)}


def _check_concurrency(cells: Iterable[Cell]) -> None:
    """Raise ValueError for a concurrency below 1 or none; that it is a number `complete` has seen to."""
    for cell in cells:
        n = cell.values.get("concurrency_value")
        if type(n) is not int or n < 1:
            raise ValueError(f"concurrency_value: must be a whole number of 1 or more, got {n!r}")


def make_plan(
    experiment: Experiment,
    target: str,
    settings: Sequence[str],
    defaults: Mapping[str, Any] | None = None,
    *,
    repeats: int = 1,
    seed: int = 1,
    **options: Any,
) -> Plan:
    """The plan of `experiment` on `target` with `--set variable=v1,v2` settings laid over the default matrix, and that
    over `defaults`, `infra_defaults()` (without them what infra/ itself has).

    Where the matrix has several products of values, a text tells them apart: each keeps the given ones that are among
    its own, the first also those that are in none, and a product that is left with none is dropped. Numbers are the
    given ones in every product, but where a product has pinned its own. What stands in two products is one cell.

    What the experiment controls beside a swept variable has its value in every cell, unless it is set.

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
    _refuse_paths_of_one_name(fixed, parts)
    combinations = _combinations(parts)
    if (count := len(combinations) * repeats) > MAX_CELLS:
        raise UsageError(f"--set: the matrix has {count} cells, and at most {MAX_CELLS} can run", "sweep fewer values")
    several = [name for name in parts[0].values if len({str(cell.get(name)) for cell in combinations}) > 1]
    defaults = _defaults(experiment, defaults)
    controlled = _controlled(experiment, several, defaults)
    fixed = {name: value for name, value in controlled.items() if name not in parts[0].values} | fixed
    maker = _Maker(experiment, target, defaults, fixed, several, options)
    try:
        cells = [
            maker.cell(coordinates, repeat if repeats > 1 else None)
            for repeat in range(1, repeats + 1)
            for coordinates in combinations
        ]
        _check_concurrency(cells)
    except ValueError as error:
        raise UsageError(f"--set {error}") from None
    return Plan(
        experiment=experiment.name,
        target=target,
        cells=_shuffled(cells, seed),
        swept=tuple(dict.fromkeys(name for part in parts for name in part.values)),
        fixed=tuple(fixed),
        repeats=repeats,
        seed=seed,
        **options,
    )


@dataclass(frozen=True)
class _Maker:
    """What all cells of a plan have in common, of which each is made."""

    experiment: Experiment
    target: str
    defaults: Mapping[str, Any]
    fixed: Mapping[str, Any]
    several: Sequence[str]
    options: Mapping[str, Any]

    def cell(self, coordinates: Mapping[str, Any], repeat: int | None) -> Cell:
        """The cell with these values of the swept variables. Raises UsageError, and ValueError for what isn't a
        number."""
        experiment, options = self.experiment, self.options
        given = {**self.fixed, **coordinates}
        given |= rest(experiment, self.target, given)
        given |= {name: str(absolute_path(given[name])) for name in path_variables() if given.get(name) is not None}
        values = complete(experiment, {**self.defaults, **given, "experiment": experiment.name})
        if not (rule := RULES["architecture"]).allows(values["architecture"]):  # each has a price
            raise UsageError(f"architecture: {rule.rule}, got {values['architecture']!r}")
        own = experiment.messages({**values, "messages_per_concurrency": options["messages_per_concurrency"]})
        n = values["concurrency_value"]
        return Cell(
            name=cell_name(coordinates | ({} if repeat is None else {"repeat": repeat})),
            values=values,
            axes=tuple(experiment.axes),
            settings=settings_text(values, self.several, experiment),
            repeat=repeat,
            messages=n * options["messages_per_concurrency"] if own is None else own,
            warm_up_messages=n * options.get("warm_up_per_concurrency", 0),
        )


def _controlled(experiment: Experiment, several: Iterable[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What the experiment controls where `several` variables are swept, without what `defaults` set."""
    controlled = [experiment.controlled.get(name, {}) for name in several]
    return {name: value for values in controlled for name, value in values.items() if defaults[name] is None}


def _combinations(parts: Sequence[Product]) -> list[dict[str, Any]]:
    """The values of the swept variables of every cell, each once, in the order of the declaration."""
    cells = [cell for part in parts for cell in part.combinations()]
    return list({cell_name(cell): cell for cell in cells}.values())


def _shuffled(cells: Iterable[Cell], seed: int) -> tuple[Cell, ...]:
    """The cells in the order in which they run: those that share a stack together, stacks and the cells of each
    shuffled by `seed`, so that drift doesn't look like N."""
    stacks: dict[str, list[Cell]] = {}
    for cell in cells:
        stacks.setdefault(json.dumps([cell.repeat, _of_stack(cell)], sort_keys=True), []).append(cell)
    groups, dice = list(stacks.values()), random.Random(seed)
    dice.shuffle(groups)
    for group in groups:
        dice.shuffle(group)
    return tuple(replace(cell, block=str(at)) for at, group in enumerate(groups, 1) for cell in group)


def complete(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, with numbers as int and what is null at its default. Raises UsageError for what is no whole number."""
    numbers = [name for name, variable in declared().items() if variable.type == "number" and name in values]
    nullable = {name for name in numbers if values[name] is None and declared()[name].nullable}
    whole = {**values, **{name: _whole(values, name) for name in numbers if name not in nullable}}
    whole |= {name: default for name, default in experiment.defaults.items() if whole.get(name) is None}
    before: list[Any] = []
    for axis in experiment.axes:
        default = axis.default_of(before)
        # What only null stands for is no choice: a mounted folder is copied from, whatever way was set.
        if axis.variable and (whole.get(axis.variable) is None or _only_null_means(axis.variable, default)):
            whole[axis.variable] = default
        before.append(whole.get(axis.variable, default))
    return whole


def _whole(values: Mapping[str, Any], name: str) -> int:
    value = values[name]
    if isinstance(value, str) and value.isdecimal():
        return int(value)  # as Terraform takes it
    if not is_whole(value):
        raise UsageError(f"{name}: must be a whole number, got {value!r}", correction(name))
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether it is a number without a fraction."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0


def correction(name: str) -> str:
    """The way out of a wrong value of a variable: the places that it may come from."""
    return f"correct --set {name}=..., TF_VAR_{name} or the *.tfvars file of infra/"


def path_variables() -> list[str]:
    """The variables that name a file or folder: tables and records have its name alone."""
    return [name for name, rule in RULES.items() if rule.shared.get("is_path")]


def _refuse_paths_of_one_name(fixed: Mapping[str, Any], parts: Sequence[Product]) -> None:
    """Raise UsageError where two files or folders have the same name: nothing else tells their cells and records
    apart."""
    for name in path_variables():
        values = dict.fromkeys([value for part in parts for value in part.values.get(name, ())] + [fixed.get(name)])
        paths = {absolute_path(value) for value in values if value is not None}
        if len({path.name for path in paths}) < len(paths):
            found = f"--set {name}: two of {', '.join(map(str, filter(None, values)))} have the same name"
            raise UsageError(found, "rename one; tables and records have the name alone")


def absolute_path(path: Any) -> Path:
    """A path that a setting names; a relative one begins at the current folder."""
    return Path(str(path)).expanduser().resolve()


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
    variable = declared().get(name)
    if variable and not variable.nullable and variable.type != "number":  # Terraform takes null for its default
        values = [variable.default if value is None else value for value in values]
    if variable and variable.type == "number":
        for value in values:
            if not _is_number(value):  # of `1,000` Terraform reads 000 as 0
                fix = "write it like 1000: digits alone, and no zero first"
                raise UsageError(f"--set {name}: must be a number, got {value!r}", fix)
        values = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    if variable and (rule := RULES.get(name)) and rule.choices:
        for value in values:
            if value is not None and value not in (*rule.choices, *rule.null_means):
                raise UsageError(f"--set {name}: {rule.rule}, got {value!r}")
    named = {value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values}
    if len(named) < len(values):
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
    paths = path_variables()
    named = {name: absolute_path(cell[name]).name for name in cell if name in paths and cell[name] is not None}
    return ",".join(f"{name}={hcl.text_of(value)}" for name, value in {**cell, **named}.items())


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
