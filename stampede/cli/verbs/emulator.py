"""Start or stop the embedded AWS, or print its status.

It is MiniStack, on loopback. `start --apply` also applies the local copy of
infra/, so that you can try dataset, flood, drain and query by hand. `stop`
deletes everything in it.

examples:
  stampede emulator start --apply --set experiment=copy
      start it and deploy an experiment
  stampede emulator status
      print its URL, or exit with 1 if it isn't running
  stampede emulator stop
      stop it and delete everything in it
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from experiments import EXPERIMENTS
from stampede.cli.arguments import add_flag, add_own
from stampede.errors import FixableError, UsageError, refuse_problems
from stampede.planning.settings import read_single, refuse_broken_rules, with_whole_paths
from stampede.progress import say
from stampede.stacks.infra_variables import infra_defaults


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    actions = ("start", "stop", "status")
    parser.add_argument(
        "action", choices=actions, metavar="|".join(actions), help="what to do with it"
    )
    add_flag(parser, "--apply", "with start: apply the local copy of infra/")
    add_own(
        parser,
        "--set",
        "with --apply: set a Terraform variable; may be repeated",
        "VARIABLE=VALUE",
        action="append",
        default=[],
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry out the action; prints the endpoint URL on stdout while an emulator runs."""
    if arguments.apply and arguments.action != "start":
        raise UsageError("--apply: only works with start; leave it out")
    if arguments.set and not arguments.apply:
        raise UsageError("--set: only works with start --apply; add --apply")
    if arguments.action == "start":
        return _start(local_variables(arguments.set) if arguments.apply else None)
    return _stop() if arguments.action == "stop" else _status()


def local_variables(settings: Sequence[str]) -> dict[str, Any]:
    """The variables to apply: the experiment's fixed values for a small machine, replaced by those
    of --set. Raises UsageError for what infra/ would refuse only once the embedded AWS runs."""
    others = [text for text in settings if not text.startswith("experiment=")]
    experiments = [text.partition("=")[2] for text in settings if text not in others]
    name = ",".join(experiments) or infra_defaults(os.environ)["experiment"]
    if name not in EXPERIMENTS:
        raise UsageError(f"--set experiment: must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    experiment = EXPERIMENTS[name]
    values = with_whole_paths(read_single("--set", others, experiment))
    for variable, value in experiment.matrices["local"].fixed.items():
        if variable not in experiment.order_axes:
            values.setdefault(variable, value)
    refuse_broken_rules(values)
    return {"experiment": name} | values


def _start(variables: dict[str, Any] | None) -> int:
    """Start the emulator, and apply the local copy of infra/ with these variables, if any."""
    from stampede.emulator import ministack, stack
    from stampede.planning.checks import machine
    from stampede.stacks import embedded, stack_lock

    if variables:
        refuse_problems([machine.terraform()])
    # A run in progress must not lose its stack.
    with stack_lock.holding("local", "emulator start"):
        emulator = embedded.start()
        if variables:
            try:
                embedded.apply_copy(emulator.access, variables)
            except (KeyboardInterrupt, OSError, FixableError) as error:
                error.add_note(
                    f"the embedded AWS still runs at {emulator.endpoint_url}, with a part of the "
                    "stack; the same command resumes, and `stampede emulator stop` removes both"
                )
                raise
            stack_lock.disown("local")
    print(emulator.endpoint_url)
    exports = shlex.quote(str(ministack.exports_file(stack.STATE_DIR)))
    say(f"to use it in this shell with boto3 and the aws CLI: . {exports}")
    return 0


def _stop() -> int:
    from stampede.emulator import hosts, ministack, stack
    from stampede.stacks import stack_lock

    with stack_lock.holding("local", "emulator stop"):
        hosts.stop(stack.STATE_DIR)  # first: they hand their messages back to the queue
        stopped = ministack.stop(stack.STATE_DIR)
        stack.forget_state()
        stack_lock.disown("local")
    say(
        "stopped the embedded AWS; everything in it is deleted"
        if stopped
        else "the embedded AWS isn't running"
    )
    return 0


def _status() -> int:
    from stampede.emulator import ministack, stack

    emulator = ministack.running(stack.STATE_DIR)
    if emulator is None:
        say("the embedded AWS isn't running; `stampede emulator start` starts it")
        return 1
    answers = emulator.answers()
    state = "answers" if answers else "does not answer"
    say(f"process {emulator.pid} {state}; its log: {emulator.log_file}")
    print(emulator.endpoint_url)
    return 0 if answers else 1
