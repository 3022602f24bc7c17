"""`stampede doctor`: looks whether a sweep can work, and what it costs, before anything is created or spent.

One line for each check: ok, warning or problem, and the way out. Changes nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from experiments import EXPERIMENTS
from experiments.finding import OK, PROBLEM, WARNING, Finding
from loader import checks, cost
from loader import target as targets
from loader.cost import Estimate
from loader.errors import UsageError
from loader.infra_variables import infra_defaults
from loader.predicting import UNCALIBRATED
from loader.progress import say
from loader.run.plan import Plan
from loader.tables import print_rows
from loader.verbs.plan_options import plan_of

STYLES = {OK: "green", WARNING: "yellow", PROBLEM: "bold red"}


def run(arguments: argparse.Namespace) -> int:
    """Print the checks and the estimate on stdout; status 1 if there is a problem."""
    plan = plan_of(arguments)
    estimated = estimate(plan)
    findings = [*checks.run(plan, estimated=estimated), checks.budget(estimated, arguments.budget_usd)]
    if arguments.format == "json":
        rows = [finding.as_row() for finding in findings]
        print(json.dumps({"checks": rows, "cost": estimated.as_dict()}, indent=2))
    elif arguments.format == "csv":
        _print_csv(findings)
    else:
        _print_table(findings, estimated)
    if plan.target == "local" and EXPERIMENTS[plan.experiment].work is not None:
        say(UNCALIBRATED)
    return 1 if any(finding.status == PROBLEM for finding in findings) else 0


def estimate(plan: Plan) -> Estimate:
    """Cost and duration of `plan` with TF_VAR_* and infra's *.tfvars; raises UsageError for what can't be read."""
    return cost.estimate(plan, defaults=infra_defaults(os.environ), kind=targets.place(plan.target)["target"])


def refuse_if_impossible(plan: Plan, estimated: Estimate | None = None) -> None:
    """Raise UsageError, one line, where a check finds that the sweep can't work; asks AWS for a target of "aws", or
    the endpoint in its stead."""
    problems = checks.problems(plan, estimated=estimated)
    if not problems:
        return
    same = f"`stampede doctor {plan.experiment} --target {plan.target}` with the same options"
    more = f" ({len(problems) - 1} more: {same})" if len(problems) > 1 else ""
    raise UsageError(f"{problems[0].check}: {problems[0].sentence}{more}")


def _print_table(findings: list[Finding], estimated: Estimate) -> None:
    console = Console(soft_wrap=True, highlight=False)
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        line = Text(f"{finding.status:<8}", style=STYLES[finding.status])
        console.print(line + Text(f"{finding.check:<{width}}  {finding.sentence}", style=""))
    print()
    rows = [_bill_row(item) for item in estimated.items]
    print_rows(rows, "table")
    print()
    for sentence in estimated.sentences():
        print(sentence)
    sys.stdout.flush()


def _bill_row(item: cost.Item) -> dict[str, Any]:
    unknown = item.usd is None
    return {
        "service": item.service,
        "what": item.what,
        "quantity": f"{item.quantity:,.0f}" if item.quantity >= 100 else f"{item.quantity:.3g}",
        "unit": item.unit,
        "usd for one": "unknown" if unknown else f"{item.usd_per_unit:.10f}".rstrip("0").rstrip("."),
        "usd": "unknown" if unknown else f"{item.usd:.4f}",
    }


def _print_csv(findings: list[Finding]) -> None:
    writer = csv.DictWriter(sys.stdout, ["check", "status", "found", "way_out"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(finding.as_row() for finding in findings)
