"""The plan that the options describe, the same for every verb that needs one."""

from __future__ import annotations

import argparse
import os

from experiments import EXPERIMENTS
from stampede.cli.options.plan import REPEATS, SEED, WARM_UP
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.plan import Plan, make_plan, with_rounds
from stampede.planning.settings import refuse_twice
from stampede.stacks import regions
from stampede.stacks.infra_variables import infra_defaults


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options describe. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    refuse_twice("--set", arguments.set, "give all its values at once, separated by commas")
    plan = make_plan(
        experiment,
        arguments.target,
        arguments.set,
        infra_defaults(os.environ),
        messages_per_concurrency=arguments.messages_per_concurrency or experiment.messages_per_concurrency,
        warm_up_per_concurrency=arguments.warm_up_per_concurrency or WARM_UP,
        repeats=arguments.repeats or REPEATS,
        seed=SEED if arguments.seed is None else arguments.seed,
        start_barrier_s=arguments.start_barrier_s,
    )
    # An estimate would give another region's prices for one that AWS doesn't have.
    for region in {str(cell.values["region"]) for cell in plan.cells}:
        if (unknown := regions.unknown(region)) is not None:
            found, way_out = unknown
            raise UsageError(f"region: {found}", way_out)
    if experiment.shared_list is not None:
        _refuse_another_count(arguments, plan)
    return with_rounds(plan, arguments.rounds)


def _refuse_another_count(arguments: argparse.Namespace, plan: Plan) -> None:
    """Raise UsageError where --messages-per-concurrency is given, but a list of keys is shared out."""
    if arguments.messages_per_concurrency is None:
        return
    for cell in plan.cells:
        if (count := EXPERIMENTS[plan.experiment].messages(cell.values)) is not None:
            raise UsageError(
                f"--messages-per-concurrency: {cell.name} takes {counted(count, 'message')}, which share one list of "
                "keys; leave it out, and use --repeats for more runs"
            )
