"""The option --order of the verbs by hand: what a plan would say in a cell's messages."""

from __future__ import annotations

import argparse


def add_order_option(parser: argparse.ArgumentParser) -> None:
    """Declare --order."""
    parser.add_argument(
        "--order",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set a key of the message that the experiment leaves open; may be repeated "
        "(default: the first value of the experiment's matrix)",
    )
