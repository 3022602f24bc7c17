"""The stack that a sweep applies for each cell and takes down at the end, and its emulator."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import EXPERIMENTS
from loader.dataset import empty
from stampede.emulator import hosts, ministack, stack
from stampede.emulator.providers import prepare
from stampede.errors import RunError, UsageError
from stampede.interruption import signals
from stampede.phrases import counted
from stampede.progress import say
from stampede.stacks import embedded, stack_lock
from stampede.stacks import target as targets
from stampede.stacks.place import refuse_elsewhere
from stampede.stacks.target import Target
from stampede.stacks.terraform import StateLockedError, Terraform

# What the function may do (infra/modules/worker).
WORKERS_POLICY = "module.worker[0].aws_iam_role_policy."


class SweptStack:
    """One sweep's hold on the stack of its target. Call `open` first; whatever happens then,
    `take_down` ends it."""

    def __init__(self, kind: str, run_id: str, *, keep: bool, take_over: bool) -> None:
        self._kind, self._run_id, self._take_over = kind, run_id, take_over
        self.keep = keep
        # by Ctrl-C: a stack that ends with its emulator isn't destroyed piece by piece
        self.is_interrupted = False
        # of an embedded AWS with the user's own object, which is never stopped
        self.is_guest = False
        self.has_new_permissions = False  # since the last apply
        self._started_emulator = False
        self._joins = True  # nothing that this sweep has started
        self._terraform: Terraform | None = None
        self._access: ministack.Access | None = None  # of the embedded AWS
        self._applied: Mapping[str, Any] = {}
        # by another Terraform, before the first apply: the stack isn't this run's
        self._is_locked_out = False

    @property
    def terraform(self) -> Terraform:
        """Terraform in the stack's folder; available after `open`."""
        assert self._terraform is not None
        return self._terraform

    def open(self) -> None:
        """Start what the target needs, and initialize Terraform; undone if it fails half-way.

        Raises UsageError when another run's stack is applied and the user didn't ask to take it
        over.
        """
        if self._kind == "local":
            prepare()  # first: building providers takes minutes
            self._started_emulator = self._start_emulator()
        try:
            if self._kind == "aws":
                self._terraform = targets.aws_terraform()
            else:
                stack.lay_out()
                self._access = ministack.running(stack.STATE_DIR).access
                self._terraform = targets.local_terraform(self._access, follow_parent=not self.keep)
                say("terraform init on the local copy of infra/ (a few seconds)")
            self._terraform.init()
            self._refuse_foreign()
        except BaseException:
            if not self._joins:  # one that ran before may hold a stack that was kept
                ministack.stop(stack.STATE_DIR)
            raise
        stack_lock.own(self._kind, self._run_id, started_emulator=self._started_emulator)

    def apply(self, variables: Mapping[str, Any]) -> Target:
        """Apply the stack with these variables. Raises RunError."""
        is_first, self._applied = not self._applied, variables
        if self._kind == "local":
            replaced = stack.replaced_queues(variables["experiment"])
            embedded.delete_queues(replaced, self._access)
        try:
            written = self.terraform.apply(variables)
        except StateLockedError:
            self._is_locked_out = is_first and self._kind == "aws"
            raise
        self.has_new_permissions = any(address.startswith(WORKERS_POLICY) for address in written)
        target = self._target(self.terraform.outputs())
        if target.kind == "local":
            embedded.run_hosts(target.outputs, self._access, follow_parent=not self.keep)
        return target

    def take_down(self, variables: Mapping[str, Any]) -> None:
        """Destroy the stack, also after a failure or Ctrl-C, and stop an emulator that a sweep
        started; reports what stays.

        Terraform needs valid `variables` even if nothing has been applied yet.
        """
        signals.ignore_hangup()
        self._applied = self._applied or variables
        if self._is_locked_out:
            return
        if self.keep:
            where = f"the stack in {self.terraform.directory}"
            say(f"kept: {where}; remove it with {self.how_to_remove()}")
            return
        is_local = self._kind == "local"
        if self.is_interrupted and self._started_emulator:
            say("stopping the embedded AWS, which removes the stack")
            hosts.stop(stack.STATE_DIR)
            self._stop_emulator()
            return
        how_long = "seconds" if is_local else "about 3 minutes: the provider waits for queues"
        say(f"destroying the stack ({how_long})")
        try:
            if is_local:
                hosts.stop(stack.STATE_DIR)
                embedded.delete_queues(stack.applied_queues(), self._access)
            self._destroy(refresh=not is_local)
            stack_lock.disown(self._kind)
        except BaseException as error:
            self._say_what_stays(error)
            # After Ctrl-C this error would replace the interruption.
            if not isinstance(error, RunError | UsageError):
                raise
        finally:
            self._stop_emulator()

    def _stop_emulator(self) -> None:
        """Stop the emulator, and with it the stack, if a sweep started it."""
        if self._started_emulator:
            ministack.stop(stack.STATE_DIR)
            stack.forget_state()
            stack_lock.disown(self._kind)

    def how_to_remove(self) -> str:
        """The command that removes the stack, for a user to copy."""
        if self._kind == "local":
            return "`stampede emulator stop`" + (
                ", which deletes your object in it, too" if self.is_guest else ""
            )
        first = "`stampede dataset --remove`, then " if self._emptied() else ""
        return f"{first}`{self.terraform.destroy_command(self._applied)}`"

    def _target(self, outputs: dict[str, Any]) -> Target:
        """The stack with these outputs."""
        if self._kind == "local":
            return targets.local(outputs, self._access)
        return targets.configured(outputs)

    def _start_emulator(self) -> bool:
        """Start the emulator, or join it; returns whether a sweep started it, and so must stop
        it."""
        self._joins = ministack.running(stack.STATE_DIR) is not None
        embedded.start(follow_parent=not self.keep)
        is_of_a_sweep = not self._joins or bool(stack_lock.owner("local").get("started_emulator"))
        return is_of_a_sweep and not self.is_guest

    def _refuse_foreign(self) -> None:
        # A sweep that keeps the local stack may use one that was applied by hand.
        if self._kind == "local" and (self._take_over or self.keep):
            return
        applied = self.terraform.resources()
        if not applied:
            return
        owner = stack_lock.owner(self._kind).get("run_id")
        if self._take_over or owner == self._run_id:
            if self._kind == "aws":
                refuse_elsewhere(targets.place("aws"), self.terraform.outputs(), changes=True)
            return
        whose = f"by run {owner}" if owner else "by hand"
        removal = (
            "`stampede emulator stop`"
            if self._kind == "local"
            else "`terraform -chdir=infra destroy`"
        )
        raise UsageError(
            f"--target {self._kind}: a stack of {counted(len(applied), 'resource')} is already "
            f"applied ({whose}), and a sweep would change it and destroy it at the end; remove it "
            f"with {removal}, or use --take-over"
        )

    def _say_what_stays(self, error: BaseException) -> None:
        if isinstance(error, RunError | UsageError):
            say(str(error), style="red")
        if self._started_emulator:
            say("nothing stays: the stack ends with the embedded AWS", style="yellow")
            return
        say(f"the stack couldn't be destroyed; remove it with {self.how_to_remove()}", style="red")
        with contextlib.suppress(RunError, OSError):
            if left := self.terraform.resources():
                say(f"still there, according to Terraform's state: {', '.join(left)}", style="red")

    def _destroy(self, *, refresh: bool) -> None:
        """Empty the buckets that Terraform can't, and destroy the stack. After Ctrl-C, running
        functions may still write into an emptied bucket; once they are destroyed it is emptied
        again, and a second destroy removes the rest. Waits for errors that pass."""
        outputs: dict[str, Any] = {}
        if self._emptied():
            try:
                outputs = self.terraform.outputs()
            except RunError as error:
                say(f"{error}; so nothing was emptied before the destroy", style="red")
        self._empty_buckets(outputs)
        try:
            self.terraform.destroy(self._applied, refresh=refresh)
        except RunError as error:
            if not (self._empty_buckets(outputs) or self._has_waited_for(error)):
                raise
            self.terraform.destroy(self._applied, refresh=refresh)

    def _has_waited_for(self, error: RunError) -> bool:
        """Wait if the experiment declares that such an error passes; returns whether it did."""
        refusal = EXPERIMENTS[self._applied["experiment"]].passing_refusal
        if refusal is None or not re.search(refusal.pattern, str(error)):
            return False
        again = f"destroying again in {refusal.wait_s / 60:.0f} min"
        say(f"{refusal.reason}: {again} ({error})", style="yellow")
        time.sleep(refusal.wait_s)
        return True

    def _empty_buckets(self, outputs: dict[str, Any]) -> int:
        """Empty the buckets that Terraform can't; returns how many objects there were. An error is
        only reported: the destroy removes the rest, and reports what stays."""
        try:
            target = self._target(outputs)
            return sum(
                empty(target, bucket) for bucket in filter(None, map(outputs.get, self._emptied()))
            )
        except (RunError, UsageError) as error:
            say(
                f"{error}; `stampede dataset --remove` empties it, after which the stack can be "
                "destroyed",
                style="red",
            )
            return 0

    def _emptied(self) -> Sequence[str]:
        """The outputs that name buckets which Terraform can't empty."""
        return EXPERIMENTS[self._applied["experiment"]].emptied_before_destroy
