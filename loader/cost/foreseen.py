"""The cells of a plan with what the model says of their floods, as far as cost and duration need it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

from experiments import EXPERIMENTS

# The module, and not what is in it: it asks this package for demands.
from loader import predicting
from loader.cost.demand import Demand, demands
from loader.run.plan import Plan
from model.binding import bindings
from model.flood import Course
from model.parameters import ParameterError, Parameters
from model.prediction import Prediction, predict
from model.scenario import Scenario, evaluate

# What the model raises for a parameter that isn't there, and an experiment's work for values that its checks refuse:
# those look at the same cells, and come later.
UNANSWERED = (ParameterError, LookupError, ArithmeticError, ValueError)
# Answers are kept for repeats of a cell, and for whoever asks again: as many as a plan may have cells.
MOST_KEPT = 1000


@dataclass(frozen=True)
class Question:
    """What the model is asked about one flood. Questions are the same where what decides the answer is."""

    experiment: str
    place: str
    values: str
    messages: int
    barrier_s: float
    scenario: Scenario = field(compare=False)
    parameters: Parameters = field(compare=False)

    def of(self, messages: int) -> Question:
        """The same with another number of messages."""
        return replace(self, messages=messages, scenario=replace(self.scenario, messages=messages))

    def course(self) -> Course:
        """The model's answer. Raises one of UNANSWERED."""
        return evaluate(self.scenario, self.parameters).course

    def binds(self) -> str:
        """What binds, in words."""
        return "; ".join(one.words for one in bindings(self.scenario, evaluate(self.scenario, self.parameters), seed=1))


def questions(plan: Plan, defaults: Mapping[str, Any], place: str) -> Iterator[tuple[Demand, Question]]:
    """Every cell of `plan`, in the order in which they run, and what the model is asked about its measured messages at
    `place`. Raises UsageError as `demands` does."""
    experiment = EXPERIMENTS[plan.experiment]
    parameters = predicting.parameters_of(experiment, place)
    there = replace(plan, target=place)
    for demand in demands(plan, defaults):
        scenario = predicting.scenario_of(experiment, there, demand)
        values = json.dumps(demand.values, sort_keys=True, default=asdict)
        yield demand, Question(experiment.name, place, values, demand.messages, demand.barrier_s, scenario, parameters)


def foreseen(plan: Plan, defaults: Mapping[str, Any], place: str) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run, with what the model says of it at `place`;
    nothing where the experiment has no model, or where a cell can't be. Raises UsageError as `demands` does."""
    if EXPERIMENTS[plan.experiment].work is None:
        return demands(plan, defaults)
    return [_foreseen(demand, question) for demand, question in questions(plan, defaults, place)]


@lru_cache(maxsize=MOST_KEPT)
def prediction(question: Question) -> Prediction:
    """All that the model says of the flood, with its ranges and what to change. Raises one of UNANSWERED."""
    return predict(question.scenario, question.parameters)


def _foreseen(demand: Demand, question: Question) -> Demand:
    warm_up = demand.warm_up_messages
    try:
        floods = [asked(question), *([asked(question.of(warm_up))] if warm_up else [])]
    except UNANSWERED:
        return demand
    return replace(
        demand,
        is_foreseen=True,
        floods_s=sum(flood.seconds for flood in floods),
        working_s=sum(flood.working_s for flood in floods),
        longest_s=max(flood.longest_s for flood in floods),
    )


@dataclass(frozen=True)
class Flooded:
    """Seconds from the first message to the last record, of all attempts, and of the slowest without a time limit."""

    seconds: float
    working_s: float
    longest_s: float


@lru_cache(maxsize=MOST_KEPT)
def asked(question: Question) -> Flooded:
    """One flood as the model foresees it. Raises one of UNANSWERED."""
    course = question.course()
    timeout_s = question.scenario.timeout_s
    unlimited = course
    if course.failed_attempts:
        unlimited = replace(question, scenario=replace(question.scenario, timeout_s=math.inf)).course()
    succeeded_s = course.succeeded * course.avg_s if course.succeeded else 0.0
    return Flooded(course.drain_s, succeeded_s + course.failed_attempts * timeout_s, unlimited.max_s)
