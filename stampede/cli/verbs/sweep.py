"""Measure every cell of an experiment; ends with table and report.

For each cell: terraform apply, warm-up, flood, drain. Cells that share a stack
run interleaved, in rounds. Every finished cell is stored at once, and --resume
continues after an interruption. Locally the embedded AWS is started and
stopped; on AWS infra/ is applied, and destroyed at the end unless you pass
--keep.

examples:
  stampede sweep download --set concurrency_value=1,2,4,8 --repeats 3
      another matrix, three times
  stampede sweep copy --target aws --dry-run
      plan, duration and cost on AWS; changes nothing
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, of_run
from experiments.parameters import known_parameters
from loader.payloads import Payloads
from stampede.cell import FORMAT
from stampede.cli.arguments import (
    add,
    add_flag,
    add_own,
    add_plan,
    find_run,
    payloads_of,
    plan_of,
    plan_options,
)
from stampede.cli.verbs import doctor
from stampede.cli.verbs.drain import say_why_failed
from stampede.cli.verbs.report import build_and_print
from stampede.errors import RunError, UsageError, refuse_problems
from stampede.finding import BUILD
from stampede.phrases import counted
from stampede.planning.plan import Plan, resume_command
from stampede.progress import say
from stampede.runs.description import is_flood_by_hand
from stampede.runs.folder import RunFolder
from stampede.stacks import hcl
from stampede.standard_streams import plain
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.model.prediction import Prediction
    from stampede.planning.cost import Estimate
    from stampede.runs.account import CellAccount

# The columns of a dry run: how a cell's messages are sent, and what the model predicts.
SENT = ("warm_up_messages", "messages", "rounds")
PREDICTED = ("share_at_n", "avg_s", "binds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, without="with --resume, the run's")
    add(parser, "--payload", "--budget-usd", "--deadline-s", "--results-dir", "--format")
    add_own(parser, "--resume", "resume this run with its stored plan", "RUN")
    add_flag(parser, "--keep", "don't destroy the stack at the end")
    add_flag(parser, "--take-over", "use and destroy a stack of another run or by hand")
    add_flag(parser, "--dry-run", "print plan, duration and cost; change nothing")


def run(arguments: argparse.Namespace) -> int:
    """Run the sweep and print the table and `results: <folder>` on stdout; status 1 if a message
    is unaccounted for."""
    from stampede.planning.cost import check_budget
    from stampede.runs.account import check

    folder = None
    if arguments.resume is not None:
        folder = find_run(arguments.results_dir, arguments.resume, "--resume")
    elif arguments.experiment is None:
        raise UsageError(f"EXPERIMENT: none given; choose {', '.join(EXPERIMENTS)}")
    plan = _stored_plan(folder, arguments) if folder else plan_of(arguments)
    experiment = EXPERIMENTS[plan.experiment]
    payloads = payloads_of(experiment, arguments.payload, plan.cells)
    if payloads and (sentence := payloads.sentence()):
        say(sentence)
    sent = Payloads.of_run(folder) if folder and experiment.takes_payload else payloads
    estimate = doctor.estimate(plan, sent.message_bytes() if sent else ())
    check_budget(estimate, arguments.budget_usd)
    if arguments.dry_run:
        _print_dry_run(plan, estimate, arguments.format)
        return 0
    folder, accounts = _measure(arguments, plan, folder, estimate, payloads)
    with _saying_how_to_go_on(plan, folder):
        is_in_doubt = build_and_print(folder.path, arguments.format)
    say_why_failed(accounts, folder)
    if arguments.format == "table":
        print(f"results: {folder.path}")
    check(accounts)
    return 1 if is_in_doubt else 0


def _stored_plan(folder: RunFolder, arguments: argparse.Namespace) -> Plan:
    """The plan of the run to resume. Raises UsageError where the run can't be resumed, or where
    other options are given."""
    from stampede.stacks import target as targets
    from stampede.stacks.place import refuse_another

    options = [f"--{name.replace('_', '-')}" for name in plan_options(arguments)]
    options += ["--payload"] if arguments.payload else []
    if options:
        raise UsageError(
            "--resume: runs the stored plan",
            f"leave {' and '.join(options)} out, or start a new sweep",
        )
    path, stored = folder.path / "run.json", folder.read_json("run.json", {})
    of_run(stored, path)
    if stored.get("format") != FORMAT or is_flood_by_hand(stored):
        raise UsageError(
            f"--resume: {path} is no sweep of this version, of format {FORMAT}",
            f"`stampede drain --run {folder.as_argument}` finishes a flood by hand, "
            f"`{_report_command(folder)}` shows what was measured",
        )
    try:
        plan = Plan.from_run(stored)
    except (ValueError, UsageError) as error:
        raise UsageError(
            f"--resume: {path}: the plan is damaged ({error})", "restore it, or start a new run"
        ) from None
    if arguments.target != plan.target or arguments.experiment not in (None, plan.experiment):
        raise UsageError(
            f"--resume: {folder.name} is a sweep of {plan.experiment} with --target {plan.target}",
            "give the same here",
        )
    refuse_another("--resume", folder.name, stored, targets.place(plan.target))
    return plan


def _print_dry_run(plan: Plan, estimate: Estimate, form: str) -> None:
    """Print the plan on stdout. Raises UsageError for what a sweep would refuse."""
    from stampede.planning import checks

    # The plan, its duration and its cost are the same before the functions are built.
    findings = checks.of_plan(plan, estimate)
    doctor.refuse([finding for finding in findings if finding.way_out != BUILD], plan)
    _print_cells(plan, _predictions(plan, estimate), form)
    for line in estimate.sentences():
        print(plain(line), file=sys.stdout if form == "table" else sys.stderr)


def _print_cells(plan: Plan, predictions: Mapping[str, Prediction], form: str) -> None:
    """Print the cells with their predictions. A table shows repeats once, and what all cells have
    in common above it."""
    is_table = form == "table"
    cells = [cell for cell in sorted(plan.cells) if not is_table or cell.repeat in (None, 1)]
    rows = []
    for cell in cells:
        row: dict[str, Any] = {"cell": cell.name}
        for name in plan.swept:
            value = cell.setting(name)
            row[name] = value if type(value) in (int, float) else hcl.text_of(value)
        row |= {name: getattr(cell, name) for name in SENT}
        prediction = predictions[cell.name].as_dict() if predictions else {}
        rows.append(row | {name: prediction.get(name) for name in PREDICTED})
    if not is_table:
        print_rows(rows, form)
        return
    same = ", ".join(f"{name}={hcl.text_of(cells[0].setting(name))}" for name in plan.fixed)
    times = f", each {plan.repeats} times" if plan.repeats > 1 else ""
    print(plain(f"{counted(len(cells), 'cell')}{times}; in all of them: {same}\n"))
    print_rows(rows, form, (*plan.swept, *SENT, *(PREDICTED if predictions else ())))
    print()


def _measure(
    arguments: argparse.Namespace,
    plan: Plan,
    folder: RunFolder | None,
    estimate: Estimate,
    payloads: Payloads | None,
) -> tuple[RunFolder, list[CellAccount]]:
    """Run the unfinished cells; returns the run's folder and the accounts of its cells."""
    from stampede.planning import checks
    from stampede.planning.checks import machine
    from stampede.runs.account import stored_accounts
    from stampede.stacks.stack_lock import holding
    from stampede.sweep.sweep import SweepRun
    from stampede.sweep.swept_stack import SweptStack

    if folder is not None:
        stored_accounts(folder)  # refuses a damaged line before anything starts
    with holding(plan.target, "sweep") as note_run:
        where = folder.path if folder else arguments.results_dir
        # Terraform, its providers and the stack's lock report their own problems clearly before
        # anything is created.
        findings = [
            *checks.of_plan(plan, estimate),
            *machine.room(estimate.cells, plan.target, where),
            *checks.of_account(plan, estimate),
        ]
        doctor.refuse(findings, plan)
        refuse_problems([machine.terraform()])
        folder = folder or RunFolder.create(arguments.results_dir)
        note_run(folder.run_id)
        stack = SweptStack(
            plan.target, folder.run_id, keep=arguments.keep, take_over=arguments.take_over
        )
        sweep = SweepRun(plan, folder, estimate, stack, arguments.deadline_s, payloads)
        if predictions := _predictions(plan, estimate, ranged=True):
            sweep.predicted(predictions, known_parameters(plan.experiment))
        try:
            with folder.held("--resume"), _saying_how_to_go_on(plan, folder):
                return folder, sweep.run()
        finally:
            folder.remove_if_empty()


@contextmanager
def _saying_how_to_go_on(plan: Plan, folder: RunFolder) -> Iterator[None]:
    """In the block, note with an error how to resume the sweep, or how to build the report where
    every cell is measured."""
    try:
        yield
    except (KeyboardInterrupt, OSError, RunError) as error:
        stored = folder.read_json("run.json", {})
        if len(stored.get("finished", {})) == len(plan.cells):
            error.add_note(f"every cell is measured; `{_report_command(folder)}` builds the report")
        elif stored and isinstance(error, OSError):
            error.add_note(f"`{resume_command(plan, folder.as_argument)}` resumes the run")
        raise


def _report_command(folder: RunFolder) -> str:
    return f"stampede report {shlex.quote(str(folder.path))}"


def _predictions(plan: Plan, estimate: Estimate, ranged: bool = False) -> dict[str, Prediction]:
    """The model's prediction for each cell. Says on stderr what is worst, or why there is none."""
    from stampede.planning.checks import floods

    if estimate.target != "local" and estimate.unforeseen:
        say(f"not predicted: {estimate.unforeseen[0].why_not}", style="yellow")
    predictions = estimate.predictions(ranged)
    doctor.refuse(floods(plan, predictions), plan)
    return predictions
