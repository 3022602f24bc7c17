"""`stampede drain`: waits until every message sent is accounted for, and says what isn't."""

from __future__ import annotations

import argparse

from loader import target as targets
from loader.arguments import seconds
from loader.place import refuse_another
from loader.run.drain import drain
from loader.run.folder import RunFolder
from loader.run.stack_lock import holding
from loader.tables import FORMATS, print_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    targets.add_options(parser)
    parser.add_argument("--run", metavar="RUN_ID", help="the run to wait for (default: the newest in --results-dir)")
    add_deadline_option(parser)
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="how the account is printed (default: %(default)s)"
    )


def add_deadline_option(parser: argparse.ArgumentParser) -> None:
    """Declare --deadline-s."""
    parser.add_argument(
        "--deadline-s",
        metavar="SECONDS",
        type=seconds,
        help="give up so long after the start and say what is stuck (default: when no message has moved for as long as "
        "SQS may take to make a dead letter, max_receive_count + 1 visibility timeouts, and 10 minutes)",
    )


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
