"""A sweep's plan: its cells, their order and messages. The same options give the same plan."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from experiments import EXPERIMENTS, Experiment, Matrix, of_run
from stampede import phrases
from stampede.cell import Cell, batch_size_of, settings_text
from stampede.errors import UsageError
from stampede.planning.settings import (
    cell_name,
    read_settings,
    refuse_broken_rules,
    with_whole_paths,
)
from stampede.runs.stored_json import typed
from stampede.stacks import hcl
from stampede.stacks.infra_variables import takes
from stampede.variable_rules import RULES

MAX_CELLS = 1000
# An interval over rounds needs MINIMUM_ROUNDS of report/intervals.py. With more rounds N functions
# are busy for less of the time.
USUAL_ROUNDS = 5
OF_INFRA = {name: rule.default for name, rule in RULES.items()}


@dataclass(frozen=True)
class Plan:
    """Everything that decides what a sweep does, stored in run.json for `--resume`.

    `cells` are in the order in which they run. `swept` are the variables that name them, `fixed`
    those to which the matrix or --set gives one value in all cells.
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
        """The cells of each stack, which are of one repeat and differ only in their work orders."""
        return [list(cells) for _, cells in itertools.groupby(self.cells, lambda cell: cell.block)]

    def blocks(self) -> list[list[Cell]]:
        """The cells that run interleaved: all cells of a stack, or a single cell."""
        blocks: list[list[Cell]] = []
        for stack in self.stacks():
            blocks += [stack] if stack[0].rounds > 1 else [[cell] for cell in stack]
        return blocks

    def in_round(self, block: Sequence[Cell], number: int) -> list[Cell]:
        """The cells of a block in the order of its round `number` (from 1), shuffled by that and
        `seed`: randomised multiple interleaved trials (Abedi and Brecht, ICPE 2017)."""
        order = list(block)
        random.Random(f"{self.seed}, {number}, {block[0].name}").shuffle(order)
        return order

    def variables(self, cell: Cell, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The Terraform variables of a cell: those that the plan names, and those that differ from
        `defaults` (`infra_defaults()`). A value that only null stands for is null."""
        named = {"experiment", *self.fixed, *self.swept}
        unused = {*EXPERIMENTS[self.experiment].unused, *cell.in_order()}
        variables = {}
        for name, own in cell.values.items():
            value = None if _only_null_means(name, own) else own
            if name not in unused and (name in named or value != defaults.get(name)):
                variables[name] = value
        return variables

    def as_dict(self) -> dict[str, Any]:
        """The plan for run.json, without its experiment and cells, which stand next to it."""
        stored = asdict(replace(self, cells=()))
        return {name: stored[name] for name in stored if name not in ("experiment", "cells")}

    @classmethod
    def from_run(cls, manifest: Mapping[str, Any]) -> Plan:
        """The plan in a run.json, with defaults for variables that are newer. Raises ValueError if
        a part is missing or invalid, and UsageError for a value that its rule refuses."""
        experiment = of_run(manifest)
        stored = typed(manifest.get("cells"), list[Any])
        if not 0 < len(stored) <= MAX_CELLS:
            raise ValueError(f"it has {phrases.counted(len(stored), 'cell')}")
        cells = []
        for row in stored:
            cell = Cell.from_json(row, experiment)
            values = _checked(experiment, {**_defaults(experiment), **cell.values})
            cells.append(replace(cell, values=values))
        options = typed(manifest.get("plan"), dict[str, Any])
        plan = typed({**options, "experiment": experiment.name, "cells": []}, cls)
        return replace(plan, cells=tuple(cells))


def _only_null_means(name: str, value: Any) -> bool:
    return name in RULES and value in RULES[name].null_means


def _checked(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """`complete` values. Raises UsageError for a value that its rule refuses."""
    for name, axis in experiment.order_axes.items():  # before defaults are derived from them
        value = values.get(name) or None  # 0 is none
        if value is not None and not axis.takes(value):
            raise UsageError(f"{name}: must be {axis.rule}, got {value!r}")
    values = complete(experiment, values)
    refuse_broken_rules(values)
    return values


def _defaults(experiment: Experiment, defaults: Mapping[str, Any] = OF_INFRA) -> dict[str, Any]:
    """The defaults of the experiment's variables."""
    return {name: value for name, value in defaults.items() if takes(name, experiment.name)}


def make_plan(
    experiment: Experiment,
    target: str,
    settings: Sequence[str],
    defaults: Mapping[str, Any] = OF_INFRA,
    *,
    messages_per_concurrency: int,
    warm_up_per_concurrency: int = 0,
    repeats: int = 1,
    seed: int = 1,
    start_barrier_s: float | None = None,
) -> Plan:
    """The plan of `experiment` on `target`. The settings `variable=v1,v2` of --set replace values
    of the default matrix, and those replace `defaults`, which are `infra_defaults()`, or those of
    infra/ itself.

    If the matrix has several products of values, a text tells them apart: each product keeps the
    texts that it has among its own values, and one that keeps none is dropped. Numbers replace the
    values in all products, but no setting changes a number that a product has pinned. Two equal
    combinations are one cell.

    A variable that the experiment controls while another one is swept has its controlled value in
    every cell, unless it is set.

    Raises UsageError for an unknown variable, a value that is given twice or that its rule refuses,
    or more than MAX_CELLS cells.
    """
    chosen = read_settings("--set", settings, experiment)
    products, fixed = _with_settings(experiment.matrices[target], chosen)
    combinations = _combinations(products)
    _refuse_unused(chosen, combinations, fixed)
    if (count := len(combinations) * repeats) > MAX_CELLS:
        raise UsageError(
            f"--set: the matrix has {count} cells, and at most {MAX_CELLS} can run",
            "sweep fewer values",
        )
    swept = tuple(dict.fromkeys(name for product in products for name in product))
    several = [
        name for name in products[0] if len({str(cell.get(name)) for cell in combinations}) > 1
    ]
    defaults = _defaults(experiment, defaults)
    controlled = {
        key: value
        for name in several
        for key, value in experiment.controlled.get(name, {}).items()
        if defaults[key] is None and key not in swept
    }
    fixed = controlled | fixed
    cells = []
    numbers = range(1, repeats + 1) if repeats > 1 else [None]
    for repeat, coordinates in itertools.product(numbers, combinations):
        values = _cell_values(experiment, target, defaults, {**fixed, **coordinates})
        own = experiment.messages({**values, "messages_per_concurrency": messages_per_concurrency})
        at_once = values["concurrency_value"] * batch_size_of(values)
        cell = Cell(
            name=cell_name(coordinates | ({"repeat": repeat} if repeat else {})),
            values=values,
            axes=tuple(experiment.axes),
            settings=settings_text(values, several, experiment),
            repeat=repeat,
            messages=at_once * messages_per_concurrency if own is None else own,
            warm_up_messages=at_once * warm_up_per_concurrency,
        )
        cells.append(cell)
    return Plan(
        experiment=experiment.name,
        target=target,
        cells=_shuffled(cells, seed),
        swept=swept,
        fixed=tuple(fixed),
        messages_per_concurrency=messages_per_concurrency,
        warm_up_per_concurrency=warm_up_per_concurrency,
        repeats=repeats,
        seed=seed,
        start_barrier_s=start_barrier_s,
    )


# The values of each variable, of which every combination is a cell. A value that isn't in a tuple
# or list is pinned.
Product = dict[str, Any]


def _with_settings(
    matrix: Matrix, chosen: Mapping[str, list[Any]]
) -> tuple[list[Product], dict[str, Any]]:
    """The products of a matrix with the `chosen` values, by `make_plan`'s rule, and what all cells
    have the same. A chosen variable is the last in a cell's name."""
    products = [{**matrix.swept, **also} for also in ({}, *matrix.also)]
    fixed = dict(matrix.fixed)
    for name, values in chosen.items():
        fixed.pop(name, None)
        if len(values) == 1 and name not in matrix.swept:
            fixed[name] = values[0]
            continue
        is_choice = len(products) > 1 and all(isinstance(value, str) for value in values)
        for product in products:
            own = product.pop(name, ())
            if is_choice and name in matrix.swept:
                product[name] = [value for value in values if value in own]
            else:
                product[name] = values if isinstance(own, tuple | list) else own
        products = [product for product in products if product[name] != []]
    return products, fixed


def _combinations(products: Iterable[Product]) -> list[dict[str, Any]]:
    """The values of each cell by variable. Raises UsageError where different ones have one name."""
    by_name: dict[str, dict[str, Any]] = {}
    for product in products:
        listed = [own if isinstance(own, tuple | list) else [own] for own in product.values()]
        for values in itertools.product(*listed):
            cell = dict(zip(product, values, strict=True))
            name = cell_name(cell)
            if by_name.setdefault(name, cell) != cell:
                raise UsageError(
                    f"--set: two cells would be named {name}",
                    "rename a file or folder: its name alone counts",
                )
    return list(by_name.values())


def _refuse_unused(
    chosen: Mapping[str, list[Any]],
    combinations: Sequence[Mapping[str, Any]],
    fixed: Collection[str],
) -> None:
    """Raise UsageError for a value that no cell has, because all have a pinned one."""
    for name, values in chosen.items():
        used = {hcl.text_of(cell[name]) for cell in combinations if name in cell}
        if name not in fixed and not used.issuperset(map(hcl.text_of, values)):
            raise UsageError(
                f"--set {name}: is always {' or '.join(sorted(used))} in these cells",
                "leave it out",
            )


def _cell_values(
    experiment: Experiment, target: str, defaults: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """All values of a cell with `own`. Raises UsageError for a value that its rule refuses."""
    values = with_whole_paths(with_derived(experiment, target, own))
    return _checked(experiment, {**defaults, **values, "experiment": experiment.name})


def with_derived(experiment: Experiment, target: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with those that the matrix of `target` derives, where nobody set them."""
    whole = dict(values)
    for name, of_others in sorted(experiment.matrices[target].rest.items()):
        if whole.get(name) is None:
            whole[name] = of_others(whole)
    return whole


def complete(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` as Terraform converts them, with defaults in place of null."""
    whole = {
        name: RULES[name].typed(value) if name in RULES else value for name, value in values.items()
    }
    whole |= {
        name: default for name, default in experiment.defaults.items() if whole.get(name) is None
    }
    before: list[Any] = []
    for axis in experiment.axes:
        default = axis.default_of(before)
        # A default that can only be written as null leaves no choice: a mounted folder is copied,
        # whatever method was set.
        if axis.variable and (
            whole.get(axis.variable) is None or _only_null_means(axis.variable, default)
        ):
            whole[axis.variable] = default
        before.append(whole.get(axis.variable, default))
    return whole


def _shuffled(cells: Iterable[Cell], seed: int) -> tuple[Cell, ...]:
    """The cells in the order in which they run. Cells of a stack stay together; stacks, and the
    cells of each, are shuffled by `seed`, so that drift doesn't look like an effect of N."""
    stacks: dict[str, list[Cell]] = {}
    for cell in cells:
        of_stack = {name: cell.values[name] for name in cell.values.keys() - cell.in_order()}
        key = json.dumps([cell.repeat, of_stack], sort_keys=True)
        stacks.setdefault(key, []).append(cell)
    groups, dice = list(stacks.values()), random.Random(seed)
    dice.shuffle(groups)
    for group in groups:
        dice.shuffle(group)
    return tuple(
        replace(cell, block=str(at)) for at, group in enumerate(groups, 1) for cell in group
    )


def with_rounds(plan: Plan, asked: int | None = None) -> Plan:
    """`plan` with rounds for the cells that share a stack: `asked`, or by default one for each
    message if N is 1, else USUAL_ROUNDS. A round has at least N messages, or N functions would
    never run at once.

    Raises UsageError if rounds are asked for and no cells can be interleaved.
    """
    experiment = EXPERIMENTS[plan.experiment]
    cells: list[Cell] = []
    for stack in plan.stacks():
        most = min(cell.invocations // cell.n for cell in stack)
        usual = most if stack[0].n == 1 else USUAL_ROUNDS
        rounds = max(1, min(usual if asked is None else asked, most))
        # A cell that empties the destination before its flood would delete another cell's copies.
        is_apart = len(stack) == 1 or any(experiment.preparation(cell.values) for cell in stack)
        cells += [replace(cell, rounds=1 if is_apart else rounds) for cell in stack]
    if asked is not None and asked > 1 and all(cell.rounds == 1 for cell in cells):
        raise UsageError(
            f"--rounds {asked}: no cells of this sweep share a stack and have 2 x N messages each",
            "leave it out, and use --repeats for more runs",
        )
    return replace(plan, cells=tuple(cells))


def share_of_round(count: int, rounds: int, number: int) -> range:
    """The messages, of `count` from 0, that a cell sends in its round `number` (from 1). Rounds
    differ by one message at most."""
    return range(count * (number - 1) // rounds, count * number // rounds)


def resume_command(plan: Plan, run: str) -> str:
    """The command that resumes a run of `plan`; `run` is its ID as an argument."""
    return f"stampede sweep {plan.experiment} --target {plan.target} --resume {run}"
