"""The plan that the options describe, the same for every verb that needs one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments import EXPERIMENTS
from stampede.cli.options.plan import REPEATS, SEED, WARM_UP
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.cost.enough_messages import with_enough_messages
from stampede.planning.cost.rounds import with_rounds
from stampede.planning.demand import demands
from stampede.planning.plan import Plan, make_plan, refuse_twice
from stampede.planning.predicting import NOTHING, Given
from stampede.stacks import regions
from stampede.stacks import target as targets
from stampede.stacks.infra_variables import infra_defaults


def plan_of(arguments: argparse.Namespace, given: Given = NOTHING) -> Plan:
    """The plan that the options describe; `given` is what is known beside it. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    refuse_twice("--set", arguments.set, "give all its values at once, separated by commas")
    plan = make_plan(
        experiment,
        arguments.target,
        arguments.set,
        messages_per_concurrency=arguments.messages_per_concurrency or experiment.messages_per_concurrency,
        warm_up_per_concurrency=arguments.warm_up_per_concurrency or WARM_UP,
        repeats=arguments.repeats or REPEATS,
        seed=SEED if arguments.seed is None else arguments.seed,
        start_barrier_s=arguments.start_barrier_s,
    )
    defaults = infra_defaults(os.environ)
    # An estimate would give another region's prices for one that AWS doesn't have.
    for region in {str({**defaults, **plan.variables(cell)}["region"]) for cell in plan.cells()}:
        if (unknown := regions.unknown(region)) is not None:
            found, way_out = unknown
            raise UsageError(f"region: {found}", way_out)
    if experiment.shared_list is not None:
        _refuse_another_count(arguments, plan, defaults)
    plan = with_rounds(plan, defaults, arguments.rounds)
    if arguments.messages:
        kind = targets.place(plan.target)["target"]
        plan = with_enough_messages(plan, defaults, kind, getattr(arguments, "budget_usd", None), given)
        most = with_rounds(plan, defaults, arguments.rounds).rounds
        plan = replace(plan, rounds={name: min(count, most.get(name, 1)) for name, count in plan.rounds.items()})
    return plan


def _refuse_another_count(arguments: argparse.Namespace, plan: Plan, defaults: Mapping[str, Any]) -> None:
    """Raise UsageError where an option gives a number of messages, but the shares of a list of keys do."""
    if not arguments.messages and arguments.messages_per_concurrency is None:
        return
    option = "--messages auto" if arguments.messages else "--messages-per-concurrency"
    for cell in demands(plan, defaults):
        if (count := EXPERIMENTS[plan.experiment].messages(cell.values)) is not None:
            raise UsageError(
                f"{option}: {cell.name} takes {counted(count, 'message')}, which share one list of keys; "
                "leave it out, and use --repeats for more runs"
            )
