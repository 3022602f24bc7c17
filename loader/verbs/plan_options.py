"""The options that make a plan, the same for every verb that needs one."""

from __future__ import annotations

import argparse

from experiments import EXPERIMENTS
from loader.arguments import positive_int, seconds, whole_number
from loader.run.plan import Plan, make_plan


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Declare --set, --messages-per-concurrency and their like."""
    group = parser.add_argument_group("the plan")
    group.add_argument(
        "--set",
        metavar="VARIABLE=V1[,V2...]",
        action="append",
        default=[],
        help="sweep or fix a Terraform variable or a part of the order; may be repeated (default: the experiment's)",
    )
    group.add_argument(
        "--messages-per-concurrency",
        metavar="N",
        type=positive_int,
        help="messages for each unit of concurrency (default: the experiment's)",
    )
    group.add_argument(
        "--warm-up-per-concurrency",
        metavar="N",
        type=whole_number,
        default=0,
        help="messages for each unit of concurrency before the measured ones, in no figure (default: %(default)s)",
    )
    group.add_argument(
        "--repeats", metavar="N", type=positive_int, default=1, help="run every cell N times (default: %(default)s)"
    )
    group.add_argument(
        "--seed", metavar="N", type=whole_number, default=1, help="seed of the cells' order (default: %(default)s)"
    )
    group.add_argument(
        "--start-barrier-s",
        metavar="SECONDS",
        type=seconds,
        help="let the functions wait, so that all begin together this long after the flood (default: no barrier)",
    )


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options describe; raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    return make_plan(
        experiment,
        arguments.target,
        arguments.set,
        messages_per_concurrency=arguments.messages_per_concurrency or experiment.messages_per_concurrency,
        warm_up_per_concurrency=arguments.warm_up_per_concurrency,
        repeats=arguments.repeats,
        seed=arguments.seed,
        start_barrier_s=arguments.start_barrier_s,
    )
