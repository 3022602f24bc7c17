"""What the model predicts about the floods of a plan's cells on AWS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from experiments import EXPERIMENTS
from experiments.parameters import known_parameters
from stampede.errors import UsageError, one_line
from stampede.model.parameters import ParameterError, Parameters
from stampede.model.prediction import Prediction, Scenario, predict
from stampede.model.scenario import PROVISIONED, STANDARD, Evaluation, expect
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import Plan
from stampede.planning.settings import least_hidden_s

# Raised by the model for a missing parameter, and by an experiment's work for values that its
# checks refuse.
UNANSWERED = (ParameterError, LookupError, ArithmeticError, ValueError)
# The model isn't asked about more messages in one flood: nobody sends so many to one cell, and it
# would take minutes.
MOST_MESSAGES = 1_000_000
# Figures of a cell in rounds: those of each round, and those that add up.
OF_A_ROUND = ("time_to_n_s", "window_end_s", "share_at_n", "most_at_once")
OF_ALL_ROUNDS = ("span_s", "drain_s")


@dataclass(frozen=True)
class Question:
    """A question to the model about the messages of a cell, which are sent in `rounds`. Its answers
    raise one of UNANSWERED."""

    scenario: Scenario
    parameters: Parameters
    seed: int
    rounds: int = 1

    @cached_property
    def answer(self) -> Evaluation:
        """The expected course of all messages as one flood."""
        return expect(self.scenario, self.parameters, self.seed)

    @cached_property
    def of_round(self) -> Question:
        """The same about one round, whose environments are warm."""
        if self.rounds == 1:
            return self
        share = -(-self.scenario.messages // self.rounds)
        warm_up = max(self.scenario.warm_up, share)
        return replace(self.varied(messages=share, warm_up=warm_up), rounds=1)

    def varied(self, **changes: float) -> Question:
        """The same question about a changed scenario."""
        return replace(self, scenario=replace(self.scenario, **changes))

    def predict(self, ranged: bool = True) -> Prediction:
        """The model's prediction, with ranges if `ranged`. With rounds, an operation's seconds are
        those of all messages, the other figures those of one round, and times add up. `ramp` is
        drawn as if all were one flood."""
        whole = predict(self.scenario, self.parameters, self.seed, self.answer, ranged)
        if self.rounds == 1:
            return whole
        a_round = self.of_round.predict(ranged)
        own: dict[str, Any] = {name: getattr(a_round, name) for name in OF_A_ROUND}
        own |= {name: self.rounds * getattr(a_round, name) for name in OF_ALL_ROUNDS}
        ranges = dict(whole.ranges)
        for name, (low, high) in a_round.ranges.items():
            if name in own:
                times = self.rounds if name in OF_ALL_ROUNDS else 1
                ranges[name] = (times * low, times * high)
        return replace(whole, **own, ranges=ranges)

    @property
    def floods_s(self) -> float:
        """Seconds of all rounds."""
        return self.rounds * self.of_round.answer.course.drain_s

    @property
    def working_s(self) -> float:
        """Seconds of all attempts, with the time before those of a record begin."""
        course, timeout_s = self.answer.course, self.scenario.timeout_s
        cut_off_s = course.failed_attempts * timeout_s if course.failed_attempts else 0.0
        # If most simulated floods fail completely, the mean of the successes isn't known: the time
        # limit at most.
        one_s = timeout_s
        if not math.isnan(course.avg_s):
            one_s = course.avg_s + self.answer.work.before_s
        return cut_off_s + (course.succeeded * one_s if course.succeeded else 0.0)

    @property
    def longest_s(self) -> float:
        """Seconds of the slowest message without a time limit, from before its record begins."""
        unlimited = self
        if self.answer.course.failed_attempts:
            unlimited = self.varied(timeout_s=math.inf)
        return unlimited.answer.course.max_s + self.answer.work.before_s


def foresee(
    plan: Plan, parameters: Parameters | None = None, **of_account: float | None
) -> list[Demand]:
    """The demand of each cell of `plan`, in the order in which they run, with what the model
    predicts about its floods on AWS, or why it can't. `parameters` replace the model's own;
    `of_account` are further fields of the `Scenario` of each cell in Lambda."""
    parameters = parameters or known_parameters(plan.experiment)
    foreseen: dict[str, dict[str, Any]] = {}
    cells = demands(plan)
    for demand in cells:
        if demand.cell.alike not in foreseen:
            foreseen[demand.cell.alike] = _foreseen(plan, demand, parameters, of_account)
    return [replace(demand, **foreseen[demand.cell.alike]) for demand in cells]


def _foreseen(
    plan: Plan, demand: Demand, parameters: Parameters, of_account: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a `Demand` that the model knows; else those that say so."""
    try:
        question = question_of(plan, demand, parameters, of_account)
        floods = [question]
        if warm_up := demand.cell.warm_up_invocations:
            before = question.varied(messages=warm_up, warm_up=0, barrier_s=0.0)
            floods.append(replace(before, rounds=1))
        return {
            "question": question,
            "floods_s": sum(flood.floods_s for flood in floods),
            "working_s": sum(flood.working_s for flood in floods),
            "longest_s": max(flood.longest_s for flood in floods),
            "start_s": question.answer.work.cold_s,
        }
    except UsageError as error:
        why_not = str(error)
    except UNANSWERED as error:
        why_not = (
            f"{demand.cell.alike}: the model has no answer for these settings ({one_line(error)}); "
            "`stampede doctor` checks them"
        )
    return {"why_not": why_not, "working_s": float(demand.operations * demand.timeout_s)}


def question_of(
    plan: Plan,
    demand: Demand,
    parameters: Parameters,
    of_account: dict[str, Any] | None = None,
) -> Question:
    """The question about a cell of `plan`. Raises UsageError if its experiment has no model, or for
    more messages than the model can simulate."""
    experiment, cell, values = EXPERIMENTS[plan.experiment], demand.cell, demand.cell.values
    if experiment.work is None:
        raise UsageError(f"{experiment.name}: there is no model of its operation")
    for count, option in ((cell.invocations, "messages"), (cell.warm_up_invocations, "warm-up")):
        if count > MOST_MESSAGES:
            raise UsageError(
                f"{cell.alike}: {count:,} messages, but the model simulates at most "
                f"{MOST_MESSAGES:,} in one flood",
                f"use a smaller --{option}-per-concurrency",
            )
    scenario = Scenario(
        work=partial(experiment.work, values),
        messages=cell.invocations,
        concurrency=1 if demand.usage.in_athena else demand.concurrency,
        memory_mb=demand.memory_mb,
        timeout_s=math.inf,  # hosts and Athena have no time limit, and no trigger
        visibility_timeout_s=values.get("visibility_timeout_s") or least_hidden_s(values),
        trigger="",
        barrier_s=demand.barrier_s,
        warm_up=cell.warm_up_invocations,
        batch_size=cell.batch_size,
    )
    if demand.usage.in_lambda:
        pollers = demand.pollers
        most = values.get("maximum_concurrency") or max(2, demand.concurrency)
        scenario = replace(
            scenario,
            timeout_s=demand.timeout_s,
            trigger=PROVISIONED if pollers else STANDARD,
            pollers=pollers,
            maximum_concurrency=None if pollers else most,
            **(of_account or {}),
        )
    # If N is 1, rounds take no longer together.
    rounds = 1 if scenario.concurrency == 1 else cell.rounds
    return Question(scenario, parameters, plan.seed, rounds)
