"""`stampede drain`: waits until every message sent is accounted for, and says what isn't."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from loader.drain import drain
from loader.later_stack import is_later
from stampede.errors import RunError, UsageError
from stampede.insights.unrecorded import with_unrecorded
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.account import CellAccount, check, lost_lines, stored_accounts
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.place import is_at, is_of, refuse_another, stack_words
from stampede.stacks.stack_lock import holding
from stampede.stacks.target import Target
from stampede.tables import print_rows


def run(arguments: argparse.Namespace) -> int:
    """Wait, store records, print one account a cell on stdout; exit status 1 if a message is unaccounted for. Where the
    run's stack is gone, the account that is stored is printed."""
    folder = RunFolder.find(arguments.results_dir, arguments.run)
    try:
        target = targets.resolve(arguments)
    except targets.NoStackError as error:
        return _print_stored(folder, arguments.format, str(error))
    if arguments.run is None:
        folder = _newest_of(target, folder, arguments)
    stored = folder.read_json("run.json", {})
    refuse_another("--run", folder.name, stored, target.place)
    if not is_of(target.outputs, stored):
        applied, _ = stack_words(target.outputs, stored)
        return _print_stored(folder, arguments.format, f"the applied stack is {applied}")
    with holding(target.option, "drain", folder.run_id):
        if arguments.run is not None and is_later(target, folder):
            return _print_stored(folder, arguments.format, "the applied stack was created after its last message")
        folder.refuse_unwritable()
        try:
            drained = drain(
                target,
                folder,
                deadline_s=arguments.deadline_s,
                waits_for_redelivery=arguments.wait_for_redelivery,
            )
        except (KeyboardInterrupt, OSError) as error:
            resumes = f"`stampede drain --run {folder.as_argument}` resumes"
            error.add_note(f"the messages in the queue are still being processed; {resumes}")
            raise
    if drained.ended_early:
        say(
            "they run again when SQS redelivers them, also during a later flood: "
            f"`stampede drain --run {folder.as_argument} --wait-for-redelivery` waits for them"
        )
    _print(drained.accounts, arguments.format)
    say_why_failed(drained.accounts, folder)
    drained.check()
    return 0


def say_why_failed(accounts: Sequence[CellAccount], folder: RunFolder) -> None:
    """Name the query that shows why messages were given up, where any was."""
    if lost := sum(account.failed + account.dead_lettered + account.unanswered for account in accounts):
        say(f"{counted(lost, 'message')} never succeeded: `stampede query errors --run {folder.as_argument}` shows why")


def _newest_of(target: Target, newest: RunFolder, arguments: argparse.Namespace) -> RunFolder:
    """The newest run that was sent to the applied stack. Raises UsageError where there is none."""
    for folder in RunFolder.all_with(arguments.results_dir, "sent.jsonl"):
        described = folder.read_json("run.json", {})
        if is_at(described, target.place) and is_of(target.outputs, described) and not is_later(target, folder):
            say(f"run {folder.name}: the newest{' of the applied stack' if folder.name != newest.name else ''}")
            return folder
    stored = newest.read_json("run.json", {})
    refuse_another("--run", newest.name, stored, target.place)
    applied, other = stack_words(target.outputs, stored)
    why = f"is of {other}, but the applied stack is {applied} and has no run"
    if is_of(target.outputs, stored):
        why = f"was sent to an earlier stack, and the applied one has no run in {arguments.results_dir}"
    raise UsageError(
        f"--run: the newest run {newest.name} {why}; use `stampede flood` first, or --run {newest.name} for the stored "
        "account"
    )


def _print_stored(folder: RunFolder, form: str, why: str) -> int:
    """Print the account of what is stored, and say so. Raises UsageError where no account is stored, and RunError where
    a message is unaccounted for, or lines that were accounted for are lost."""
    gone = f"the stack of run {folder.name} is gone ({why.partition(';')[0]})"
    if not (folder.path / "accounting.json").exists():
        raise UsageError(
            f"--run: {gone}, and {folder.path} has no accounting.json: the run was never drained, or the file was "
            f"removed; restore it, or `stampede report {shlex.quote(str(folder.path))}` counts the other files"
        )
    accounts = with_unrecorded(stored_accounts(folder), folder.path)
    lost = lost_lines(folder, accounts)
    say(f"{gone}; this is {'what its files still add up to' if lost else 'the account stored with the run'}")
    # The cells that were sent since the run was last drained aren't in the file of its accounts.
    stored = {row.get("cell") for row in folder.read_json("accounting.json", [])}
    if missing := [account.cell for account in accounts if account.sent and account.cell not in stored]:
        say(
            f"never drained: {', '.join(missing)}; their log lines are gone with the stack, so nothing more can be "
            "fetched: run `stampede sweep --resume "
            f"{folder.as_argument}`, or flood again",
            style="yellow",
        )
    _print(accounts, form)
    if lost:
        raise RunError(lost)
    say_why_failed(accounts, folder)
    check(accounts)
    return 0


def _print(accounts: Sequence[CellAccount], form: str) -> None:
    # A table has no room for two accounts; the sentence of each cell has both.
    print_rows([account.as_row(objects=form != "table") for account in accounts], form)
