"""The checks that `stampede doctor` prints and that a sweep makes before it starts. Each gives one line.

Five groups: PLAN (the matrix against the rules of Lambda and of infra/), SHARE (what the model says of it), TOOLS and
ROOM (of this machine) and ACCOUNT (what AWS says, or an endpoint in its stead). Only ACCOUNT asks the target's
endpoints; TOOLS may ask the Terraform registry whether it answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments import EXPERIMENTS
from stampede.emulator import ministack, stack
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, Finding
from stampede.phrases import counted
from stampede.planning import rules
from stampede.planning.checks import access_log, account, machine, measurements, share
from stampede.planning.cost import Estimate, check_budget, estimate
from stampede.planning.plan import Plan
from stampede.runs.folder import RESULTS_DIR
from stampede.stacks.stack_lock import WAIT, holder

PLAN, SHARE, ROOM, TOOLS, ACCOUNT = "plan", "share", "room", "tools", "account"
EVERYTHING = (PLAN, SHARE, TOOLS, ROOM, ACCOUNT)
# Terraform, its providers and the lock of the stack complain by themselves, in clear words, before anything is created.
BEFORE_A_SWEEP = (PLAN, ROOM, ACCOUNT)


def run(
    plan: Plan,
    groups: Iterable[str] = EVERYTHING,
    estimated: Estimate | None = None,
    each_cell: bool = True,
    results_dir: Path = RESULTS_DIR,
) -> list[Finding]:
    """Make the checks of `groups` for `plan`, whose estimate may be known already and whose run will be in
    `results_dir`; without `each_cell`, cells of which the same is to be said have one finding. Raises UsageError only
    where values that are needed can't be read."""
    estimated = estimated or estimate(plan)
    experiment, cells = EXPERIMENTS[plan.experiment], list(estimated.cells)
    findings: list[Finding] = []
    for group in groups:
        if group == PLAN:
            findings += rules.check(cells, experiment, plan.target)
            findings += access_log.check(cells, plan.target, estimated)
            findings += measurements.check(cells, experiment)
        elif group == SHARE:
            findings += share.check(plan, each_cell)
        elif group == TOOLS:
            findings += [*machine.tools(), free_stack(plan.target)]
        elif group == ROOM:
            findings += machine.room(cells, plan.target, results_dir)
        elif group == ACCOUNT and plan.target == "local":
            findings += account.emulator(cells)
        elif group == ACCOUNT:
            region, prefix = (str(plan.cells[0].values[name]) for name in ("region", "prefix"))
            findings += account.check(cells, region, prefix, plan.experiment, estimated.total_s)
    return findings


def free_stack(option: str) -> Finding:
    """No other flood, drain or sweep works with the stack of --target `option`, and locally none is applied."""
    if (other := holder(option)) is not None:
        return Finding("stack", PROBLEM, other, WAIT)
    # What is left on AWS, the checks of the account find.
    if option == "local" and ministack.running(stack.STATE_DIR) and (count := stack.applied_resources()):
        return Finding(
            "stack",
            PROBLEM,
            f"a stack of {counted(count, 'resource')} is already applied, and a sweep would change and destroy it",
            "remove it with `stampede emulator stop`, or sweep with --take-over",
        )
    return Finding("stack", OK, "no other process is using it")


def budget(estimated: Estimate, budget_usd: float | None) -> Finding:
    """The estimated cost, against the budget where there is one."""
    try:
        check_budget(estimated, budget_usd)
    except UsageError as error:
        return Finding("budget", PROBLEM, error.found, error.way_out)
    limit = "no limit given (--budget-usd)" if budget_usd is None else f"within --budget-usd {budget_usd:g}"
    about = f"about {estimated.total_usd:.2f} USD"
    spent = {
        "aws": about,
        "local": "a local run costs nothing",
        "endpoint": f"an endpoint's bill is unknown; on AWS {about}",
    }[estimated.target]
    return Finding("budget", OK, f"{spent}; {limit}")
