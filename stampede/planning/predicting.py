"""What the model predicts for a plan's cells on AWS, and the demand behind cost and duration."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Experiment
from experiments.parameters import known_parameters
from stampede.errors import UsageError, one_line, refuse_problems
from stampede.finding import BUILD
from stampede.model import parameters as known
from stampede.model.parameters import Parameter, ParameterError, Parameters
from stampede.model.prediction import Prediction, Scenario, predict
from stampede.model.scenario import PROVISIONED, STANDARD, Evaluation, expect
from stampede.model.work import Work
from stampede.planning import rules
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import Plan
from stampede.planning.settings import least_hidden_s

# Raised by the model for a missing parameter, and by an experiment's work for values that its
# checks refuse.
UNANSWERED = (ParameterError, LookupError, ArithmeticError, ValueError)
# Answers are cached for repeats of a cell and later questions, as many as a plan may have cells.
MOST_KEPT = 1000
# The model isn't asked about more messages in one flood: nobody sends so many to one cell, and it
# would take minutes.
MOST_MESSAGES = 1_000_000

# Figures of a cell in rounds: those of each round, and those that add up.
OF_A_ROUND = ("time_to_n_s", "window_end_s", "share_at_n", "most_at_once")
OF_ALL_ROUNDS = ("span_s", "drain_s")

# All operations of a local sweep share this machine, whatever N is: seconds of each, and the rate
# at which they move bytes. Rough figures of a machine with two cores.
LOCAL_OPERATION_S, LOCAL_MIB_PER_S = 0.1, 600


def parameters_of(experiment: Experiment, file: Path | None = None) -> Parameters:
    """The model's parameters for AWS and `experiment`, overridden by those of a user's `file`.

    Raises UsageError for a file that can't be read, or a parameter that is unknown, has no source
    or isn't above 0.
    """
    parameters = known_parameters(experiment.name)
    if file is None:
        return parameters
    try:
        rows = known.read(file)
    except ParameterError as error:
        raise UsageError(f"--parameters: {error}") from None
    for row in rows:
        if row.name not in set(parameters):
            no_such = f"--parameters: {file.name}: the model has no parameter {row.name}"
            raise UsageError(no_such, "stampede/model/parameters.json has all names")
    return parameters.with_rows(rows)


@dataclass(frozen=True)
class Given:
    """What is known besides a plan: the `parameters`, if not the model's own, the functions that
    the account can run at once (None: enough), whether it has the network quota for each
    environment, the share of invocations that crash or throw, and the sizes in bytes of messages
    with their attributes, each with its share of the messages (none: small)."""

    parameters: Parameters | None = None
    account_concurrency: int | None = None
    bandwidth_quota: bool = False
    crashing: float = 0.0
    message_bytes: Sequence[tuple[int, float]] = ()


NOTHING = Given()


@dataclass(frozen=True)
class CellWork:
    """The work of a message in a cell with these `values` (JSON), comparable for the cache."""

    work: Callable[[Any, Parameters], Work]
    values: str

    def __call__(self, parameters: Parameters) -> Work:
        return self.work(json.loads(self.values), parameters)


@dataclass(frozen=True)
class Question:
    """A question to the model about the messages of a cell, which are sent in `rounds`."""

    scenario: Scenario
    rows: tuple[Parameter, ...]
    seed: int
    rounds: int = 1

    @property
    def flood(self) -> Question:
        """The messages that are sent at once: all of them, or one round's, whose environments are
        warm. If N is 1 it is all of them, as rounds take no longer together."""
        if self.rounds == 1 or self.scenario.concurrency == 1:
            return self
        share = -(-self.scenario.messages // self.rounds)
        return replace(
            self.varied(messages=share, warm_up=max(self.scenario.warm_up, share)), rounds=1
        )

    def varied(self, **changes: float) -> Question:
        """The same question about a changed scenario."""
        return replace(self, scenario=replace(self.scenario, **changes))


@dataclass(frozen=True)
class PredictedCell:
    """A cell's demand, and what the model predicts for it."""

    demand: Demand
    prediction: Prediction


def questions(plan: Plan, given: Given = NOTHING) -> Iterator[tuple[Demand, Question]]:
    """The demand of each cell of `plan` in the order in which they run, with the question about its
    measured messages. The experiment must have a model."""
    experiment = EXPERIMENTS[plan.experiment]
    parameters = parameters_of(experiment) if given.parameters is None else given.parameters
    rows = tuple(map(parameters.row, parameters))
    for demand in demands(plan):
        scenario = scenario_of(experiment, plan, demand, given)
        yield demand, Question(scenario, rows, plan.seed, demand.cell.rounds)


