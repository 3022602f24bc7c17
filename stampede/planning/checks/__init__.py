"""The checks that `stampede doctor` prints and that a sweep makes before it starts.

They look at the plan (the matrix against the rules of Lambda and of infra/), at what the model
predicts, at this machine (`machine`), and at what AWS or another endpoint answers (`account`). Only
those of the account call the target's endpoints; `machine.tools` may look whether the Terraform
registry answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.emulator import ministack, stack
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.model.prediction import Prediction
from stampede.phrases import counted
from stampede.planning import rules
from stampede.planning.checks import account
from stampede.planning.cost import Estimate, check_budget
from stampede.planning.plan import Plan
from stampede.stacks.stack_lock import WAIT, holder


def of_plan(plan: Plan, estimated: Estimate) -> list[Finding]:
    """The plan obeys the rules of its experiment, of Lambda, SQS and S3."""
    experiment = EXPERIMENTS[plan.experiment]
    return rules.check(estimated.cells, experiment, plan.target, estimated.total_s)


def of_account(plan: Plan, estimated: Estimate) -> list[Finding]:
    """The account, the endpoint or the embedded AWS can run the plan."""
    cells, experiment = estimated.cells, EXPERIMENTS[plan.experiment]
    if plan.target == "local":
        findings = account.emulator(cells)
    else:
        findings = account.check(cells, experiment, estimated.total_s)
    return [*findings, *account.own_object(plan)]


def floods(plan: Plan, predictions: Mapping[str, Prediction]) -> list[Finding]:
    """According to the model N run at once in every cell, and no message is lost. No finding
    without `predictions`."""
    predicted = [cell for cell in sorted(plan.cells) if cell.name in predictions]
    wrong = {cell.alike: _lost_or_few(cell, predictions[cell.name]) for cell in predicted}
    found = [f"{alike}: {words}" for alike, words in wrong.items() if words]
    if not found:
        return [Finding("floods", OK)] if predictions else []
    more = f" ({len(found) - 1} more cells)" if len(found) > 1 else ""
    return [
        Finding(
            "floods",
            WARNING,
            f"{found[0]}{more}",
            "`stampede simulate` shows why, docs/simulate.md what helps",
        )
    ]


def _lost_or_few(cell: Cell, prediction: Prediction) -> str:
    """What is wrong with a flood: it loses messages, or N don't run at once."""
    if prediction.dead_lettered:
        dead = cell.batch_size * prediction.dead_lettered
        return f"{dead:,} of {counted(cell.messages, 'message')} would end as dead letters"
    if prediction.time_to_n_s is None:
        return f"N is never reached, {prediction.most_at_once:,} at most run at once"
    return ""


def free_stack(option: str) -> Finding:
    """Nothing else uses the stack of --target `option`, and locally none is applied."""
    if (other := holder(option)) is not None:
        return Finding("stack", PROBLEM, other, WAIT)
    # On AWS the checks of the account find a stack.
    if (
        option == "local"
        and ministack.running(stack.STATE_DIR)
        and (count := stack.applied_resources())
    ):
        return Finding(
            "stack",
            PROBLEM,
            f"a stack of {counted(count, 'resource')} is already applied, and a sweep would change "
            "and destroy it",
            "remove it with `stampede emulator stop`, or sweep with --take-over",
        )
    return Finding("stack", OK)


def budget(estimated: Estimate, budget_usd: float | None) -> Finding:
    """The estimated cost stays within the budget, if there is one."""
    try:
        check_budget(estimated, budget_usd)
    except UsageError as error:
        return Finding("budget", PROBLEM, error.found, error.way_out)
    return Finding("budget", OK)
