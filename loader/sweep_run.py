"""Carries out a plan: one cell at a time through `terraform apply`, flood and drain; whatever happens, the run's folder
is consistent and the stack is taken down (or it is said what stays)."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from emulator import ministack, stack
from emulator.providers import prepare
from loader import emulator_verb
from loader import target as targets
from loader.accounting import CellAccount
from loader.cost import Estimate
from loader.dataset import put_object
from loader.drain import drain
from loader.errors import RunError
from loader.flood import check as check_flood
from loader.flood import flood
from loader.plan import Cell, Plan
from loader.progress import say
from loader.run_description import RunDescription
from loader.run_folder import RunFolder
from loader.target import Target
from loader.terraform import Terraform
from loader.unfinished_cell import set_aside

# PurgeQueue takes up to 60 s on AWS (SQS API reference).
PURGE_S = {"local": 2.0, "aws": 60.0}


class SweepRun:
    """One sweep in progress: its plan, its folder, and the stack that it holds."""

    def __init__(self, plan: Plan, folder: RunFolder, estimate: Estimate, *, deadline_s: float, keep: bool) -> None:
        self._plan, self._folder, self._estimate = plan, folder, estimate
        self._deadline_s, self._keep = deadline_s, keep
        self._description = RunDescription(folder, plan, estimate)

    def run(self) -> list[CellAccount]:
        """Run what isn't finished yet and take the stack down; returns the accounts of the whole run.

        Raises RunError when a cell fails, and whatever interrupts; the folder then holds all finished cells.
        """
        self._description.write()
        left = [cell for cell in self._plan.cells() if cell.name not in self._description.finished]
        say(f"run {self._folder.run_id}: {len(left)} cells to run on {self._plan.target}", style="bold")
        terraform = self._prepare()
        try:
            accounts = self._cells(terraform, left)
        except KeyboardInterrupt:
            self._say_how_to_go_on()
            self._keep = self._keep or not _wants_destroy()
            raise
        except BaseException:
            self._say_how_to_go_on()
            raise
        finally:
            self._take_down(terraform)
        self._description.finish()
        return accounts

    def _prepare(self) -> Terraform:
        """Start what the target needs, and get Terraform ready to apply; undone here if it fails half-way."""
        if self._plan.target == "aws":
            terraform = targets.aws_terraform()
            terraform.init()
            return terraform
        prepare()  # first: where providers have to be built this takes minutes
        emulator = emulator_verb.start(follow_parent=not self._keep)
        try:
            stack.lay_out()
            terraform = targets.local_terraform(emulator.endpoint_url)
            say("terraform init on the local copy of infra/ (a few seconds)")
            terraform.init()
        except BaseException:
            ministack.stop(stack.STATE_DIR)
            raise
        return terraform

    def _cells(self, terraform: Terraform, left: list[Cell]) -> list[CellAccount]:
        accounts: list[CellAccount] = []
        for number, cell in enumerate(left, start=1):
            how_long = "about a minute: the provider waits 25 s for each queue" if number == 1 else "about 10 s"
            say(f"cell {number} of {len(left)}: {cell.name}: applying ({how_long})", style="bold")
            terraform.apply(self._plan.variables(cell))
            target = self._target(terraform)
            if number == 1:
                self._description.describe(target, terraform)
                put_object(target, target["object_size_mb"])
                started = time.monotonic()  # the queues and the object are made once: no cell to come takes so long
            accounts = self._cell(target, cell)
            if number < len(left):
                self._say_what_is_left(left[number:], started, left[:number])
        return accounts

    def _cell(self, target: Target, cell: Cell) -> list[CellAccount]:
        """Warm up, flood and drain one cell; it counts as finished once every message has come to rest."""
        if set_aside(self._folder, cell.name):
            _empty_queue(target)
        started_at = datetime.now(UTC)
        if warm_ups := self._plan.warm_up_messages(cell):
            say(f"warming up with {warm_ups} messages")
            check_flood(flood(target, self._folder, cell.name, warm_ups, warm_up=True))
            drain(target, self._folder, cell=cell.name, deadline_s=self._deadline_s, quiet=True)
        start_at_ms = None
        if self._plan.start_barrier_s is not None:
            start_at_ms = int((time.time() + self._plan.start_barrier_s) * 1000)
        outcome = flood(target, self._folder, cell.name, self._plan.messages(cell), start_at_ms=start_at_ms)
        accounts = drain(target, self._folder, cell=cell.name, deadline_s=self._deadline_s)
        check_flood(outcome)
        self._description.finished_cell(cell, started_at)
        return accounts

    def _say_what_is_left(self, left: list[Cell], started: float, done: list[Cell]) -> None:
        """An estimate from the plan, corrected by how the cells so far compared with it."""
        planned_done_s = sum(self._estimate.cell_seconds(cell) for cell in done)
        planned_left_s = sum(self._estimate.cell_seconds(cell) for cell in left)
        left_s = planned_left_s * (time.monotonic() - started) / planned_done_s
        say(f"{len(left)} cells left, about {left_s / 60:.1f} min", style="dim")

    def _target(self, terraform: Terraform) -> Target:
        outputs = terraform.outputs()
        if self._plan.target == "local":
            return targets.local(outputs, terraform.environment["AWS_ENDPOINT_URL"])
        return Target("aws", outputs)

    def _take_down(self, terraform: Terraform) -> None:
        """Destroy the stack and stop the emulator, also after a failure or Ctrl-C; says what stays if that fails."""
        if self._keep:
            say(f"kept: the stack in {terraform.directory}; take it down with {self._how_to_remove(terraform)}")
            return
        is_local = self._plan.target == "local"
        say(f"destroying the stack ({'seconds' if is_local else 'about 3 minutes: the provider waits for queues'})")
        try:
            if is_local:
                _delete_local_queues(terraform)
            terraform.destroy(self._plan.variables(self._plan.cells()[0]), refresh=not is_local)
        except BaseException as error:
            say(f"the stack could not be destroyed; do it with {self._how_to_remove(terraform)}", style="red")
            if not isinstance(error, RunError):
                raise
        finally:
            if is_local:
                ministack.stop(stack.STATE_DIR)
                stack.forget_state()

    def _how_to_remove(self, terraform: Terraform) -> str:
        if self._plan.target == "local":
            return "`stampede emulator stop`"
        return f"`terraform -chdir={terraform.directory} destroy`"

    def _say_how_to_go_on(self) -> None:
        plan = self._plan
        command = f"stampede sweep {plan.experiment} --target {plan.target} --resume {self._folder.run_id}"
        say(f"the finished cells are stored; go on with `{command}`", style="yellow")


def _delete_local_queues(terraform: Terraform) -> None:
    """Delete the queues ahead of Terraform: the provider waits 130 s for a queue it deletes itself, to let the deletion
    spread through AWS, and not for one that is gone. Nothing has to spread through an emulator."""
    outputs = terraform.outputs()
    if not outputs:
        return
    target = targets.local(outputs, terraform.environment["AWS_ENDPOINT_URL"])
    try:
        for name in ("queue_url", "dead_letter_queue_url"):
            target.client("sqs").delete_queue(QueueUrl=target[name])
    except (BotoCoreError, ClientError) as error:
        raise targets.explain(error, "deleting the local queues", target) from None


def _empty_queue(target: Target) -> None:
    """Drop what an attempt that was cut off left in the queue: it would run beside the new attempt."""
    wait_s = PURGE_S[target.kind]
    say(f"emptying the queue of the attempt that was cut off ({wait_s:.0f} s)")
    try:
        target.client("sqs").purge_queue(QueueUrl=target["queue_url"])
    except (BotoCoreError, ClientError) as error:
        raise targets.explain(error, "emptying the queue", target) from None
    time.sleep(wait_s)


def _wants_destroy() -> bool:
    """Ask at a terminal whether the stack goes; without one it goes. A second Ctrl-C keeps it."""
    if not sys.stdin.isatty():
        return True
    say("Interrupted. Destroy the stack now? [Y/n] (Ctrl-C keeps it)", style="bold")
    try:
        return input().strip().lower() not in ("n", "no")
    except (KeyboardInterrupt, EOFError):
        return False
