"""Into how many rounds the cells of a plan divide their messages: as many as interleave best without changing what a
cell measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.errors import UsageError
from stampede.planning.plan import Plan

OPTION = "--rounds"
# What an interval over rounds needs: MINIMUM_ROUNDS of report/intervals.py. With more of them N functions would
# be busy for less of the time.
USUAL = 5


def with_rounds(plan: Plan, asked: int | None = None) -> Plan:
    """`plan` with the rounds of each cell that shares its stack: `asked`, or else as many as it has messages where N is
    1, and USUAL. No share is smaller than N, or N functions would never run at once.

    Raises UsageError where rounds are asked for and no cell can be interleaved.
    """
    experiment = EXPERIMENTS[plan.experiment]
    cells: list[Cell] = []
    for stack in plan.stacks():
        # Emptying the destination before a cell's flood would take from under it what another cell copies.
        is_apart = len(stack) == 1 or any(experiment.preparation(cell.values) for cell in stack)
        rounds = 1 if is_apart else _rounds(stack, asked)
        cells += [replace(cell, rounds=rounds) for cell in stack]
    if asked is not None and asked > 1 and all(cell.rounds == 1 for cell in cells):
        raise UsageError(
            f"{OPTION} {asked}: no cells of this sweep can be interleaved: that takes two on one stack, each with at "
            "least 2 x N messages that share no list of keys",
            "leave it out, and use --repeats for more runs",
        )
    return replace(plan, cells=tuple(cells))


def _rounds(stack: Sequence[Cell], asked: int | None) -> int:
    """The rounds of cells that share a stack."""
    most = min(cell.messages // cell.n for cell in stack)
    usual = most if stack[0].n == 1 else USUAL
    return max(1, min(usual if asked is None else asked, most))
