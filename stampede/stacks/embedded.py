"""Starts the embedded AWS, and applies the local copy of infra/ to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from stampede.emulator import hosts, ministack, stack
from stampede.errors import UsageError
from stampede.progress import say
from stampede.stacks import stack_lock
from stampede.stacks.target import explained, local, local_terraform


def start(*, follow_parent: bool = False) -> ministack.Emulator:
    """Start the embedded AWS unless it runs; a new one begins with an empty Terraform state."""
    if (emulator := ministack.running(stack.STATE_DIR)) is not None:
        if not emulator.answers():
            raise UsageError(
                f"the embedded AWS: process {emulator.pid} doesn't answer (its log: "
                f"{emulator.log_file})",
                "use `stampede emulator stop`, then start it again",
            )
        where = f"{emulator.endpoint_url} (process {emulator.pid})"
        say(f"the embedded AWS is already running at {where}")
        return emulator
    stack.forget_state()
    stack_lock.disown("local")  # else a killed sweep, resumed, would stop this one as its own
    say("starting the embedded AWS (MiniStack; a second or two)")
    emulator = ministack.start(stack.STATE_DIR, follow_parent=follow_parent)
    say(f"the embedded AWS answers at {emulator.endpoint_url} (process {emulator.pid})")
    return emulator


def apply_copy(access: ministack.Access, variables: dict[str, Any]) -> dict[str, Any]:
    """Make the copy of infra/, init and apply it; returns Terraform's outputs."""
    stack.lay_out()
    delete_queues(stack.replaced_queues(variables.get("experiment")), access)
    terraform = local_terraform(access)
    how_long = "about 40 s the first time: the provider waits 25 s for a queue"
    say(f"terraform init and apply on the local copy ({how_long})")
    terraform.init()
    terraform.apply(variables)
    outputs = terraform.outputs()
    run_hosts(outputs, access)
    return outputs


def delete_queues(queues: Iterable[Mapping[str, Any]], access: ministack.Access) -> None:
    """Delete queues of the local state before Terraform does: the provider waits 130 s after
    deleting a queue, for the deletion to spread through AWS, but not for a queue that is already
    gone. An interrupted call may have deleted some."""
    for queue in queues:
        target = local({"region": queue["region"]}, access)
        sqs = target.client("sqs")
        with (
            explained("deleting the local queues", target),
            contextlib.suppress(sqs.exceptions.QueueDoesNotExist),
        ):
            sqs.delete_queue(QueueUrl=queue["id"])


def run_hosts(
    outputs: Mapping[str, Any], access: ministack.Access, *, follow_parent: bool = False
) -> None:
    """Run the hosts of the applied stack, if any, on this machine, and report them. Raises
    EmulatorError."""
    if running := hosts.ensure(stack.STATE_DIR, outputs, access, follow_parent=follow_parent):
        processes = ", ".join(str(host.pid) for host in running)
        say(
            f"hosts run as processes on this machine: {processes}; their logs: "
            f"{stack.STATE_DIR}/host-*.log",
            style="dim",
        )
