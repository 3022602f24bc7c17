"""What `stampede flood` takes."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import cell, positive_int
from stampede.cli.options.message import add_order_option, add_payload_option
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.stack import add_stack_options

DESCRIPTION = """Send the messages of one cell to the queue, so that N functions run at once.

Where the messages share a list of keys, one message goes first and prepares the
destination. Where they are queries, Athena runs them one after the other."""
EXAMPLES = (
    ("stampede flood", "a new run, with the experiment's number of messages x N"),
    ("stampede flood --messages 100 --dry-run", "print the first of 100 messages, and send nothing"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    add_stack_options(parser)
    parser.add_argument(
        "--messages",
        metavar="N",
        type=positive_int,
        help="how many messages to send (default: the experiment's number x the stack's concurrency_value)",
    )
    add_order_option(parser)
    add_payload_option(parser)
    parser.add_argument(
        "--run", metavar="RUN_ID", help="add to this run, or give a new run this id (default: a new run)"
    )
    parser.add_argument(
        "--cell",
        metavar="NAME",
        type=cell,
        help="name of the cell (default: the stack's settings, such as memory_size=2048,concurrency_value=10)",
    )
    parser.add_argument("--queue-name", metavar="NAME", help="send to this queue (default: the stack's queue)")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the first message and the count, and send nothing (default: send)",
    )
    add_format_option(parser)
