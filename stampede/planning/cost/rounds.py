"""Into how many rounds the cells of a plan divide their messages: as many as interleave best without changing what a
cell measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments import EXPERIMENTS
from stampede.errors import UsageError
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import Plan, cell_name

OPTION = "--rounds"
# What an interval over rounds needs: MINIMUM_ROUNDS of report/statistics/rules.py. With more of them N functions would
# be busy for less of the time.
USUAL = 5


def with_rounds(plan: Plan, defaults: Mapping[str, Any], asked: int | None = None) -> Plan:
    """`plan` with the rounds of each cell that shares its stack: `asked`, or else as many as it has messages where N is
    1, and USUAL. No share is smaller than N, or N functions would never run at once.

    `defaults` are `infra_defaults()`. Raises UsageError where rounds are asked for and no cell can be interleaved, and
    as `demands` does.
    """
    once, experiment = replace(plan, repeats=1, rounds={}), EXPERIMENTS[plan.experiment]
    cells = {demand.name: demand for demand in demands(once, defaults)}
    found = {}
    for stack in once.stacks():
        own = [cells[cell.name] for cell in stack]
        # Emptying the destination before a cell's flood would take from under it what another cell copies.
        is_apart = len(own) == 1 or any(experiment.preparation(cell.values) for cell in own)
        count = 1 if is_apart else _rounds(own, asked)
        found |= {cell_name(cell.coordinates): count for cell in stack if count > 1}
    if asked is not None and asked > 1 and not found:
        raise UsageError(
            f"{OPTION} {asked}: no cells of this sweep can be interleaved: that takes two on one stack, each with at "
            "least 2 x N messages that share no list of keys",
            "leave it out, and use --repeats for more runs",
        )
    return replace(plan, rounds=found)


def _rounds(stack: Sequence[Demand], asked: int | None) -> int:
    """The rounds of cells that share a stack."""
    most = min(cell.messages // cell.concurrency for cell in stack)
    usual = most if stack[0].concurrency == 1 else USUAL
    return max(1, min(usual if asked is None else asked, most))
