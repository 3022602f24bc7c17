"""`stampede drain`: waits until every message sent is accounted for, and says what isn't."""

from __future__ import annotations

import argparse

from loader import target as targets
from loader.place import refuse_another
from loader.run.drain import drain
from loader.run.folder import RunFolder
from loader.run.stack_lock import holding
from loader.tables import print_rows


def run(arguments: argparse.Namespace) -> int:
    """Wait, store records, print one account a cell on stdout; exit status 1 if a message is unaccounted for."""
    folder = RunFolder.find(arguments.results_dir, arguments.run)
    target = targets.resolve(arguments)
    refuse_another("--run", folder.run_id, folder.read_json("run.json", {}), target.place)
    with holding(target.option, "drain", folder.run_id):
        drained = drain(target, folder, deadline_s=arguments.deadline_s)
    # A table has no room for two accounts; the sentence of each cell tells both.
    print_rows([one.as_row(objects=arguments.format != "table") for one in drained.accounts], arguments.format)
    drained.check()
    return 0
