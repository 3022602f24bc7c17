"""What `stampede evidence` takes."""

from __future__ import annotations

import argparse

from stampede.cli.options.output import add_format_option, add_results_dir_option

DESCRIPTION = """Print what runs with --target aws showed of Stampede's assumptions about AWS.

Each assumption was held, contradicted, or not met. The rows are those of
evidence.json in the folder of the run, which holds no account number, no name
and no key: docs/evidence.md says how to send it in."""
EXAMPLES = (
    ("stampede evidence RUN_ID", "what one run showed"),
    ("stampede evidence RUN_A RUN_B --format csv", "two runs, as CSV"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    parser.add_argument("runs", metavar="RUN_ID", nargs="+", help="one or more runs, by id")
    add_format_option(parser)