def scenario_of(
    experiment: Experiment, plan: Plan, demand: Demand, given: Given = NOTHING
) -> Scenario:
    """A cell of a plan in the words of the model."""
    values, in_lambda = demand.cell.values, demand.usage.in_lambda
    pollers = demand.pollers if in_lambda else None
    most = values.get("maximum_concurrency") or max(2, demand.concurrency)
    return Scenario(
        work=CellWork(experiment.work, json.dumps(values, sort_keys=True)),
        messages=demand.cell.invocations,
        concurrency=1 if demand.usage.in_athena else demand.concurrency,
        memory_mb=demand.memory_mb,
        # hosts and Athena have no time limit
        timeout_s=demand.timeout_s if in_lambda else math.inf,
        visibility_timeout_s=values.get("visibility_timeout_s") or least_hidden_s(values),
        trigger=(PROVISIONED if pollers else STANDARD) if in_lambda else "",
        pollers=pollers,
        maximum_concurrency=most if in_lambda and not pollers else None,
        account_concurrency=given.account_concurrency,
        bandwidth_quota=given.bandwidth_quota,
        crashing=given.crashing if in_lambda else 0.0,
        barrier_s=demand.barrier_s,
        warm_up=demand.cell.warm_up_invocations,
        batch_size=demand.cell.batch_size,
    )


@lru_cache(maxsize=MOST_KEPT)
def expected(question: Question) -> Evaluation:
    """The expected course of the flood. Raises one of UNANSWERED."""
    return expect(question.scenario, Parameters(question.rows), question.seed)


@lru_cache(maxsize=MOST_KEPT)
def prediction(question: Question, ranged: bool = True) -> Prediction:
    """The model's prediction, with ranges if `ranged`. With rounds, an operation's seconds are
    those of all messages, the other figures those of one round, and times add up. Raises one of
    UNANSWERED."""
    parameters = Parameters(question.rows)
    whole = predict(question.scenario, parameters, question.seed, expected(question), ranged)
    if question.flood is question:
        return whole
    a_round, rounds = prediction(question.flood, ranged), question.rounds
    times = dict.fromkeys(OF_A_ROUND, 1) | dict.fromkeys(OF_ALL_ROUNDS, rounds)
    own = {
        name: (value := getattr(a_round, name)) and count * value for name, count in times.items()
    }
    ends = {name: a_round.ranges[name] for name in times if name in a_round.ranges}
    ranges = {name: (times[name] * low, times[name] * high) for name, (low, high) in ends.items()}
    ramp = tuple(
        (at * a_round.span_s + at_s, running)
        for at in range(rounds)
        for at_s, running in a_round.ramp
    )
    return replace(whole, **own, ramp=ramp, ranges={**whole.ranges, **ranges})


def predicted_cells(
    plan: Plan, given: Given = NOTHING, ranged: bool = True
) -> Iterator[PredictedCell]:
    """The prediction of each cell, one at a time, in the order in which they run.

    Raises UsageError as `refuse` does, and for a cell that the model can't predict.
    """
    refuse(plan, given)
    for demand, question in questions(plan, given):
        try:
            yield PredictedCell(demand, prediction(question, ranged))
        except UNANSWERED as error:
            found = (
                f"{demand.cell.alike}: the model has no answer for these settings "
                f"({one_line(error)})"
            )
            raise UsageError(found, "`stampede doctor` checks them") from None


def predictions(plan: Plan, given: Given = NOTHING, ranged: bool = True) -> dict[str, Prediction]:
    """The predictions of `predicted_cells` by the name of the cell."""
    return {row.demand.name: row.prediction for row in predicted_cells(plan, given, ranged)}


def predicted(plan: Plan, ranged: bool = False) -> tuple[dict[str, Prediction], str]:
    """The `predictions` of a sweep, or none and why. Nothing is predicted for this machine."""
    if plan.target == "local":
        return {}, ""
    try:
        return predictions(plan, ranged=ranged), ""
    except UsageError as error:
        return {}, str(error)


