"""What `stampede simulate` takes."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import crash_percent, path, positive_int, writable_file
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.plan import add_experiment, add_plan_options, add_target_option

DESCRIPTION = """Predict a sweep on AWS, cell by cell, before anything is created.

A model of the queue, the ramp-up and the limits runs each flood from the first
message to the last record: seconds of one operation, when N is reached, how
much of the time is in full overlap, how long it takes, what it costs, and the
bottleneck. It needs no account and makes no request."""
EXAMPLES = (
    ("stampede simulate download", "predict the published matrix on AWS"),
    ("stampede simulate download --set concurrency_value=10,50 --picture ramp.svg", "another matrix, and its ramp-up"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_experiment(parser)
    add_target_option(parser, default="aws", meaning="what to predict: AWS only")
    add_plan_options(parser)
    parser.add_argument(
        "--parameters",
        metavar="FILE",
        type=path,
        help="JSON list of parameters that replace the model's own: objects with name, value, low, high, unit, known, "
        "source and date (default: the model's own)",
    )
    parser.add_argument(
        "--run",
        metavar="RUN_ID",
        help="a run of `function`, whose cell with the smallest N says what an invocation of your handler takes "
        "(default: as the example)",
    )
    add_results_dir_option(parser)
    parser.add_argument(
        "--account-concurrency",
        metavar="N",
        type=positive_int,
        help="the account's concurrency limit, of which 100 can't be reserved (default: enough for every cell)",
    )
    parser.add_argument(
        "--bandwidth-quota",
        action="store_true",
        help='the account has the quota "Network bandwidth per execution environment": 625 Mbit/s at 2 GB of memory, '
        "up to 3 Gbit/s at 10 GB, outside of VPCs (default: no, about 0.6 Gbit/s at every size)",
    )
    parser.add_argument(
        "--crash-percent",
        metavar="PERCENT",
        type=crash_percent,
        help="share of the invocations that crash or throw an error, 0 to 50: the trigger slows down, and their "
        "messages come back after the visibility timeout; failures that a function reports don't count (default: 0)",
    )
    parser.add_argument(
        "--picture",
        metavar="FILE",
        type=writable_file(".svg", ".png"),
        help="draw how many functions would run at once over time, to a .svg or .png file (default: no picture)",
    )
    parser.add_argument(
        "--wide",
        action="store_true",
        help="print all figures: also count, extremes, quartiles and peaks (default: what fits into 100 columns)",
    )
    add_format_option(parser)
