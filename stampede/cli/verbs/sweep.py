"""`stampede sweep`: runs the whole matrix of an experiment and ends with the table and the report.

For each cell: terraform apply, warm-up, flood, drain; those of one stack in rounds. Every finished cell is on disk at
once; --resume goes on after a kill. Locally the embedded AWS is started and ended; on AWS infra/ is applied, and
destroyed at the end.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from experiments import EXPERIMENTS, of_run
from loader.payloads import Payloads
from stampede.cell import FORMAT
from stampede.cli.options.plan import plan_options
from stampede.cli.planned_table import print_plan
from stampede.cli.verbs import doctor
from stampede.cli.verbs.drain import say_why_failed
from stampede.cli.verbs.payload_option import payloads_of
from stampede.cli.verbs.plan_options import plan_of
from stampede.cli.verbs.report import build_and_print
from stampede.errors import RunError, UsageError, refuse_problems
from stampede.finding import BUILD
from stampede.model.prediction import Prediction
from stampede.phrases import counted
from stampede.planning import checks
from stampede.planning.checks import machine
from stampede.planning.cost import check_budget
from stampede.planning.plan import Plan, resume_command
from stampede.planning.predicting import NOTHING, Given, parameters_of, predicted
from stampede.progress import say
from stampede.runs.account import check, stored_accounts
from stampede.runs.folder import RunFolder, is_flood_by_hand
from stampede.stacks import target as targets
from stampede.stacks.place import refuse_another
from stampede.stacks.stack_lock import holding
from stampede.standard_streams import plain
from stampede.sweep.sweep import SweepRun
from stampede.sweep.swept_stack import SweptStack


def run(arguments: argparse.Namespace) -> int:
    """Run the sweep; prints the table and `results: <folder>` on stdout, status 1 if a message is unaccounted for."""
    plan, folder = _plan_and_folder(arguments)
    payloads = payloads_of(EXPERIMENTS[plan.experiment], arguments.payload)
    if payloads and (sentence := payloads.sentence()):
        say(sentence)
    sent = Payloads.of_run(folder) if folder and EXPERIMENTS[plan.experiment].takes_payload else payloads
    estimate = doctor.estimate(plan, Given(message_bytes=sent.message_bytes()) if sent else NOTHING)
    check_budget(estimate, arguments.budget_usd)
    if arguments.dry_run:
        # A program that isn't built yet changes nothing in plan, duration and cost.
        findings = [finding for finding in checks.run(plan, [checks.PLAN], estimate) if finding.way_out != BUILD]
        doctor.refuse(findings, plan)
        doctor.say_warnings(findings)
        if folder is not None:
            count = len(folder.read_json("run.json", {}).get("finished", {}))
            say(f"{counted(count, 'cell')} of {folder.run_id} finished already; plan, duration and cost are of all")
        print_plan(plan, _predicted(plan), arguments.format)
        for line in estimate.sentences():
            print(plain(line), file=sys.stdout if arguments.format == "table" else sys.stderr)
        return 0
    if folder is not None:
        # Reads all lines that the sweep goes on with: a damaged one is refused before anything starts.
        stored_accounts(folder)
    with holding(plan.target, "sweep") as note_run:
        doctor.refuse_if_impossible(plan, estimate, folder.path if folder else arguments.results_dir)
        refuse_problems([machine.terraform()])
        folder = folder or RunFolder.create(arguments.results_dir)
        note_run(folder.run_id)
        stack = SweptStack(plan.target, folder.run_id, keep=arguments.keep, take_over=arguments.take_over)
        sweep = SweepRun(plan, folder, estimate, stack, arguments.deadline_s, payloads)
        if predictions := _predicted(plan, ranged=True):
            sweep.predicted(predictions, parameters_of(EXPERIMENTS[plan.experiment]))
        try:
            with folder.held("--resume"), _saying_how_to_go_on(plan, folder):
                accounts = sweep.run()
        finally:
            folder.remove_if_empty()
    with _saying_how_to_go_on(plan, folder):
        is_in_doubt = build_and_print(folder.path, arguments.format)
    say_why_failed(accounts, folder)
    say(f"rebuild it with `stampede report {shlex.quote(str(folder.path))}`", style="dim")
    if arguments.format == "table":
        print(f"results: {folder.path}")
    check(accounts)
    return 1 if is_in_doubt else 0


@contextmanager
def _saying_how_to_go_on(plan: Plan, folder: RunFolder) -> Iterator[None]:
    """Note with what ends a sweep how to go on; where everything is measured, only the report is missing."""
    try:
        yield
    except (KeyboardInterrupt, OSError, RunError) as error:
        stored = folder.read_json("run.json", {})
        if len(stored.get("finished", {})) == len(plan.cells):
            report = f"`stampede report {shlex.quote(str(folder.path))}`"
            error.add_note(f"every cell is measured; {report} builds the report")
        elif stored and isinstance(error, OSError):
            error.add_note(f"`{resume_command(plan, folder.as_argument)}` resumes the run")
        raise


def _plan_and_folder(arguments: argparse.Namespace) -> tuple[Plan, RunFolder | None]:
    """The plan of the options, or the stored one of the run to resume with its folder. Raises UsageError."""
    if arguments.resume is None and arguments.experiment is None:
        raise UsageError(f"EXPERIMENT: none given; choose {', '.join(EXPERIMENTS)}")
    if arguments.resume is None:
        return plan_of(arguments), None
    if given := [*plan_options(arguments), *(["--payload"] if arguments.payload else [])]:
        raise UsageError(f"--resume: runs the stored plan; leave {' and '.join(given)} out, or start a new sweep")
    folder = RunFolder.find(arguments.results_dir, arguments.resume, "--resume")
    plan, stored = _stored_plan(folder)
    if (plan.experiment, plan.target) != (arguments.experiment or plan.experiment, arguments.target):
        raise UsageError(
            f"--resume: {folder.name} is a sweep of {plan.experiment} with --target {plan.target}; give the same here"
        )
    refuse_another("--resume", folder.name, stored, targets.place(plan.target))
    return plan, folder


def _stored_plan(folder: RunFolder) -> tuple[Plan, dict[str, Any]]:
    """The plan of a run, and its run.json. Raises UsageError where it can't be resumed."""
    path = folder.path / "run.json"
    if not path.exists():
        raise UsageError(f"--resume: {folder.path} has no run.json; restore it from a copy, or start a new run")
    stored = folder.read_json("run.json", {})
    if stored.get("format") != FORMAT:
        found = f"--resume: {path} has format {stored.get('format')!r}, not {FORMAT}"
        raise UsageError(found, f"`stampede report {folder.as_argument}` shows what there is; start a new run for more")
    of_run(stored, path)
    if is_flood_by_hand(stored):
        raise UsageError(
            f"--resume: {folder.name} is a flood by hand, not a sweep; finish it with "
            f"`stampede drain --run {folder.as_argument}`"
        )
    try:
        plan = Plan.from_run(stored)
    except ValueError as error:
        raise UsageError(f"--resume: {path}: the plan is damaged ({error}); restore it, or start a new run") from None
    return plan, stored


def _predicted(plan: Plan, ranged: bool = False) -> dict[str, Prediction]:
    """What the model says of each cell; on stderr the worst of it, or why there is nothing."""
    predictions, why_not = predicted(plan, ranged)
    if why_not:
        say(f"not predicted: {why_not}", style="yellow")
    doctor.say_warnings(checks.floods(plan, predictions))
    return predictions
