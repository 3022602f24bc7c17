"""What `stampede doctor` takes."""

from __future__ import annotations

import argparse

from experiments import EXPERIMENTS
from loader.arguments import dollars
from loader.options.output import add_format_option, add_results_dir_option
from loader.options.plan import add_plan_options

DESCRIPTION = """Check whether a sweep can run, and what it costs, before anything is created.

One line for each check, with the fix where something is wrong. Changes nothing.
The exit status is 1 if there is a problem."""
EXAMPLES = (
    ("stampede doctor download", "can this AWS account run the published matrix?"),
    ("stampede doctor copy --target local --set concurrency_value=1,2", "and this machine a smaller one?"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    parser.add_argument(
        "experiment",
        nargs="?",
        choices=EXPERIMENTS,
        default=next(iter(EXPERIMENTS)),
        metavar="EXPERIMENT",
        help=f"{', '.join(EXPERIMENTS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--target",
        choices=("local", "aws"),
        default="aws",
        help="where the sweep would run; aws is the endpoint that AWS_ENDPOINT_URL names, where it is set "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--budget-usd",
        metavar="USD",
        type=dollars,
        help="report a problem if the estimated cost is higher (default: no limit)",
    )
    add_plan_options(parser)
    add_format_option(parser)
