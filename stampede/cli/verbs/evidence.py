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
    for run_id in arguments.runs:
        folder = RunFolder.find(arguments.results_dir, run_id, "RUN_ID")
        stored = folder.read_json(evidence.FILE, {})
        if "checks" not in stored:
            if (folder.path / evidence.FILE).exists():
                lacking = "no checks in its evidence.json: a drain with --target aws writes them at its end"
            else:
                lacking = "no evidence.json: sweeps and drains with --target aws write it"
            raise UsageError(f"RUN_ID: run {folder.name} has {lacking}")
        named = {"run": folder.name} if several else {}
        rows += [named | row for row in evidence.rows(stored)]
    print_rows(rows, arguments.format)
    return 0
