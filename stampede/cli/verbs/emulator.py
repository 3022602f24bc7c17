"""`stampede emulator`: starts, stops or shows the embedded local AWS (MiniStack, on loopback only).

`start --apply` also applies the local copy of infra/, so that dataset, flood, drain and query can be tried by hand.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from experiments import EXPERIMENTS
from stampede.emulator import hosts, ministack, stack
from stampede.emulator.go_build import ProviderError
from stampede.errors import RunError, UsageError, refuse_problems
from stampede.planning.checks import machine
from stampede.planning.settings import absolute_path, parse_setting, refuse_broken_rules, refuse_twice, split_setting
from stampede.progress import say
from stampede.stacks import embedded
from stampede.stacks.infra_variables import declared, infra_defaults
from stampede.stacks.stack_lock import disown, holding
from stampede.variable_rules import RULES, Rule


def run(arguments: argparse.Namespace) -> int:
    """Carry out the action; prints the endpoint URL on stdout while an emulator runs."""
    if arguments.apply and arguments.action != "start":
        raise UsageError("--apply: only works with start")
    if arguments.set and not arguments.apply:
        fix = "add --apply" if arguments.action == "start" else "leave it out"
        raise UsageError(f"--set: only works with start --apply; {fix}")
    if arguments.action == "status":
        return _status()
    variables = _local(arguments.set) if arguments.apply else {}
    if arguments.apply:
        refuse_problems([machine.terraform()])
    with holding("local", f"emulator {arguments.action}"):  # a run that is under way must not lose its stack
        if arguments.action == "stop":
            return _stop()
        emulator = embedded.start()
        if arguments.apply:
            try:
                embedded.apply_copy(emulator.access, variables)
            except (KeyboardInterrupt, OSError, RunError, ProviderError) as error:
                error.add_note(
                    f"the embedded AWS still runs at {emulator.endpoint_url}, with a part of the stack; the same "
                    "command resumes, and `stampede emulator stop` removes both"
                )
                raise
            disown("local")
    print(emulator.endpoint_url)
    if not arguments.apply and not stack.applied_resources():
        say("nothing is deployed; `stampede emulator start --apply` deploys an experiment (infra/ itself is for AWS)")
    exports = shlex.quote(str(ministack.exports_file(stack.STATE_DIR)))
    say(f"for boto3 and the aws CLI, its endpoint and its key in this shell: . {exports}")
    return 0


def _local(settings: Sequence[str]) -> dict[str, Any]:
    """What is applied: as the experiment fixes it for a small machine, but for what the user gave. Raises UsageError
    for what infra/ would refuse once the embedded AWS runs."""
    refuse_twice("--set", settings, "give it once")
    texts = dict(split_setting("--set", text, declared(), "infra/ has no variable") for text in settings)
    name = texts.pop("experiment", None) or infra_defaults(os.environ)["experiment"]
    if name not in EXPERIMENTS:
        raise UsageError(f"--set experiment: there is no experiment {name!r}; use {', '.join(EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    fixed = experiment.matrices["local"].fixed
    values = {variable: value for variable, value in fixed.items() if variable not in experiment.order_axes}
    for text in (f"{variable}={text}" for variable, text in texts.items()):
        variable, given = parse_setting(text, experiment)
        if len(given) > 1:
            raise UsageError(f"--set {variable}: a stack has one value of each variable, got {len(given)}; give one")
        is_path = RULES.get(variable, Rule()).shared.get("is_path")
        values[variable] = str(absolute_path(given[0])) if is_path else given[0]
    refuse_broken_rules(values)
    return {"experiment": name} | values


def _stop() -> int:
    hosts.stop(stack.STATE_DIR)  # while there is a queue to hand their messages back to
    stopped = ministack.stop(stack.STATE_DIR)
    stack.forget_state()
    disown("local")
    say("stopped the embedded AWS; everything in it is deleted" if stopped else "the embedded AWS isn't running")
    return 0


def _status() -> int:
    emulator = ministack.running(stack.STATE_DIR)
    if emulator is None:
        say("the embedded AWS isn't running; `stampede emulator start` starts it")
        return 1
    answers = emulator.answers()
    state = "answers" if answers else "doesn't answer"
    say(f"process {emulator.pid} {state}; its log: {emulator.log_file}")
    print(emulator.endpoint_url)
    return 0 if answers else 1
