"""The cells of a plan with what the model says of their floods, as far as cost and duration need it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments import EXPERIMENTS

# The module, and not what is in it: it asks this package for demands.
from loader import predicting
from loader.cost.demand import Demand, demands
from loader.errors import UsageError
from loader.run.plan import Plan
from model.binding import bindings
from model.parameters import ParameterError, Parameters
from model.prediction import Prediction, predict
from model.scenario import ENOUGH_ATTEMPTS, Evaluation, Scenario, expect

# What the model raises for a parameter that isn't there, and an experiment's work for values that its checks refuse:
# those look at the same cells, and come later.
UNANSWERED = (ParameterError, LookupError, ArithmeticError, ValueError)


@dataclass(frozen=True)
class Question:
    """What the model is asked about one flood."""

    scenario: Scenario
    parameters: Parameters
    seed: int

    def of(self, messages: int) -> Question:
        """The same with another number of messages."""
        return replace(self, scenario=replace(self.scenario, messages=messages))

    def warm_up(self) -> Question:
        """The flood before it, which makes its environments."""
        return replace(self, scenario=replace(self.scenario, messages=self.scenario.warm_up, warm_up=0, barrier_s=0.0))

    def found(self) -> Evaluation:
        """The flood, carried out. Raises one of UNANSWERED."""
        return expect(self.scenario, self.parameters, self.seed)

    def binds(self) -> str:
        """What binds, in words. Raises one of UNANSWERED."""
        return "; ".join(one.words for one in bindings(self.scenario, self.found(), self.seed))


def questions(
    plan: Plan, defaults: Mapping[str, Any], place: str, parameters: Parameters | None = None, **account: Any
) -> Iterator[tuple[Demand, Question]]:
    """Every cell of `plan`, in the order in which they run, and what the model is asked about its measured messages at
    `place`, with its `parameters` where none are given and the `account` as `predicting.scenario_of` takes it. Raises
    UsageError as `demands` does."""
    experiment = EXPERIMENTS[plan.experiment]
    parameters = parameters or predicting.parameters_of(experiment, place)
    there = replace(plan, target=place)
    for demand in demands(plan, defaults):
        yield demand, Question(predicting.scenario_of(experiment, there, demand, **account), parameters, plan.seed)


def foreseen(plan: Plan, defaults: Mapping[str, Any], place: str, **known: Any) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run, with what the model says of it at `place`;
    nothing where the experiment has no model, or where a cell can't be. `known` of it as `questions` takes it. Raises
    UsageError as `demands` does."""
    if EXPERIMENTS[plan.experiment].work is None:
        return demands(plan, defaults)
    return [_foreseen(demand, question) for demand, question in questions(plan, defaults, place, **known)]


def prediction(question: Question) -> Prediction:
    """All that the model says of the flood, with its ranges and what to change. Raises one of UNANSWERED."""
    return predict(question.scenario, question.parameters, question.seed)


def _foreseen(demand: Demand, question: Question) -> Demand:
    try:
        predicting.refuse_out_of_bounds([demand])
        floods = [asked(question), *([asked(question.warm_up())] if demand.warm_up_messages else [])]
    except (UsageError, *UNANSWERED):
        return demand
    return replace(
        demand,
        is_foreseen=True,
        floods_s=sum(flood.drain_s for flood in floods),
        working_s=sum(flood.working_s for flood in floods),
        longest_s=max(flood.longest_s for flood in floods),
        start_s=floods[0].start_s,
    )


@dataclass(frozen=True)
class Foreseen:
    """One flood: what is to be expected of its figures (model/flood.py says what they are; `avg_s` is nan where nothing
    succeeds), the seconds of all attempts, of the slowest without a time limit, and of a new environment's start."""

    share_at_n: float
    time_to_n_s: float | None
    most_at_once: int
    avg_s: float
    drain_s: float
    working_s: float
    longest_s: float
    start_s: float


def asked(question: Question) -> Foreseen:
    """What the model says of one flood. Raises one of UNANSWERED."""
    limited, found = question.scenario, question.found()
    course, longest_s = found.course, found.course.max_s
    working_s = course.succeeded * (course.avg_s + found.work.before_s) if course.succeeded else 0.0
    if course.failed_attempts:
        working_s += course.failed_attempts * limited.timeout_s
        without = replace(limited, timeout_s=math.inf)
        longest_s = expect(without, question.parameters, question.seed, ENOUGH_ATTEMPTS).course.max_s
    return Foreseen(
        share_at_n=course.share_at_n,
        time_to_n_s=course.time_to_n_s,
        most_at_once=course.most_at_once,
        avg_s=course.avg_s,
        drain_s=course.drain_s,
        working_s=working_s,
        longest_s=longest_s,
        start_s=found.work.cold_s,
    )
