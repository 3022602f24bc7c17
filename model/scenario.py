"""One cell as the model is asked about it, and one run of the engine over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model import flood as engine
from model import operation as operations
from model.flood import Course, Flood, Limit, Trigger
from model.operation import Operation
from model.parameters import Parameters
from model.work import Work

STANDARD, PROVISIONED = "standard", "provisioned"


@dataclass(frozen=True)
class Scenario:
    """One cell as the model is asked about it.

    `work(parameters)` is what a message does. `trigger`: `standard` or `provisioned` (with `pollers`, minimum and
    maximum), or empty where workers ask the queue themselves or the messages go one after the other. What is None of
    `maximum_concurrency` and `account_concurrency` doesn't limit. `bandwidth_quota`: the function has the quota
    "Network bandwidth per execution environment". `shares_a_list`: the messages are shares of one list, so that their
    number can't be chosen by itself. `without` are shared limits, by name, that aren't there: to ask what they cost.
    `operations` is what is counted, in words.
    """

    work: Callable[[Parameters], Work]
    messages: int
    concurrency: int
    memory_mb: int
    timeout_s: float
    visibility_timeout_s: float
    trigger: str = STANDARD
    pollers: tuple[int, int] | None = None
    maximum_concurrency: int | None = None
    account_concurrency: int | None = None
    bandwidth_quota: bool = False
    barrier_s: float = 0.0
    failing: float = 0.0
    shares_a_list: bool = False
    without: tuple[str, ...] = ()
    operations: str = "operations"

    def with_work(self, **changes: object) -> Scenario:
        """The same, but for parts of its work."""
        return replace(self, work=lambda parameters: replace(self.work(parameters), **changes))


@dataclass(frozen=True)
class Evaluation:
    """What the engine was asked, and what it answered."""

    work: Work
    operation: Operation
    limits: Sequence[Limit]
    flood: Flood
    course: Course


def evaluate(scenario: Scenario, parameters: Parameters, seed: int = 1) -> Evaluation:
    """Run the engine over `scenario` once. Raises ParameterError for a parameter that isn't there."""
    work = scenario.work(parameters)
    operation, limits = operations.of(work, scenario.memory_mb, parameters, scenario.bandwidth_quota)
    if scenario.without:
        limits = [limit for limit in limits if limit.name not in scenario.without]
        demands = {name: taken for name, taken in operation.demands.items() if name not in scenario.without}
        operation = replace(operation, demands=demands)
    flood = flood_of(scenario, work, parameters)
    return Evaluation(work, operation, limits, flood, engine.run(flood, operation, limits, seed))


def flood_of(scenario: Scenario, work: Work, parameters: Parameters) -> Flood:
    """What the engine needs to know of a cell beside its operation."""
    in_lambda = bool(scenario.trigger)
    return Flood(
        messages=scenario.messages,
        concurrency=scenario.concurrency,
        messages_per_s=parameters["loader_messages_per_s"],
        trigger=trigger_of(scenario, parameters),
        timeout_s=scenario.timeout_s,
        visibility_timeout_s=scenario.visibility_timeout_s,
        failing=scenario.failing,
        scale_out_per_10_s=parameters["scale_out_per_10_s"],
        account_concurrency=math.inf if scenario.account_concurrency is None else scenario.account_concurrency,
        cold_start_s=(parameters["cold_start_s"] if in_lambda else 0.0) + work.cold_s,
        hand_over_s=parameters["hand_over_s"],
        barrier_s=scenario.barrier_s,
    )


def trigger_of(scenario: Scenario, parameters: Parameters) -> Trigger | None:
    """The trigger's ramp (Lambda guide, "Configuring scaling behavior for SQS event source mappings")."""
    if not scenario.trigger:
        return None
    if parameters.place == "local":
        # MiniStack takes as many messages as the function may run, at once and from the beginning (lambda_svc).
        return Trigger(scenario.concurrency, 0.0, scenario.concurrency)
    if scenario.trigger == PROVISIONED and scenario.pollers is not None:
        each = parameters["invokes_per_poller"]
        least, most = (each * pollers for pollers in scenario.pollers)
        return Trigger(least, parameters["provisioned_per_minute"], most)
    most = math.inf if scenario.maximum_concurrency is None else scenario.maximum_concurrency
    most = min(most, parameters["sqs_most"])
    return Trigger(min(parameters["sqs_start"], most), parameters["sqs_per_minute"], most)