def refuse(plan: Plan, given: Given = NOTHING) -> None:
    """Raise UsageError for a plan that the model isn't asked about: its experiment has no model, no
    account can run its cells, or its experiment's checks refuse it. Functions needn't be built."""
    experiment, cells = EXPERIMENTS[plan.experiment], demands(plan)
    if experiment.work is None:
        having = ", ".join(name for name, other in EXPERIMENTS.items() if other.work)
        raise UsageError(
            f"{experiment.name}: there is no model of its operation; experiments with a model: "
            f"{having}"
        )
    for demand in cells:
        refuse_too_many(demand)
    if working := [cell for cell in cells if cell.usage.in_lambda]:
        refuse_problems(
            [rules.time_limit(working, experiment.operation[0]), rules.trigger(working)]
        )
        _refuse_beyond_account(max(cell.concurrency for cell in working), given.account_concurrency)
    findings = experiment.checks([demand.cell.values for demand in cells])
    refuse_problems(finding for finding in findings if finding.way_out != BUILD)


def refuse_too_many(demand: Demand) -> None:
    """Raise UsageError for more messages, or full batches, than the model can simulate."""
    cell = demand.cell
    for count, option in ((cell.invocations, "messages"), (cell.warm_up_invocations, "warm-up")):
        if count > MOST_MESSAGES:
            many = (
                f"{cell.alike}: {count:,} messages, but the model simulates at most "
                f"{MOST_MESSAGES:,} in one flood"
            )
            raise UsageError(many, f"use a smaller --{option}-per-concurrency")


def _refuse_beyond_account(n: int, account_concurrency: int | None) -> None:
    """Raise UsageError for an N that an account of `account_concurrency` can't reserve."""
    if account_concurrency is not None and n > (
        most := max(0, account_concurrency - rules.UNRESERVED)
    ):
        raise UsageError(
            f"--account-concurrency {account_concurrency}: {most} can be reserved, because "
            f"{rules.UNRESERVED} must stay unreserved, but concurrency_value is {n}",
            f"sweep a smaller N, or ask AWS for {n + rules.UNRESERVED}",
        )


def foreseen(plan: Plan, given: Given = NOTHING) -> list[Demand]:
    """The demand of each cell of `plan`, in the order in which they run, with what the model
    predicts on AWS; an upper bound if it can't predict the cell."""
    if EXPERIMENTS[plan.experiment].work is None:
        return [_at_most(demand) for demand in demands(plan)]
    return [_foreseen(demand, question) for demand, question in questions(plan, given)]


def on_this_machine(plan: Plan) -> list[Demand]:
    """The same on this machine, which has no model: roughly how long the floods take, and nothing
    about an operation."""

    def floods_s(demand: Demand) -> float:
        each_s = LOCAL_OPERATION_S + demand.usage.moved_mb / LOCAL_MIB_PER_S
        return demand.operations * each_s + demand.cell.rounds * demand.barrier_s

    return [replace(demand, floods_s=floods_s(demand)) for demand in demands(plan)]


def _foreseen(demand: Demand, question: Question) -> Demand:
    warm_up = demand.cell.warm_up_invocations
    before = (
        [replace(question, rounds=1).varied(messages=warm_up, warm_up=0, barrier_s=0.0)]
        if warm_up
        else []
    )
    try:
        refuse_too_many(demand)
        return replace(
            demand,
            is_foreseen=True,
            floods_s=sum(map(_drain_s, [question, *before])),
            working_s=sum(map(_working_s, [question, *before])),
            longest_s=max(map(_longest_s, [question, *before])),
            start_s=expected(question).work.cold_s,
        )
    except (UsageError, *UNANSWERED):
        return _at_most(demand)


def _at_most(demand: Demand) -> Demand:
    """A demand with the time limit as the only known bound of its operations."""
    return replace(demand, working_s=float(demand.operations * demand.timeout_s))


def _drain_s(question: Question) -> float:
    """Seconds of all rounds."""
    rounds = 1 if question.flood is question else question.rounds
    return rounds * expected(question.flood).course.drain_s


def _working_s(question: Question) -> float:
    """Seconds of all attempts of a flood, with the time before those of a record begin."""
    flood, timeout_s = expected(question), question.scenario.timeout_s
    course = flood.course
    cut_off_s = course.failed_attempts * timeout_s if course.failed_attempts else 0.0
    # If most simulated floods fail completely, the mean of the successes isn't known: the time
    # limit at most.
    one_s = timeout_s if math.isnan(course.avg_s) else course.avg_s + flood.work.before_s
    return cut_off_s + (course.succeeded * one_s if course.succeeded else 0.0)


def _longest_s(question: Question) -> float:
    """Seconds of the slowest message without a time limit, from before its record begins."""
    if expected(question).course.failed_attempts:
        question = question.varied(timeout_s=math.inf)
    flood = expected(question)
    return flood.course.max_s + flood.work.before_s
