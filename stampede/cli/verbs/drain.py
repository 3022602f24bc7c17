"""Wait until every message is accounted for, and report what isn't.

For every cell, sent = succeeded + failed + dead-lettered + unanswered (a
function took the message and wrote no record). Stores the records, and prints
an account of each cell; if the run's stack is gone, the stored account. The
exit status is 1 if a message is unaccounted for, or if half of a cell's objects
failed.

examples:
  stampede drain
      wait for the newest run
  stampede drain --run RUN_ID --deadline-s 1800
      give up after half an hour
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stampede.cli.arguments import add, add_flag, add_stack, find_run
from stampede.errors import RunError, UsageError
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.runs.account import CellAccount
    from stampede.stacks.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack(parser)
    add(parser, "--run", "--deadline-s", "--results-dir", "--format")
    add_flag(
        parser,
        "--wait-for-redelivery",
        "wait until SQS redelivers messages without a record (default: count them as unanswered)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Wait, store records, and print one account per cell on stdout, or the stored accounts where
    the run's stack is gone. Raises RunError if a message is unaccounted for."""
    from loader.drain import drain
    from stampede.stacks import stack_lock
    from stampede.stacks import target as targets

    folder = find_run(arguments.results_dir, arguments.run)
    try:
        target = targets.resolve(arguments.target)
    except targets.NoStackError as error:
        return _print_stored(folder, arguments.format, error.found)
    if arguments.run is None:
        folder = _newest_of(target, folder, arguments.results_dir)
    with stack_lock.holding(target.option, "drain", folder.run_id):
        if arguments.run is not None and (why := _why_gone(target, folder)):
            return _print_stored(folder, arguments.format, why)
        folder.refuse_unwritable()
        again = f"`stampede drain --run {folder.as_argument}"
        try:
            drained = drain(
                target,
                folder,
                deadline_s=arguments.deadline_s,
                waits_for_redelivery=arguments.wait_for_redelivery,
            )
        except (KeyboardInterrupt, OSError) as error:
            error.add_note(f"the messages in the queue are still being processed; {again}` resumes")
            raise
    if drained.ended_early:
        say(
            "SQS redelivers the unanswered messages, maybe during a later flood: "
            f"{again} --wait-for-redelivery` waits for that"
        )
    _print(drained.accounts, folder, arguments.format)
    drained.check()
    return 0


def say_why_failed(accounts: Sequence[CellAccount], folder: RunFolder) -> None:
    """Name the query that shows why messages never succeeded, if there are any."""
    if lost := sum(
        account.failed + account.dead_lettered + account.unanswered for account in accounts
    ):
        say(
            f"{counted(lost, 'message')} never succeeded: "
            f"`stampede query errors --run {folder.as_argument}` shows why"
        )


def _newest_of(target: Target, newest: RunFolder, results_dir: Path) -> RunFolder:
    """The newest run that was sent to the applied stack. Raises UsageError where there is none."""
    from stampede.stacks.place import is_at

    for folder in RunFolder.all_with(results_dir, "sent.jsonl"):
        if is_at(folder.read_json("run.json", {}), target.place) and not _why_gone(target, folder):
            say(f"run {folder.name}: the newest of the applied stack")
            return folder
    raise UsageError(
        f"--run: the applied stack has no run; the newest is {newest.name} "
        f"({_why_gone(target, newest)})",
        f"use `stampede flood` first, or --run {newest.name} for the stored account",
    )


def _why_gone(target: Target, folder: RunFolder) -> str:
    """Why the applied stack isn't that of a run; empty if it is. Raises UsageError for a run of
    another place."""
    from loader.later_stack import is_later
    from stampede.stacks.place import other_stack, refuse_another

    stored = folder.read_json("run.json", {})
    refuse_another("--run", folder.name, stored, target.place)
    later = "the applied stack was created after its last message"
    return other_stack(target.outputs, stored) or (later if is_later(target, folder) else "")


def _print_stored(folder: RunFolder, form: str, why: str) -> int:
    """Print the stored account, and say so. Raises UsageError where no account is stored, and
    RunError where a message is unaccounted for, or lines of the account are lost."""
    from stampede.insights.unrecorded import with_unrecorded
    from stampede.runs.account import check, lost_lines, stored_accounts

    gone = f"the stack of run {folder.name} is gone ({why})"
    drained = folder.read_json("accounting.json", None)
    if drained is None:
        raise UsageError(
            f"--run: {gone}, and {folder.path} has no accounting.json",
            f"restore it, or use `stampede report {shlex.quote(str(folder.path))}`",
        )
    accounts = with_unrecorded(stored_accounts(folder), folder.path)
    lost = lost_lines(folder, accounts)
    say(f"{gone}; this is the account of {'the files that are left' if lost else 'its last drain'}")
    # Cells that were sent after the last drain have no account.
    if missing := {account.cell for account in accounts if account.sent} - {
        row.get("cell") for row in drained
    }:
        cells = ", ".join(sorted(missing))
        say(f"never drained: {cells}; their log lines are gone with the stack", style="yellow")
    _print(accounts, folder, form)
    if lost:
        raise RunError(lost)
    check(accounts)
    return 0


def _print(accounts: Sequence[CellAccount], folder: RunFolder, form: str) -> None:
    # A table has no room for a second account, of objects; the line of each cell has both.
    print_rows([account.as_row(objects=form != "table") for account in accounts], form)
    say_why_failed(accounts, folder)
