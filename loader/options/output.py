"""The option --format, and the formats that there are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

FORMATS = ("table", "csv", "json")


def add_format_option(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Declare --format."""
    parser.add_argument(
        "--format", choices=formats, default="table", help="output format on stdout (default: %(default)s)"
    )
