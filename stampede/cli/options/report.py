"""What `stampede report` takes."""

from __future__ import annotations

import argparse
from pathlib import Path

from stampede.cli.arguments import path, writable_file
from stampede.cli.options.output import FORMATS, add_format_option, add_results_dir_option

COMPARISON = Path("comparison.html")
DESCRIPTION = """Rebuild a run's table, figures and page from its stored records.

It needs neither AWS nor a network. With two runs it writes a page that compares
them."""
EXAMPLES = (
    ("stampede report results/RUN_ID", "rebuild results/RUN_ID/report.html and print the table"),
    ("stampede report results/RUN_A results/RUN_B --output ab.html", "compare two runs"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    parser.add_argument(
        "run_dirs",
        metavar="results/RUN_ID",
        type=path,
        nargs="+",
        help="the results folder of a run, or of two runs to compare",
    )
    parser.add_argument(
        "--output",
        metavar="FILE.html",
        type=writable_file(".html"),
        help=f"where to write the comparison of two runs (default: {COMPARISON})",
    )
    add_format_option(parser, (*FORMATS, "markdown"))
