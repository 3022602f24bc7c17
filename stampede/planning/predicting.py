"""What the model says of a plan's cells: each cell as a scenario, the parameters, and their predictions, on AWS."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from experiments import EXPERIMENTS, Experiment
from experiments.parameters import files, known_parameters
from stampede.checkout import ROOT
from stampede.errors import UsageError, one_line, refuse_problems
from stampede.finding import BUILD
from stampede.model import parameters as known
from stampede.model.parameters import ParameterError, Parameters
from stampede.model.prediction import Prediction, Scenario, predict
from stampede.model.scenario import PROVISIONED, STANDARD, Evaluation, expect
from stampede.planning import rules
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import Plan
from stampede.planning.rules import UNRESERVED

# What the model raises for a parameter that isn't there, and an experiment's work for values that its checks refuse.
UNANSWERED = (ParameterError, LookupError, ArithmeticError, ValueError)
# Answers are kept for repeats of a cell, and for whoever asks again: as many as a plan may have cells.
MOST_KEPT = 1000
# Of more messages in one flood the model isn't asked: nobody sends so many to one cell, and it would take minutes.
MOST_MESSAGES = 1_000_000

# Of a cell that is sent in rounds: what each round has for itself, and what adds up.
OF_A_ROUND = ("time_to_n_s", "window_end_s", "share_at_n", "most_at_once")
OF_ALL_ROUNDS = ("span_s", "drain_s")


def parameters_of(experiment: Experiment, file: Path | None = None) -> Parameters:
    """What the model knows of AWS and `experiment`, a user's `file` laid over it.

    Raises UsageError for a file that can't be read, or a parameter that has no source or isn't above 0.
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
            near = difflib.get_close_matches(row.name, parameters, n=1)
            places = " and ".join(str(path.relative_to(ROOT)) for path in files(experiment.name))
            hint = f"did you mean {near[0]}?" if near else f"its names are in {places}"
            raise UsageError(f"--parameters: {file.name}: the model has no parameter {row.name}", hint)
    return parameters.with_rows(rows)


@dataclass(frozen=True)
class Given:
    """What is known beside a plan: the `parameters` where they aren't the model's own, how many functions
    the account may run at once (None: enough), whether it has the quota of the network for each environment, which
    share of the invocations crashes or throws, and the bytes of the messages with their attributes, each size with its
    share of the messages (none: small ones)."""

    parameters: Parameters | None = None
    account_concurrency: int | None = None
    bandwidth_quota: bool = False
    crashing: float = 0.0
    message_bytes: Sequence[tuple[int, float]] = ()


NOTHING = Given()


