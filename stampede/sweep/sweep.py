"""Carries out a plan by `terraform apply`, flood and drain: one cell at a time, or the cells of a
stack in rounds. Whatever happens, the run's folder is consistent, and the stack is destroyed or its
remains are reported."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader import evidence
from loader.cell_load import CellLoad, prepare
from loader.collecting import Collecting, message_counts
from loader.dataset import put_manifest, put_objects
from loader.drain import Drained, drain, wait_for_round
from loader.executions import stop_left_running
from loader.invocations import seed, wait_for_permission
from loader.payloads import Payloads
from loader.sqs.message import Outcome
from loader.unfinished_cell import set_aside, whole_rounds
from stampede.cell import Cell
from stampede.errors import RunError, one_line
from stampede.experiment import DataObject
from stampede.insights import log_columns
from stampede.interruption import signals
from stampede.model.parameters import Parameters
from stampede.model.prediction import Prediction
from stampede.phrases import counted, duration
from stampede.planning.cost import Estimate
from stampede.planning.plan import Plan, resume_command, share_of_round
from stampede.progress import detail, say
from stampede.runs.account import CellAccount, stored_accounts
from stampede.runs.description import RunDescription, now
from stampede.runs.folder import RunFolder
from stampede.stacks import own_object, stack_lock
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.infra_variables import infra_defaults
from stampede.stacks.place import words
from stampede.stacks.target import Target
from stampede.sweep import server_side
from stampede.sweep.swept_stack import SweptStack

# PurgeQueue takes up to 60 s on AWS, which refuses another one of the queue meanwhile (SQS API
# reference).
PURGE_S = {"local": 2.0, "aws": 60.0}
# A purge deletes messages in flight too (same page). A host notices at its next heartbeat, within
# 15 s, and has 20 s for the calls in progress (functions/transfer/internal/worker).
HOST_ENDS_S = 40.0


class FailingCell(Exception):
    """The first messages of a cell have all failed; later cells would fail in the same way."""


class SweepRun:
    """One sweep in progress: its plan, its folder, and the stack that it holds."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        estimate: Estimate,
        stack: SweptStack,
        deadline_s: float | None,
        payloads: Payloads | None = None,
    ) -> None:
        self._plan, self._folder, self._estimate, self._stack = plan, folder, estimate, stack
        self._deadline_s, self._payloads = deadline_s, payloads
        self._defaults = infra_defaults(os.environ)
        self._description = RunDescription(
            folder,
            plan.experiment,
            targets.place(plan.target),
            plan=plan.as_dict(),
            cells=[cell.as_json() for cell in plan.cells],
            cost=estimate.as_dict(),
        )
        # as last applied, with these variables and objects
        self._target: Target | None = None
        self._variables: dict[str, Any] | None = None
        self._objects: Sequence[DataObject] = ()
        self._seeded: set[str] = set()  # since then
        self._is_permission_proven = True
        # Cells whose messages an earlier process may have sent.
        self._begun = self._description.begun

    def predicted(self, predictions: Mapping[str, Prediction], parameters: Parameters) -> None:
        """Keep the model's predictions and parameters with the run; stored before it begins."""
        self._description.predicted(predictions, parameters)

    def run(self) -> list[CellAccount]:
        """Run the unfinished cells and take the stack down; returns the accounts of the whole run.

        Ends with the first cell whose messages all fail. Raises RunError when a cell can't be
        carried out, and whatever interrupts it; the folder then has all finished cells.
        """
        left = [cell for cell in self._plan.cells if cell.name not in self._description.finished]
        if left:
            where = words(targets.place(self._plan.target))
            say(
                f"run {self._folder.run_id}: {counted(len(left), 'cell')} to run on {where}",
                style="bold",
            )
        else:
            say(f"run {self._folder.run_id} is complete: nothing is left to run", style="bold")
        try:
            if left:
                self._hold_own_object()
                self._stack.open()
                if self._payloads is not None:
                    self._payloads.store(self._folder)
                self._description.write()
                self._on_the_open_stack(left)
            elif self._has_left_its_stack():
                say("its stack is still applied", style="yellow")
                self._stack.open()
                self._stack.take_down(self._plan.variables(self._plan.cells[0], self._defaults))
        finally:
            log_columns.store(self._folder, at_end=True)
        # A complete run keeps its end; one that was cut off after its last cell has none yet.
        is_complete = len(self._description.finished) == len(self._plan.cells)
        if is_complete and not self._description.has_end:
            self._description.finish()
        detail("counting what became of every message, for table and report")
        return stored_accounts(self._folder)

    def _hold_own_object(self) -> None:
        """Make every message read the user's own object in its present version, which must be that
        from the beginning of the run."""
        own = own_object.of_plan(self._plan.target, self._plan.experiment, self._plan.cells)
        if own is not None:
            self._description.hold("--resume", own)
            self._objects, self._stack.is_guest = [own], True

    def _has_left_its_stack(self) -> bool:
        """Whether a run that was killed after its last cell left its stack; a run that kept it has
        noted its end."""
        is_own = stack_lock.owner(self._plan.target).get("run_id") == self._folder.run_id
        return is_own and not self._description.has_end

    def _on_the_open_stack(self, left: list[Cell]) -> None:
        """Run the cells, and take the stack down whatever happens."""
        try:
            try:
                self._blocks(left)
            except FailingCell as error:
                say(f"the sweep ends with {error}: later cells would fail as it does", style="red")
                self._say_how_to_go_on()
            server_side.collect(self._target, self._folder, kept=self._stack.keep)
        except KeyboardInterrupt:
            self._say_how_to_go_on()
            self._stack.is_interrupted = True
            # The embedded AWS ends with its sweep, and costs nothing: no need to ask.
            if self._plan.target == "aws":
                self._stack.keep = self._stack.keep or not _wants_destroy()
            raise
        except BaseException as error:
            # Reported again at the end, after minutes of destroying.
            say(
                f"the sweep ends early: {getattr(error, 'strerror', None) or one_line(error)}",
                style="red",
            )
            self._say_how_to_go_on()
            raise
        finally:
            try:
                self._fetch_what_is_owed()
            finally:
                self._stack.take_down(self._plan.variables(self._plan.cells[0], self._defaults))

    def _blocks(self, left: list[Cell]) -> None:
        done: list[Cell] = []
        for block in self._plan.blocks():
            if block[0] not in left:
                continue
            self._block(self._apply(block, f"{len(done) + 1} of {len(left)}"), block)
            done += block
            if to_come := left[len(done) :]:
                left_s = sum(self._estimate.cells_s[cell.name] for cell in to_come)
                say(f"{counted(len(to_come), 'cell')} left, about {duration(left_s)}", style="dim")

    def _apply(self, block: Sequence[Cell], place: str) -> Target:
        """The stack for the cells of a block, with its objects; cells that differ only in their
        work orders share both."""
        which = f"cell {place}: {block[0].name}"
        if len(block) > 1:
            rounds = counted(block[0].rounds, "round")
            which = f"{len(block)} cells from {place}, interleaved in {rounds}"
        wanted = self._plan.variables(block[0], self._defaults)
        if self._target is not None and wanted == self._variables:
            say(f"{which}: on the same stack", style="bold")
            return self._target
        is_first = self._target is None
        how_long = (
            "about a minute: the provider waits 25 s for each queue" if is_first else "about 10 s"
        )
        say(f"{which}: terraform apply ({how_long})", style="bold")
        self._target, self._variables = self._stack.apply(wanted), wanted
        if self._stack.has_new_permissions:
            self._is_permission_proven = False
        if is_first:
            self._description.describe(self._target, self._stack.terraform)
        if not any(item.bucket for item in self._objects):
            self._objects = self._target.experiment.objects(self._target)
            # Their sizes may be swept; existing objects of the right size stay.
            put_objects(self._target, self._objects)
        put_manifest(self._target)
        self._seeded.clear()
        return self._target

    def _block(self, target: Target, block: Sequence[Cell]) -> None:
        """Run the cells of a block, round by round, until every message is finished.

        Raises RunError for an unfinished one: it would run during the next cell, under other
        settings.
        """
        loads = {cell: CellLoad.of(target, cell.in_order(), self._objects) for cell in block}
        whole, started_at = self._take_up(target, loads), now()
        for cell, load in loads.items():
            self._begin(target, cell, load)
        outcomes: list[Outcome] = []
        for number in range(whole + 1, block[0].rounds + 1):
            outcomes += self._run_round(target, loads, number)
        self._drain(target, block)
        for outcome in outcomes:
            outcome.check()
        self._description.finish_cells(block, started_at)

    def _run_round(
        self, target: Target, loads: Mapping[Cell, CellLoad], number: int
    ) -> Iterator[Outcome]:
        """Send each cell's share of a round. If there are several rounds, each share is finished
        before the next cell's is sent; Athena's are finished when they are sent."""
        is_one_of_several = next(iter(loads)).rounds > 1
        if is_one_of_several:
            say(f"round {number} of {next(iter(loads)).rounds}", style="dim")
        for cell in self._plan.in_round(list(loads), number):
            outcome = self._send_share(target, cell, loads[cell], number)
            if not outcome.sent:
                outcome.check()  # there is nothing to wait for
            if is_one_of_several and loads[cell].execution is None:
                drained = wait_for_round(
                    target, self._folder, cell.name, number, deadline_s=self._deadline_s
                )
                self._refuse_unfinished(target, drained, [cell.name])
            if is_one_of_several:
                outcome.check()
            yield outcome

    def _take_up(self, target: Target, loads: Mapping[Cell, CellLoad]) -> int:
        """Set aside what an interrupted attempt left of a block; returns how many of its rounds
        were done."""
        shares = {cell.name: [len(share) for share in _shares(cell)] for cell in loads}
        whole = whole_rounds(self._folder, shares) if len(loads) > 1 else 0
        for cell, load in loads.items():
            if load.execution is not None:
                stop_left_running(target, self._folder, cell.name, load.execution)
        cut_off = [
            cell
            for cell in loads
            if set_aside(self._folder, cell.name, whole, is_begun=cell.name in self._begun)
        ]
        if any(loads[cell].execution is None for cell in cut_off):
            _empty_queue(target)
        return whole

    def _begin(self, target: Target, cell: Cell, load: CellLoad) -> None:
        """Do what precedes a cell's own messages: seeding, warm-up and preparation."""
        seed(target, cell.in_order(), self._seeded)
        if load.proof is not None and not self._is_permission_proven:
            wait_for_permission(target, cell.name, load.proof)
            self._is_permission_proven = True
        self._description.begin_cell(cell)
        if count := cell.warm_up_messages:
            say(f"warming up with {counted(count, 'message')}")
            load.send(target, self._folder, cell.name, range(count), warm_up=1).check()
            self._drain(target, [cell], quiet=True)
        prepare(target, self._folder, cell.name, load, deadline_s=self._deadline_s)

    def _send_share(self, target: Target, cell: Cell, load: CellLoad, number: int) -> Outcome:
        """Send a cell's share of a round. There is no start barrier for Athena's queries, which run
        one after the other."""
        share, barrier_s = _shares(cell)[number - 1], self._plan.start_barrier_s
        keys = {"round": number}
        if barrier_s is not None and load.execution is None:
            keys["start_at_ms"] = int((time.time() + barrier_s) * 1000)
        return load.send(target, self._folder, cell.name, share, quiet=True, **keys)

    def _drain(self, target: Target, cells: Sequence[Cell], *, quiet: bool = False) -> None:
        names = [cell.name for cell in cells]
        drained = drain(target, self._folder, cells=names, deadline_s=self._deadline_s, quiet=quiet)
        self._refuse_unfinished(target, drained, names)

    def _refuse_unfinished(self, target: Target, drained: Drained, names: Sequence[str]) -> None:
        """Raise RunError if messages of these cells are still on their way, and FailingCell if one
        of the cells fails."""
        if drained.left:
            which = names[0] if len(names) == 1 else counted(len(names), "cell")
            why = f"messages in progress, so the sweep stops here: {drained.left}"
            raise RunError(f"{which}: {why}")
        if drained.ended_early:
            _drop_messages(
                target, "so that no message comes back during another cell", PURGE_S[target.option]
            )
        if drained.failing:
            raise FailingCell(drained.failing)

    def _fetch_what_is_owed(self) -> None:
        """Read late log lines of finished cells a last time: the log group is destroyed with the
        stack."""
        target, finished = self._target, self._description.finished
        if target is None or not _owed(stored_accounts(self._folder), finished):
            return
        collecting = Collecting(target, self._folder)
        try:
            collecting.look(again=True)
            accounts = collecting.close()
            evidence.check_run(target, self._folder, collecting.latest_ms)
        except (BotoCoreError, ClientError) as error:
            say(f"{targets.explain(error, 'looking for late log lines', target)}", style="yellow")
            accounts = collecting.accounts()
        if (owed := _owed(accounts, finished)) and not self._stack.keep:
            say(
                f"{counted(owed, 'message has', 'messages have')} no record yet, and the log group "
                f"{target['log_group_name']} is destroyed with the stack: a line that arrives "
                "later is lost (--keep leaves the group, for `stampede drain`)",
                style="red",
            )

    def _say_how_to_go_on(self) -> None:
        command = resume_command(self._plan, self._folder.as_argument)
        command += " --keep" if self._stack.keep else ""
        say(f"completed cells and rounds are stored; resume with `{command}`", style="yellow")


