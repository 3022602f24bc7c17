"""Print what a run on AWS showed of Stampede's assumptions.

Each assumption was held, contradicted, or not met. The rows come from the
run's evidence.json, which holds no account number, no name and no key:
docs/evidence.md says how to send it in.

examples:
  stampede evidence RUN_ID
      what one run showed
  stampede evidence RUN_A RUN_B --format csv
      two runs, as CSV
"""

from __future__ import annotations

import argparse

from stampede.cli.arguments import add, find_run
from stampede.errors import UsageError
from stampede.tables import print_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="one or more runs, by id or folder")
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each check, run by run. Raises UsageError for a run without checks."""
    from stampede.runs import evidence

    rows = []
    for name in arguments.runs:
        folder = find_run(arguments.results_dir, name, "RUN")
        stored = folder.read_json(evidence.FILE, {})
        if "checks" not in stored:
            raise UsageError(
                f"RUN: run {folder.name} has no checks in an {evidence.FILE}",
                "sweeps and drains with --target aws write them",
            )
        of_run = {"run": folder.name} if len(arguments.runs) > 1 else {}
        rows += [of_run | row for row in evidence.rows(stored)]
    print_rows(rows, arguments.format)
    return 0
