"""What `stampede prices` takes."""

from __future__ import annotations

import argparse

from stampede.cli.options.output import add_format_option

DESCRIPTION = """Print the prices behind the estimates, or update them from AWS's price list.

An update keeps the earlier prices, so that an earlier estimate can be
calculated again."""
EXAMPLES = (
    ("stampede prices --region eu-central-1", "what the estimates assume for a region"),
    ("stampede prices --update --dry-run", "compare with AWS's current prices, and store nothing"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        "--region",
        metavar="NAME",
        help="AWS region; a price that isn't stored for it is shown for us-east-1 (default: us-east-1)",
    )
    add_format_option(parser)
    parser.add_argument(
        "--update",
        action="store_true",
        help="get current prices from AWS's Price List Query API (pricing:GetProducts), show the differences and store "
        "them; its filters follow AWS's documentation and haven't been tried on an account (default: no request)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --update: show the differences, store nothing (default: store)"
    )