def _shares(cell: Cell) -> list[range]:
    """The indices of the messages that a cell sends in each round."""
    return [
        share_of_round(cell.messages, cell.rounds, number) for number in range(1, cell.rounds + 1)
    ]


def _owed(accounts: list[CellAccount], cells: set[str]) -> int:
    """Messages of `cells` without a trace, or whose failed objects aren't all listed yet."""
    return sum(account.owing for account in accounts if account.cell in cells)


def _empty_queue(target: Target) -> None:
    """Delete what an interrupted attempt left in the queue: it would run during the new attempt.

    Work in progress can't be stopped. It would spoil a prepared cell, so wait for the function's
    timeout, or until a host has noticed the purge; locally nothing outlives the emulator of the
    killed run.
    """
    wait_s = PURGE_S[target.option]
    if target.kind != "local" and target.experiment.shared_list is not None:
        wait_s += target["timeout_s"] if target.outputs.get("function_name") else HOST_ENDS_S
    _drop_messages(target, "of the interrupted attempt", wait_s)


def _drop_messages(target: Target, why: str, wait_s: float) -> None:
    """Purge the queue, including messages in flight, and report those that stay.

    If an interrupted run's purge of the last minute is still in progress, purge again after it: it
    may leave messages that were sent after it began.
    """
    say(f"emptying the queue {why} ({wait_s:.0f} s)")
    sqs, url = target.client("sqs"), target["queue_url"]
    with targets.explained("emptying the queue", target):
        try:
            sqs.purge_queue(QueueUrl=url)
        except ClientError as error:
            if not code_of(error).endswith("PurgeQueueInProgress"):
                raise
            pause_s = PURGE_S[target.option]
            say(
                f"the queue was purged less than a minute ago: waiting {pause_s:.0f} s before "
                "purging it again"
            )
            time.sleep(pause_s)
            sqs.purge_queue(QueueUrl=url)
        time.sleep(wait_s)
        left = sum(message_counts(sqs, url))
    if left:
        say(
            f"{counted(left, 'message is', 'messages are')} still in the queue; one that runs "
            "during another cell takes a function from it, and is counted in its own cell",
            style="yellow",
        )


def _wants_destroy() -> bool:
    """Ask the user at the terminal, after Ctrl-C, whether to destroy the stack. The answer is yes
    without a terminal, or when it is closed; a second Ctrl-C keeps the stack."""
    if signals.first or not sys.stdin.isatty():
        return True
    say("Interrupted. Destroy the stack now? [Y/n] (Ctrl-C keeps it)", style="bold")
    try:
        return input().strip().lower() not in ("n", "no")
    except (KeyboardInterrupt, EOFError, OSError):
        return not sys.stdin.isatty()
