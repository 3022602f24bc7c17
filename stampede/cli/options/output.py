"""The options --format, with the formats that there are, and --results-dir."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from stampede.cli.arguments import path
from stampede.runs.folder import RESULTS_DIR

FORMATS = ("table", "csv", "json")


def add_format_option(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Declare --format."""
    parser.add_argument(
        "--format", choices=formats, default="table", help="output format on stdout (default: %(default)s)"
    )


def add_results_dir_option(parser: argparse.ArgumentParser) -> None:
    """Declare --results-dir."""
    parser.add_argument(
        "--results-dir",
        metavar="DIR",
        type=path,
        default=RESULTS_DIR,
        help="where runs are stored (default: %(default)s)",
    )
