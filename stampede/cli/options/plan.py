"""What makes a plan: EXPERIMENT, --target, --set and the others, the same for every verb that needs one."""

from __future__ import annotations

import argparse

from experiments import EXPERIMENTS
from stampede.cli.arguments import dollars, positive_int, seconds, whole_number

# What a plan has where the option was left out; the option is None then, as --resume refuses each that was given.
WARM_UP, REPEATS, SEED = 0, 1, 1


def add_experiment(parser: argparse.ArgumentParser, default: str | None = None, otherwise: str | None = None) -> None:
    """Declare EXPERIMENT. It may be left out where there is a `default`, or where the help's `otherwise` says what that
    means."""
    left_out = default or otherwise
    parser.add_argument(
        "experiment",
        nargs="?" if left_out else None,
        choices=EXPERIMENTS,
        default=default,
        metavar="EXPERIMENT",
        help=", ".join(EXPERIMENTS) + (f" (default: {left_out})" if left_out else ""),
    )


def add_target_option(parser: argparse.ArgumentParser, default: str = "local", meaning: str = "") -> None:
    """Declare --target; `meaning` is for a verb that runs nothing there."""
    meaning = meaning or "where to run; aws is the endpoint that AWS_ENDPOINT_URL names, where it is set"
    parser.add_argument("--target", choices=("local", "aws"), default=default, help=f"{meaning} (default: %(default)s)")


def add_budget_option(parser: argparse.ArgumentParser, answer: str = "refuse to start") -> None:
    """Declare --budget-usd; `answer` is what the verb does where the estimate is higher."""
    parser.add_argument(
        "--budget-usd",
        metavar="USD",
        type=dollars,
        help=f"{answer} if the estimated cost is higher (default: no limit)",
    )


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Declare --set, --messages-per-concurrency and the others of `plan_options`."""
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--set",
        metavar="VARIABLE=V1[,V2...]",
        action="append",
        default=[],
        help="set a Terraform variable or a key of the message; several values are swept; may be repeated "
        "(default: the experiment's matrix)",
    )
    group.add_argument(
        "--messages-per-concurrency",
        metavar="N",
        type=positive_int,
        help="messages per unit of concurrency, or per slice where a cell's set of objects is sliced "
        "(default: the experiment's number)",
    )
    group.add_argument(
        "--warm-up-per-concurrency",
        metavar="N",
        type=whole_number,
        help=f"messages per unit of concurrency that are sent first and left out of all figures (default: {WARM_UP})",
    )
    group.add_argument("--repeats", metavar="N", type=positive_int, help=f"run every cell N times (default: {REPEATS})")
    group.add_argument(
        "--rounds",
        metavar="N",
        type=positive_int,
        help="interleave the cells that share a stack: each sends its messages in N parts, or in fewer so that no part "
        "has fewer messages than the cell's concurrency; 1 runs one cell after the other (default: a round for each "
        "message at concurrency 1, else 5)",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=whole_number,
        help=f"seed of the order in which cells run, and of the model's random numbers (default: {SEED})",
    )
    group.add_argument(
        "--start-barrier-s",
        metavar="SECONDS",
        type=seconds,
        help="make the functions wait, and start all operations at once this long after the flood "
        "(default: start without waiting)",
    )


def plan_options(arguments: argparse.Namespace) -> list[str]:
    """The options of a plan that were given, as they are written."""
    names = ["set", "messages-per-concurrency", "warm-up-per-concurrency", "repeats", "rounds", "seed"]
    values = {name: getattr(arguments, name.replace("-", "_")) for name in [*names, "start-barrier-s"]}
    return [f"--{name}" for name, value in values.items() if value not in (None, [])]
