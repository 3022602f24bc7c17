"""What `stampede drain` takes."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import seconds
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.stack import add_stack_options

DESCRIPTION = """Wait until every message is accounted for, and report what isn't.

For every cell, sent = succeeded + failed + dead-lettered + unanswered (a
function took the message and wrote no record). Stores the records, and prints
an account of each cell. The exit status is 1 if a message is unaccounted for,
or if half of a cell's objects failed."""
EXAMPLES = (
    ("stampede drain", "wait for the newest run"),
    ("stampede drain --run RUN_ID --deadline-s 1800", "give up after half an hour"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    add_stack_options(parser)
    parser.add_argument("--run", metavar="RUN_ID", help="the run to wait for (default: the newest in --results-dir)")
    add_deadline_option(parser)
    parser.add_argument(
        "--wait-for-redelivery",
        action="store_true",
        help="wait until SQS redelivers messages in flight without a record, which takes up to max_receive_count "
        "visibility timeouts (default: stop once no record can come before that, and count them as unanswered)",
    )
    add_format_option(parser)


def add_deadline_option(parser: argparse.ArgumentParser) -> None:
    """Declare --deadline-s."""
    parser.add_argument(
        "--deadline-s",
        metavar="SECONDS",
        type=seconds,
        help="stop waiting this long after the start, and report what is stuck (default: when nothing has changed for "
        "max_receive_count + 1 visibility timeouts, which SQS may take to make a dead letter, and 10 minutes)",
    )
