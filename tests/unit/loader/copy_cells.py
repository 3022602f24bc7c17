"""Cells of server-side copies in numbers, as the checks take them."""

from dataclasses import replace

from experiments import EXPERIMENTS
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import make_plan


def cells_of(experiment: str, *settings: str, target: str = "aws") -> list[Demand]:
    """The cells of a plan with `--set` settings."""
    chosen = EXPERIMENTS[experiment]
    plan = make_plan(chosen, target, settings, messages_per_concurrency=chosen.messages_per_concurrency)
    return demands(plan)


def a_cell_of(experiment: str, *settings: str, target: str = "aws", **changes: object) -> Demand:
    """The first of them, with `changes`."""
    return replace(cells_of(experiment, "parallel_limit=100", *settings, target=target)[0], **changes)