@dataclass(frozen=True)
class Question:
    """What the model is asked about the messages of a cell. Two are the same where all that decides the answer is:
    `key` has it but for what is varied."""

    key: tuple[Hashable, ...]
    messages: int
    timeout_s: float
    barrier_s: float
    warm_up: int
    seed: int
    scenario: Scenario = field(compare=False)
    parameters: Parameters = field(compare=False)
    rounds: int = 1

    @property
    def flood(self) -> Question:
        """What is sent at once: all messages, or those of one of its `rounds`, whose environments are warm. Where one
        runs after the other it is all of them: they take no longer together."""
        if self.rounds == 1 or self.scenario.concurrency == 1:
            return self
        share = -(-self.messages // self.rounds)
        return replace(self.varied(messages=share, warm_up=max(self.warm_up, share)), rounds=1)

    @property
    def floods(self) -> int:
        """How many such floods the messages are sent in."""
        return 1 if self.flood is self else self.rounds

    def varied(self, **changes: float) -> Question:
        """The same with another number of `messages`, say, or without a `timeout_s`."""
        return replace(self, scenario=replace(self.scenario, **changes), **changes)


@dataclass(frozen=True)
class PredictedCell:
    """What a cell of a plan asks for in numbers, and what the model says of it."""

    demand: Demand
    prediction: Prediction


def questions(plan: Plan, given: Given = NOTHING) -> Iterator[tuple[Demand, Question]]:
    """Every cell of `plan`, whose experiment has a model, in the order in which they run, and what the model is asked
    about its measured messages. Raises UsageError as `demands` does."""
    experiment = EXPERIMENTS[plan.experiment]
    parameters = parameters_of(experiment) if given.parameters is None else given.parameters
    rows = tuple(parameters.row(name) for name in parameters)
    for demand in demands(plan):
        scenario = scenario_of(experiment, plan, demand, given)
        values = json.dumps(demand.cell.values, sort_keys=True)
        key = (experiment.work, values, given.account_concurrency, given.bandwidth_quota, given.crashing, rows)
        varied = {name: getattr(scenario, name) for name in ("messages", "timeout_s", "barrier_s", "warm_up")}
        known = {"scenario": scenario, "parameters": parameters, "rounds": demand.cell.rounds}
        yield demand, Question(key, **varied, seed=plan.seed, **known)


@lru_cache(maxsize=MOST_KEPT)
def expected(question: Question) -> Evaluation:
    """How the flood is expected to go. Raises one of UNANSWERED."""
    return expect(question.scenario, question.parameters, question.seed)


@lru_cache(maxsize=MOST_KEPT)
def prediction(question: Question, ranged: bool = True) -> Prediction:
    """All that the model says of it; where not `ranged`, but for how sure it is. The seconds of an operation are those
    of all messages; in rounds all else is that of a round, and the time of all of them. Raises one of UNANSWERED."""
    whole = predict(question.scenario, question.parameters, question.seed, expected(question), ranged)
    if question.rounds == 1:
        return whole
    if question.flood is question:
        return _without_hand_overs(whole, question.rounds)
    a_round, rounds = prediction(question.flood, ranged), question.rounds
    ranges = {name: a_round.ranges[name] for name in OF_A_ROUND if name in a_round.ranges}
    ranges |= {
        name: (rounds * low, rounds * high) for name, (low, high) in a_round.ranges.items() if name in OF_ALL_ROUNDS
    }
    return replace(
        whole,
        **{name: getattr(a_round, name) for name in OF_A_ROUND},
        **{name: rounds * getattr(a_round, name) for name in OF_ALL_ROUNDS},
        ramp=tuple((at * a_round.span_s + at_s, running) for at in range(rounds) for at_s, running in a_round.ramp),
        ranges={**whole.ranges, **ranges},
    )


def _without_hand_overs(whole: Prediction, rounds: int) -> Prediction:
    """The elapsed time of messages that run one after the other, without what passes between two rounds."""
    if whole.avg_s is None:
        return whole
    stays = (whole.count - rounds) / max(1, whole.count - 1)

    def elapsed_s(span_s: float, avg_s: float) -> float:
        return whole.count * avg_s + stays * max(0.0, span_s - whole.count * avg_s)

    spans, averages = (whole.ranges.get(name) for name in ("span_s", "avg_s"))
    ends = {"span_s": tuple(map(elapsed_s, spans, averages))} if spans and averages else {}
    return replace(whole, span_s=elapsed_s(whole.span_s, whole.avg_s), ranges={**whole.ranges, **ends})


def predicted_cells(plan: Plan, given: Given = NOTHING, ranged: bool = True) -> Iterator[PredictedCell]:
    """What the model says of each cell, one after the other, in the order in which they run.

    Raises UsageError for an experiment without a model and for a matrix that no account can hold.
    """
    refuse(plan, given)
    for demand, question in questions(plan, given):
        try:
            yield PredictedCell(demand, prediction(question, ranged))
        except UNANSWERED as error:
            raise UsageError(unanswered(demand, error)) from None


def unanswered(demand: Demand, error: Exception) -> str:
    """What to say of a cell for which the model raised one of UNANSWERED."""
    return (
        f"{demand.cell.alike}: the model has no answer for these settings ({one_line(error)}); "
        "`stampede doctor` checks them"
    )


def predictions(plan: Plan, given: Given = NOTHING, ranged: bool = True) -> dict[str, Prediction]:
    """{cell: what the model says of it}, as `predicted_cells`; repeats of a cell have the same."""
    return {row.demand.name: row.prediction for row in predicted_cells(plan, given, ranged)}


def scenario_of(experiment: Experiment, plan: Plan, demand: Demand, given: Given = NOTHING) -> Scenario:
    """A cell of a plan as the model is asked about it."""
    values = {**demand.cell.values, "messages_per_concurrency": plan.messages_per_concurrency}
    pollers = demand.pollers and (demand.pollers.minimum, demand.pollers.maximum)
    in_lambda = demand.usage.in_lambda
    most = values.get("maximum_concurrency") or max(2, demand.concurrency)
    return Scenario(
        work=partial(experiment.work, demand.cell.values),
        messages=demand.cell.messages,
        concurrency=1 if demand.usage.in_athena else demand.concurrency,
        memory_mb=demand.memory_mb,
        timeout_s=demand.timeout_s if in_lambda else math.inf,  # a host and Athena keep what they have begun
        visibility_timeout_s=values.get("visibility_timeout_s") or rules.HOLDS * demand.timeout_s,
        trigger=(PROVISIONED if pollers else STANDARD) if in_lambda else "",
        pollers=pollers if in_lambda else None,
        maximum_concurrency=most if in_lambda and not pollers else None,
        account_concurrency=given.account_concurrency,
        bandwidth_quota=given.bandwidth_quota,
        crashing=given.crashing if in_lambda else 0.0,
        barrier_s=demand.barrier_s,
        warm_up=demand.cell.warm_up_messages,
    )


def refuse(plan: Plan, given: Given = NOTHING) -> None:
    """Raise UsageError for a plan that the model isn't asked about: one of an experiment without a model, with a number
    that infra/ takes from nobody, with cells that no account can hold, or that its experiment's checks refuse. That a
    function isn't built yet is no hindrance."""
    experiment = EXPERIMENTS[plan.experiment]
    if experiment.work is None:
        having = ", ".join(name for name, one in EXPERIMENTS.items() if one.work) or "none"
        raise UsageError(f"{experiment.name}: there is no model of its operation; experiments with a model: {having}")
    cells = demands(plan)
    rules.refuse_out_of_bounds(cells)
    refuse_too_many(cells)
    if (too_late := rules.late_start([cell for cell in cells if cell.usage.in_lambda])) is not None:
        refuse_problems([too_late])
    refuse_impossible(cells, given.account_concurrency)
    findings = experiment.checks([demand.cell.values for demand in cells])
    refuse_problems(finding for finding in findings if finding.way_out != BUILD)


def refuse_too_many(cells: Sequence[Demand]) -> None:
    """Raise UsageError for more messages than the model can take."""
    for cell in [demand.cell for demand in cells]:
        for count, of in ((cell.messages, "messages"), (cell.warm_up_messages, "warm-up")):
            if count > MOST_MESSAGES:
                raise UsageError(
                    f"{cell.alike}: {count:,} messages, but the model simulates at most {MOST_MESSAGES:,} in one flood",
                    f"use a smaller --{of}-per-concurrency",
                )


def refuse_impossible(cells: Sequence[Demand], account_concurrency: int | None = None) -> None:
    """Raise UsageError for cells that no account can hold, or not one of `account_concurrency`."""
    working = [cell for cell in cells if cell.usage.in_lambda]
    if not working:
        return
    refuse_problems([rules.trigger(working)])
    n = max(cell.concurrency for cell in working)
    if account_concurrency is not None and n > account_concurrency - UNRESERVED:
        raise UsageError(
            f"--account-concurrency {account_concurrency}: {max(0, account_concurrency - UNRESERVED)} can "
            f"be reserved, because {UNRESERVED} must stay unreserved, but concurrency_value is {n}",
            f"sweep a smaller N, or ask AWS for {n + UNRESERVED}",
        )
