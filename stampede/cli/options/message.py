"""The options of what is in a message: --order of the verbs by hand, and --payload."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import path


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


def add_payload_option(parser: argparse.ArgumentParser) -> None:
    """Declare --payload."""
    parser.add_argument(
        "--payload",
        metavar="FILE",
        type=path,
        help="JSON file that is the body of every message, for an experiment with a function of your own; or a list of "
        'objects with "payload" and "weight", of which each message gets one (default: {})',
    )
