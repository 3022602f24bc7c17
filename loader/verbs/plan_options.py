"""The options that make a plan, the same for every verb that needs one."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from experiments import EXPERIMENTS
from loader import target as targets
from loader.arguments import positive_int, seconds, whole_number
from loader.cost.demand import demands
from loader.cost.enough_messages import with_enough_messages
from loader.errors import UsageError
from loader.infra_variables import infra_defaults
from loader.predicting import NOTHING, Given
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
    _add_number(group.add_mutually_exclusive_group())
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
        "--seed",
        metavar="N",
        type=whole_number,
        default=1,
        help="seed of the cells' order, and of the model's dice (default: %(default)s)",
    )
    group.add_argument(
        "--start-barrier-s",
        metavar="SECONDS",
        type=seconds,
        help="let the functions wait, so that all begin together this long after the flood (default: no barrier)",
    )


def _add_number(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument(
        "--messages-per-concurrency",
        metavar="N",
        type=positive_int,
        help="messages for each unit of concurrency, or for each slice where a cell's set is sliced (default: the "
        "experiment's)",
    )
    group.add_argument(
        "--messages",
        metavar="auto",
        choices=("auto",),
        help="auto: for each cell the fewest messages that put 80 %% of its operations' time at full N, within the "
        "budget where there is one (default: the experiment's)",
    )


def plan_of(arguments: argparse.Namespace, given: Given = NOTHING) -> Plan:
    """The plan that the options describe; `given` is what is known beside it. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    _refuse_twice(arguments.set)
    plan = make_plan(
        experiment,
        arguments.target,
        arguments.set,
        messages_per_concurrency=arguments.messages_per_concurrency or experiment.messages_per_concurrency,
        warm_up_per_concurrency=arguments.warm_up_per_concurrency,
        repeats=arguments.repeats,
        seed=arguments.seed,
        start_barrier_s=arguments.start_barrier_s,
    )
    defaults = infra_defaults(os.environ)
    option = "--messages auto" if arguments.messages else "--messages-per-concurrency"
    if (arguments.messages or arguments.messages_per_concurrency is not None) and experiment.key_plan is not None:
        _refuse_another_count(plan, defaults, option)
    if arguments.messages:
        kind = targets.place(plan.target)["target"]
        return with_enough_messages(plan, defaults, kind, getattr(arguments, "budget_usd", None), given)
    return plan


def _refuse_twice(settings: list[str]) -> None:
    """Raise UsageError for a variable that is set twice: Terraform would take the last, but both may be meant."""
    for name, times in Counter(setting.partition("=")[0] for setting in settings).items():
        if times > 1:
            raise UsageError(f"--set {name}: given {times} times; give all values at once: --set {name}=V1,V2")


def _refuse_another_count(plan: Plan, defaults: Mapping[str, Any], option: str) -> None:
    """Raise UsageError where a cell's messages are as many as the shares of its list of keys; `option` says so."""
    for cell in demands(plan, defaults):
        if (count := EXPERIMENTS[plan.experiment].messages(cell.values)) is not None:
            raise UsageError(
                f"{option}: {cell.name} takes {count:,} messages, which share one list of keys; "
                "leave it out, and use --repeats for more runs"
            )
