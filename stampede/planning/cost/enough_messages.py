"""`--messages auto`: for each cell the fewest messages that put four fifths of its operations' time in full overlap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments import EXPERIMENTS, Experiment
from stampede.errors import UsageError
from stampede.model.bottleneck import GOOD_SHARE, bottlenecks, listed
from stampede.model.enough import NeverEnoughError, fewest
from stampede.phrases import counted
from stampede.planning.cost.estimates import estimate
from stampede.planning.demand import Demand
from stampede.planning.plan import Plan
from stampede.planning.predicting import NOTHING, UNANSWERED, Given, Question, expected, questions, refuse, unanswered
from stampede.progress import say

OPTION = "--messages auto"
SHARE = GOOD_SHARE
# What an interval of a mean needs: MINIMUM_FOR_INTERVAL of stampede/report/statistics/rules.py.
LEAST = 10
# As NEARLY_FULL of the same rules.
NEARLY_FULL = 0.9


@dataclass(frozen=True)
class Chosen:
    """A cell, the least messages that it may have, those that were chosen, and what they put in full overlap."""

    cell: Demand
    question: Question
    least: int
    messages: int

    def share_of(self, messages: int) -> float:
        """The share of the operations' time in full overlap with so many."""
        return expected(self.question.varied(messages=messages).flood).course.share_at_n


def with_enough_messages(
    plan: Plan, defaults: Mapping[str, Any], kind: str, budget_usd: float | None, given: Given = NOTHING
) -> Plan:
    """`plan` with the fewest messages for each cell that put SHARE of the operations' time in full overlap, though
    never fewer than N, or than an interval needs. Says on stderr what was chosen.

    `kind` is the plan's target, as `estimate` takes it. Raises UsageError where messages are shares of one list, where
    no number of them does it, or where it costs more than `budget_usd` (None: no limit; a local sweep costs nothing).
    """
    experiment = EXPERIMENTS[plan.experiment]
    if experiment.work is None:
        raise UsageError(f"{OPTION}: there is no model of {experiment.name}", "use --messages-per-concurrency")
    refuse(plan, defaults, given)
    pairs = questions(replace(plan, repeats=1), defaults, plan.target, given)
    choices = [_chosen(cell, question, experiment) for cell, question in pairs]
    enough = replace(plan, counts={choice.cell.alike: choice.messages for choice in choices})
    if budget_usd is not None and kind != "local":
        _refuse_beyond(budget_usd, plan, lambda plan: estimate(plan, defaults, kind, given).total_usd, choices)
    for choice in choices:
        say(
            f"{OPTION}: {choice.cell.alike}: {counted(choice.messages, 'message')}, with "
            f"{_put(choice.share_of(choice.messages), experiment)}"
        )
    return enough


def _chosen(cell: Demand, question: Question, experiment: Experiment) -> Chosen:
    """The search for one cell. Raises UsageError."""
    step = experiment.messages({**cell.values, "messages_per_concurrency": 1}) or 1
    at_once = cell.concurrency * question.floods
    least = -(-max(at_once, LEAST) // step) * step
    try:
        messages = fewest(lambda count: expected(question.varied(messages=count).flood).course, SHARE, least, step)
    except NeverEnoughError as error:
        raise _never(error, cell, question, experiment) from None
    except UNANSWERED as error:
        raise UsageError(f"{OPTION}: {unanswered(cell, error)}") from None
    return Chosen(cell, question, least, messages)


def _never(error: NeverEnoughError, cell: Demand, question: Question, experiment: Experiment) -> UsageError:
    """Why no number of messages is enough, and the way out."""
    course, n = error.figures, cell.concurrency
    tried = question.varied(messages=error.messages).flood
    why = f"the bottleneck is {listed(bottlenecks(tried.scenario, expected(tried), tried.seed))}"
    if course.time_to_n_s is not None:
        reached = f"it is {_put(course.share_at_n, experiment)}"
    else:
        reached = f"at most {course.most_at_once:,} run at once"
        if course.most_at_once >= NEARLY_FULL * n:
            why = (
                f"{experiment.operation[1]} of {course.avg_s:.2g} s are too short for N of them to run at the "
                "same moment"
            )
    return UsageError(
        f"{OPTION}: {cell.alike}: no number of messages reaches {_put(SHARE, experiment)} of N = {n:,}; "
        f"with {error.messages:,} {reached}, and {why}",
        "sweep a smaller N, or use --messages-per-concurrency",
    )


def _refuse_beyond(budget_usd: float, plan: Plan, usd: Callable[[Plan], float], choices: list[Chosen]) -> None:
    """Raise UsageError where the chosen messages cost more than the budget, with the share that it does buy.

    A bill grows in a straight line with the messages, from the least on; what an unknown price hides is refused by
    `check_budget`.
    """
    enough_usd = usd(replace(plan, counts={choice.cell.alike: choice.messages for choice in choices}))
    if enough_usd <= budget_usd:
        return
    experiment = EXPERIMENTS[plan.experiment]
    least_usd = usd(replace(plan, counts={choice.cell.alike: choice.least for choice in choices}))
    cost = (
        f"{OPTION}: {_percent(SHARE)} of the {experiment.operation[1]}' time in full overlap would cost "
        f"about {enough_usd:.2f} USD, but --budget-usd is {budget_usd:g}"
    )
    if least_usd > budget_usd:
        raise UsageError(
            f"{cost}, which is below the least possible cost, {least_usd:.2f} USD",
            "raise --budget-usd, or sweep fewer or smaller cells with --set",
        )
    affordable = (budget_usd - least_usd) / (enough_usd - least_usd)
    shares = [
        (choice.share_of(int(choice.least + affordable * (choice.messages - choice.least))), choice.cell.alike)
        for choice in choices
    ]
    share, cell = min(shares)
    raise UsageError(
        f"{cost}; this budget reaches {_percent(share)} in {cell} and at least that in the others",
        "raise --budget-usd, or sweep fewer or smaller cells with --set",
    )


def _put(share: float, experiment: Experiment) -> str:
    return f"{_percent(share)} of the {experiment.operation[1]}' time in full overlap"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
