"""Check whether a sweep can run, and what it costs; changes nothing.

Each problem has a line with its fix; one line lists the checks that passed. The
exit status is 1 if there is a problem.

examples:
  stampede doctor download
      can this machine run the local matrix?
  stampede doctor download --target aws --set concurrency_value=1,2
      and this AWS account a smaller one?
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from experiments import EXPERIMENTS
from stampede.cli.arguments import add, add_plan, plan_of
from stampede.errors import refuse_problems
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import counted
from stampede.planning.plan import Plan
from stampede.program import as_typed
from stampede.progress import doing, say
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.planning.cost import Estimate

MARKS = {OK: ("[ok]", "green"), WARNING: ("[warn]", "yellow"), PROBLEM: ("[fail]", "bold red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, without=next(iter(EXPERIMENTS)))
    add(parser, "--budget-usd", "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the estimate and the checks on stdout; status 1 if there is a problem."""
    from stampede.planning import checks
    from stampede.planning.checks import machine

    plan = plan_of(arguments)
    estimated = estimate(plan)
    with doing(f"checking plan, tools and {'account' if plan.target == 'aws' else 'machine'}"):
        findings = [
            *checks.of_plan(plan, estimated),
            *checks.floods(plan, estimated.predictions()),
            *machine.tools(),
            checks.free_stack(plan.target),
            *machine.room(estimated.cells, plan.target, arguments.results_dir),
            *checks.of_account(plan, estimated),
            checks.budget(estimated, arguments.budget_usd),
        ]
    rows = [asdict(finding) for finding in findings]
    if arguments.format == "json":
        print(json.dumps({"checks": rows, "cost": estimated.as_dict()}, indent=2))
    elif arguments.format == "csv":
        print_rows(rows, "csv")
    else:
        _print_estimate(estimated)
        print_checks(findings)
    return 1 if any(finding.status == PROBLEM for finding in findings) else 0


def estimate(plan: Plan, message_bytes: Sequence[tuple[int, float]] = ()) -> Estimate:
    """Cost and duration of `plan` on its target, with messages of these sizes."""
    from stampede.planning import cost
    from stampede.stacks import target as targets

    kind = targets.place(plan.target)["target"]
    return cost.estimate(plan, kind=kind, message_bytes=message_bytes)


def refuse(findings: Sequence[Finding], plan: Plan) -> None:
    """Raise UsageError for a problem; else print the warnings about what a sweep measures."""
    refuse_problems(
        findings,
        f"`stampede doctor {plan.experiment} --target {plan.target}` with the same options",
    )
    for finding in findings:
        if finding.status == WARNING and finding.check in ("floods", "package"):
            say(f"{finding.check}: {finding.sentence}", style="yellow")


def _print_estimate(estimated: Estimate) -> None:
    from stampede import terminal

    columns = ("service", "what", "quantity", "unit", "usd_per_unit", "usd")
    print_rows([item.as_dict() for item in estimated.items], "table", columns)
    terminal.tell("\n".join(("", *estimated.sentences(), "")))


def print_checks(findings: Sequence[Finding]) -> None:
    """Print the passed checks in one line, the others in a line each, and the count of those."""
    from rich.text import Text

    from stampede import terminal

    lines: dict[str, list[str]] = {OK: [], WARNING: [], PROBLEM: []}
    for finding in findings:
        found = f" ({finding.found})" if finding.status == OK else f": {finding.sentence}"
        lines[finding.status].append(f"{finding.check}{found}".removesuffix(" ()"))
    lines[OK] = [", ".join(sorted({*lines[OK]}))] if lines[OK] else []
    for status, (mark, style) in MARKS.items():
        for line in lines[status]:
            terminal.show(Text.assemble((f"{mark:<8}", style), as_typed(line)))
    counts = [counted(len(lines[status]), status) for status in (PROBLEM, WARNING) if lines[status]]
    words = ", ".join(counts) or f"all {len(findings)} checks passed"
    terminal.show(Text(words, style="bold"))
