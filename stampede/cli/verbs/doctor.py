"""`stampede doctor`: looks whether a sweep can work, and what it costs, before anything is created or spent.

One line for each check: ok, warning or problem, and the way out. Changes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from stampede import terminal
from stampede.cli.verbs.plan_options import plan_of
from stampede.errors import refuse_problems
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import counted
from stampede.planning import checks, cost
from stampede.planning.cost import Estimate
from stampede.planning.plan import Plan
from stampede.planning.predicting import NOTHING, Given
from stampede.program import as_typed
from stampede.progress import doing, say
from stampede.runs.folder import RESULTS_DIR
from stampede.stacks import target as targets
from stampede.tables import print_rows

# How a status is marked, in the order in which they are printed.
MARKS = {WARNING: ("[warn]", "yellow"), PROBLEM: ("[fail]", "bold red")}


def run(arguments: argparse.Namespace) -> int:
    """Print the estimate and the checks on stdout; status 1 if there is a problem."""
    plan = plan_of(arguments)
    estimated = estimate(plan)
    with doing(f"checking plan, tools and {'account' if plan.target == 'aws' else 'machine'}"):
        findings = [
            *checks.run(
                plan,
                estimated=estimated,
                results_dir=arguments.results_dir,
            ),
            checks.budget(estimated, arguments.budget_usd),
        ]
    if arguments.format == "json":
        rows = [finding.as_row() for finding in findings]
        print(json.dumps({"checks": rows, "cost": estimated.as_dict()}, indent=2))
    elif arguments.format == "csv":
        print_rows([finding.as_row() for finding in findings], "csv")
    else:
        _print_estimate(estimated)
        print_checks(findings)
    return 1 if any(finding.status == PROBLEM for finding in findings) else 0


def estimate(plan: Plan, given: Given = NOTHING) -> Estimate:
    """Cost and duration of `plan`, where it would run."""
    return cost.estimate(plan, targets.place(plan.target)["target"], given)


def refuse_if_impossible(plan: Plan, estimated: Estimate | None = None, results_dir: Path = RESULTS_DIR) -> None:
    """Raise UsageError, one line, where a check finds that the sweep can't work, and say what it warns of; asks AWS for
    a target of "aws", or the endpoint in its stead."""
    findings = checks.run(plan, checks.BEFORE_A_SWEEP, estimated, results_dir=results_dir)
    refuse(findings, plan)
    say_warnings(findings)


def say_warnings(findings: Iterable[Finding]) -> None:
    """What a sweep says itself of the warnings: those about what it measures, and not about where."""
    for finding in findings:
        if finding.status == WARNING and finding.check in ("floods", "measurements", "package"):
            say(f"{finding.check}: {finding.sentence}", style="yellow")


def refuse(findings: Iterable[Finding], plan: Plan) -> None:
    """Raise UsageError, one line, where a finding is a problem."""
    refuse_problems(findings, f"`stampede doctor {plan.experiment} --target {plan.target}` with the same options")


def _print_estimate(estimated: Estimate) -> None:
    rows = []
    for item in estimated.items:
        per_unit, usd = "unknown", "unknown"
        if item.usd is not None:
            per_unit, usd = f"{item.usd_per_unit:.10f}".rstrip("0").rstrip("."), f"{item.usd:.4f}"
        quantity = f"{item.quantity:,.0f}" if item.quantity >= 100 else f"{item.quantity:.3g}"
        row = {"service": item.service, "what": item.what, "quantity": quantity, "unit": item.unit}
        rows.append(row | {"USD per unit": per_unit, "USD": usd})
    print_rows(rows, "table")
    print()
    for sentence in estimated.sentences():
        terminal.tell(sentence)
    print()


def print_checks(findings: Sequence[Finding]) -> None:
    """What is right in one line, and what needs doing below it, a line each."""
    terminal.show(Text(f"ok: {', '.join(map(_right, (row for row in findings if row.status == OK)))}", style="green"))
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for status, (mark, style) in MARKS.items():
        for finding in (finding for finding in findings if finding.status == status):
            lines.add_row(Text(mark, style=style), finding.check, Text(as_typed(finding.sentence)))
    if lines.row_count:
        terminal.show(lines)
    terminal.show(Text(summary(findings), style="bold"))


def _right(finding: Finding) -> str:
    return f"{finding.check} ({finding.found})" if finding.found else finding.check


def summary(findings: Sequence[Finding]) -> str:
    """How many problems and warnings there are."""
    counts = Counter(finding.status for finding in findings)
    words = [counted(counts[status], status) for status in (PROBLEM, WARNING) if counts[status]]
    return ", ".join(words) or f"all {len(findings)} checks passed"
