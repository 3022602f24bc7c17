"""`stampede evidence`: prints what runs on AWS showed of the assumptions that Stampede makes."""

from __future__ import annotations

import argparse

from stampede.errors import UsageError
from stampede.runs import evidence
from stampede.runs.folder import RunFolder
from stampede.tables import print_rows


def run(arguments: argparse.Namespace) -> int:
    """Print a row a check, of several runs one after the other. Raises UsageError for a run without any."""
    several = len(arguments.runs) > 1
    rows = []
    for given in arguments.runs:
        folder = RunFolder.find(arguments.results_dir, given, "RUN_ID")
        found = evidence.rows(folder.read_json(evidence.FILE, {}))
        if not (folder.path / evidence.FILE).exists():
            raise UsageError(
                f"RUN_ID: run {folder.run_id} has no evidence.json: sweeps and drains with --target aws write it"
            )
        rows += [({"run": folder.run_id} if several else {}) | row for row in found]
    print_rows(rows, arguments.format)
    return 0
