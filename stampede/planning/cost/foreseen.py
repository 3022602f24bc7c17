"""The cells of a plan with what the model says of their floods, as far as cost and duration need it."""

from __future__ import annotations

import math
from dataclasses import replace

from experiments import EXPERIMENTS
from stampede.errors import UsageError
from stampede.model.scenario import Evaluation

# The module, and not what is in it: it asks this package for demands.
from stampede.planning import predicting, rules
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import Plan

# All operations of a local sweep share this machine, whatever N is: so long for each, and for what it moves. Rough
# figures of a machine of two cores.
LOCAL_OPERATION_S, LOCAL_MIB_PER_S = 0.1, 600


def foreseen(plan: Plan, given: predicting.Given | None = None) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run, with what the model says of it on AWS; a
    bound where the experiment has no model, or where a cell can't be. Raises UsageError as `demands` does."""
    if EXPERIMENTS[plan.experiment].work is None:
        return [_at_most(demand) for demand in demands(plan)]
    questions = predicting.questions(plan, given or predicting.NOTHING)
    return [_foreseen(demand, question) for demand, question in questions]


def on_this_machine(plan: Plan) -> list[Demand]:
    """The same on this machine, which has no model: about how long the floods take, and nothing of an operation."""
    return [replace(demand, floods_s=_local_s(demand)) for demand in demands(plan)]


def _local_s(demand: Demand) -> float:
    each_s = LOCAL_OPERATION_S + demand.usage.moved_mb / LOCAL_MIB_PER_S
    return demand.operations * each_s + demand.cell.rounds * demand.barrier_s


def _foreseen(demand: Demand, question: predicting.Question) -> Demand:
    warm_up = demand.cell.warm_up_messages
    questions = [question, *([question.varied(messages=warm_up, warm_up=0, barrier_s=0.0)] if warm_up else [])]
    try:
        rules.refuse_out_of_bounds([demand])
        predicting.refuse_too_many([demand])
        floods = [predicting.expected(part) for part in questions]
        rounds_s = question.floods * predicting.expected(question.flood).course.drain_s
        longest_s = max(_longest_s(part) for part in questions)
    except (UsageError, *predicting.UNANSWERED):
        return _at_most(demand)
    return replace(
        demand,
        is_foreseen=True,
        floods_s=rounds_s + sum(flood.course.drain_s for flood in floods[1:]),
        working_s=sum(_working_s(flood, question.timeout_s) for flood in floods),
        longest_s=longest_s,
        start_s=floods[0].work.cold_s,
    )


def _at_most(demand: Demand) -> Demand:
    """A demand of whose operations nothing is known but that Lambda cuts each off."""
    return replace(demand, working_s=float(demand.operations * demand.timeout_s))


def _working_s(flood: Evaluation, timeout_s: float) -> float:
    """Seconds of all attempts of a flood, with what comes before those of a record."""
    course = flood.course
    cut_off_s = course.failed_attempts * timeout_s if course.failed_attempts else 0.0
    return cut_off_s + (course.succeeded * (course.avg_s + flood.work.before_s) if course.succeeded else 0.0)


def _longest_s(question: predicting.Question) -> float:
    """Seconds of the slowest message, with what comes before those of its record, were there no time limit."""
    if predicting.expected(question).course.failed_attempts:
        question = question.varied(timeout_s=math.inf)
    flood = predicting.expected(question)
    return flood.course.max_s + flood.work.before_s
