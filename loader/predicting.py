"""What the model says of a plan's cells: each cell as a scenario, the parameters of a place, and their predictions."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Experiment
from experiments.finding import PROBLEM
from loader.cost.demand import Demand, demands
from loader.errors import UsageError
from loader.infra_variables import declared
from loader.run.plan import Cell, Plan
from model import parameters as known
from model.parameters import ParameterError, Parameters
from model.prediction import Prediction, Scenario, predict
from model.scenario import PROVISIONED, STANDARD
from model.work import Work

OF_EXPERIMENTS = known.AWS.parent.parent / "experiments" / "parameters"
# What 10,000 provisioned pollers reach; the rule of infra/variables.tf.
MOST_AT_ONCE = 100_000
# Lambda leaves so much of the account's concurrency to functions that reserve none (quotas page).
UNRESERVED = 100
# A message stays hidden for so many timeouts of the function (Lambda guide, services-sqs-configure).
HOLDS = 6

# What a prediction for this machine is worth that is made before a run.
UNCALIBRATED = (
    "predicted for a machine of two cores, the one on which the model's parameters were measured; a sweep calibrates "
    "this machine first, and predicts with what it finds"
)


def parameters_of(experiment: Experiment, place: str, file: Path | None = None) -> Parameters:
    """What the model knows of `place` (`aws` or `local`) and `experiment`, a user's `file` laid over it.

    Raises UsageError for a file that can't be read, or a parameter that has no source or isn't above 0.
    """
    end = "" if place == "aws" else f"_{place}"
    files = [known.AWS.with_name(f"parameters{end}.json"), OF_EXPERIMENTS / f"{experiment.name}{end}.json"]
    rows = [row for path in files if path.exists() for row in known.read(path)]
    parameters = Parameters(rows, place)
    if file is None:
        return parameters
    try:
        given = known.read(file)
    except ParameterError as error:
        raise UsageError(f"--parameters: {error}") from None
    for row in given:
        if row.name not in set(parameters):
            near = difflib.get_close_matches(row.name, parameters, n=1)
            hint = f"did you mean {near[0]}?" if near else f"its names stand in {', '.join(map(_short, files))}"
            raise UsageError(f"--parameters: {file.name}: the model has no {row.name}; {hint}")
    return parameters.with_rows(given)


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@dataclass(frozen=True)
class PredictedCell:
    """A cell of a plan, what it asks for in numbers, and what the model says of it."""

    cell: Cell
    demand: Demand
    prediction: Prediction


def predictions(
    plan: Plan, defaults: Mapping[str, Any], parameters: Parameters | None = None, seed: int = 1
) -> dict[str, Prediction]:
    """{cell: what the model says of it}, in the order of the plan; repeats of a cell have the same.

    `defaults` are `infra_defaults()`; `parameters` are those of the plan's target where none are given. Raises
    UsageError for an experiment without a model and for a matrix that no account can hold.
    """
    return {one.cell.name: one.prediction for one in predicted_cells(plan, defaults, parameters, seed)}


def predicted_cells(
    plan: Plan,
    defaults: Mapping[str, Any],
    parameters: Parameters | None = None,
    seed: int = 1,
    account_concurrency: int | None = None,
    bandwidth_quota: bool = False,
) -> Iterator[PredictedCell]:
    """As `predictions`, one after the other; `account_concurrency` is the account's, where it is known, and
    `bandwidth_quota` whether it has the one of the network for each environment."""
    experiment = EXPERIMENTS[plan.experiment]
    if experiment.work is None:
        having = ", ".join(name for name, one in EXPERIMENTS.items() if one.work) or "none"
        raise UsageError(f"{experiment.name}: has no model of its operation; choose one that has: {having}")
    parameters = parameters or parameters_of(experiment, plan.target)
    cells = list(zip(plan.cells(), demands(plan, defaults), strict=True))
    of_cells = [demand for _, demand in cells]
    refuse_out_of_bounds(of_cells)
    if plan.target != "local":
        refuse_impossible(of_cells, account_concurrency)
    for finding in experiment.checks([demand.values for demand in of_cells]):
        if finding.status == PROBLEM:
            raise UsageError(f"{finding.check}: {finding.sentence}")
    for cell, demand in cells:
        scenario = scenario_of(experiment, plan, demand, account_concurrency, bandwidth_quota)
        try:
            yield PredictedCell(cell, demand, predict(scenario, parameters, seed))
        except ParameterError as error:
            raise UsageError(f"{cell.name}: {error}") from None


@dataclass(frozen=True)
class WorkOf:
    """What a message of an experiment does with these values; equal where both are."""

    work: Callable[[Mapping[str, Any], Parameters], Work]
    text: str
    values: Mapping[str, Any] = field(compare=False)

    @classmethod
    def of(cls, experiment: Experiment, values: Mapping[str, Any]) -> WorkOf:
        """That of a cell."""
        return cls(experiment.work, json.dumps(values, sort_keys=True, default=asdict), values)

    def __call__(self, parameters: Parameters) -> Work:
        return self.work(self.values, parameters)


def scenario_of(
    experiment: Experiment,
    plan: Plan,
    demand: Demand,
    account_concurrency: int | None = None,
    bandwidth_quota: bool = False,
) -> Scenario:
    """A cell of a plan as the model is asked about it; of the account as `predicted_cells`."""
    values = {**demand.values, "messages_per_concurrency": plan.messages_per_concurrency}
    pollers = demand.pollers and (demand.pollers.minimum, demand.pollers.maximum)
    in_lambda = demand.usage.in_lambda
    most = values.get("maximum_concurrency") or max(2, demand.concurrency)
    return Scenario(
        work=WorkOf.of(experiment, demand.values),
        messages=demand.messages,
        concurrency=1 if demand.usage.in_athena else demand.concurrency,
        memory_mb=demand.memory_mb,
        timeout_s=demand.timeout_s if in_lambda else math.inf,  # a host and Athena keep what they have begun
        visibility_timeout_s=values.get("visibility_timeout_s") or HOLDS * demand.timeout_s,
        trigger=(PROVISIONED if pollers else STANDARD) if in_lambda else "",
        pollers=pollers if in_lambda else None,
        maximum_concurrency=most if in_lambda and not pollers else None,
        account_concurrency=account_concurrency,
        bandwidth_quota=bandwidth_quota,
        barrier_s=demand.barrier_s,
        warm_up=demand.warm_up_messages,
        shares_a_list=experiment.messages is not None and experiment.messages(values) is not None,
        operations=experiment.operation[1],
    )


def refuse_out_of_bounds(cells: Sequence[Demand]) -> None:
    """Raise UsageError for a number that infra/ takes from nobody."""
    for name, variable in declared().items():
        for cell in cells:
            value = cell.values.get(name)
            if value is None or variable.type != "number":
                continue
            least, most = variable.least, variable.most
            if (least is not None and value < least) or (most is not None and value > most):
                rule = f"{least:,.0f} or more" if most is None else f"{least or 0:,.0f} to {most:,.0f}"
                raise UsageError(f"{name}: must be {rule}, got {value}; correct --set {name}=...")
    _refuse_short_holds(cells)


def _refuse_short_holds(cells: Sequence[Demand]) -> None:
    for cell in cells:
        hold_s = cell.values.get("visibility_timeout_s")
        if hold_s is not None and hold_s < HOLDS * cell.timeout_s:
            raise UsageError(
                f"visibility_timeout_s: must be at least {HOLDS} x timeout_s = {HOLDS * cell.timeout_s}, got {hold_s}; "
                "leave it out, or use a shorter timeout_s"
            )


def refuse_impossible(cells: Sequence[Demand], account_concurrency: int | None = None) -> None:
    """Raise UsageError for cells that no account can hold, or not one of `account_concurrency`."""
    # Not above: the checks estimate what a plan costs, and an estimate may rest on predictions.
    from loader.checks import plan as rules

    working = [cell for cell in cells if cell.usage.in_lambda]
    if not working:
        return
    for finding in (rules.memory(working), rules.trigger(working)):
        if finding.status == PROBLEM:
            raise UsageError(f"{finding.check}: {finding.sentence}")
    n = max(cell.concurrency for cell in working)
    if n > MOST_AT_ONCE:
        raise UsageError(f"concurrency_value {n}: an SQS trigger ends at {MOST_AT_ONCE}; sweep a smaller N")
    if account_concurrency is not None and n > account_concurrency - UNRESERVED:
        raise UsageError(
            f"--account-concurrency {account_concurrency}: {max(0, account_concurrency - UNRESERVED)} of them can be "
            f"reserved, as {UNRESERVED} must not be, and concurrency_value is {n}; sweep a smaller N, or ask AWS for "
            f"{n + UNRESERVED}"
        )
