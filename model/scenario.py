"""One cell as the model is asked about it, and one run of the engine over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from model import flood as engine
from model import machine
from model import operation as operations
from model.flood import Course, Flood, Limit, Trigger
from model.operation import Operation
from model.parameters import Parameters
from model.work import Work

STANDARD, PROVISIONED = "standard", "provisioned"
# A small flood is run so often, or until it has so many messages together.
MOST_COURSES, MESSAGES_FOR_A_MEAN = 30, 300
# Those of one operation as the table has them, and those of the flood.
SECONDS = ("min_s", "p25_s", "avg_s", "p75_s", "max_s")
SPANS = ("time_to_n_s", "window_end_s", "share_at_n", "first_start_s", "drain_s")
# A part of a flood has at least so many of both.
ENOUGH_MESSAGES, ENOUGH_WORKERS = 5000, 100


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
        """The same, but for parts of its work, and of what it repeats."""

        def changed(parameters: Parameters) -> Work:
            work = self.work(parameters)
            again = work.repeat and replace(work.repeat, **changes)
            return replace(work, repeat=again, **changes)

        return replace(self, work=changed)


@dataclass(frozen=True)
class Evaluation:
    """What the engine was asked, and what it answered."""

    work: Work
    operation: Operation
    limits: Sequence[Limit]
    flood: Flood
    course: Course


def evaluate(
    scenario: Scenario, parameters: Parameters, seed: int | Sequence[int] = 1, part: float = 1.0
) -> Evaluation:
    """Run the engine over `scenario` once. Raises ParameterError for a parameter that isn't there.

    Below 1, a `part` of everything that there is many of: messages, functions, what the trigger adds, what all share.
    Its seconds and shares are about those of the whole, for less computing.
    """
    return next(_evaluations(scenario, parameters, [seed], part))


def _evaluations(
    scenario: Scenario, parameters: Parameters, seeds: Iterable[int | Sequence[int]], part: float = 1.0
) -> Iterator[Evaluation]:
    """One for each seed; what chance has no part in is worked out once."""
    work = scenario.work(parameters)
    operation, limits = operations.of(work, scenario.memory_mb, parameters, scenario.bandwidth_quota)
    if scenario.without:
        limits = [limit for limit in limits if limit.name not in scenario.without]
        demands = {name: taken for name, taken in operation.demands.items() if name not in scenario.without}
        operation = replace(operation, demands=demands)
    flood = flood_of(scenario, work, parameters)
    if part < 1:
        flood, limits = part_of(flood, part), part_of_limits(limits, part)
    for seed in seeds:
        yield Evaluation(work, operation, limits, flood, engine.run(flood, operation, limits, seed))


def expect(scenario: Scenario, parameters: Parameters, seed: int = 1) -> Evaluation:
    """As `evaluate`; of a small flood, where chance decides much, the figures are the means of several. A figure that
    most of them don't have, none has."""
    further = min(MOST_COURSES, MESSAGES_FOR_A_MEAN // scenario.messages)
    found, *others = _evaluations(scenario, parameters, [seed, *([seed, at] for at in range(1, further))])
    courses = [one.course for one in (found, *others)]
    means = {name: _mean([getattr(one, name) for one in courses], math.nan) for name in SECONDS}
    means |= {name: _mean([getattr(one, name) for one in courses], None) for name in SPANS}
    return replace(found, course=replace(found.course, **means))


def _mean(values: Sequence[float | None], otherwise: float | None) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return math.fsum(known) / len(known) if 2 * len(known) > len(values) else otherwise


def enough(scenario: Scenario, tries: float = 1.0) -> float:
    """The part of a large flood that tells about the same as the whole, where a message is tried so often; 1 for a
    small flood."""
    return min(1.0, max(ENOUGH_MESSAGES / max(1.0, tries) / scenario.messages, ENOUGH_WORKERS / scenario.concurrency))


def part_of(flood: Flood, part: float) -> Flood:
    """A small flood that goes as the large one does."""
    if part >= 1:
        return flood
    trigger = flood.trigger and Trigger(
        max(1.0, part * flood.trigger.start), part * flood.trigger.per_minute, max(1.0, part * flood.trigger.most)
    )
    return replace(
        flood,
        messages=max(1, round(part * flood.messages)),
        concurrency=max(1, round(part * flood.concurrency)),
        messages_per_s=part * flood.messages_per_s,
        trigger=trigger,
        scale_out_per_10_s=part * flood.scale_out_per_10_s,
        account_concurrency=part * flood.account_concurrency,
    )


def part_of_limits(limits: Sequence[Limit], part: float) -> list[Limit]:
    """What the small flood shares."""
    return [replace(one, per_s=[min(1.0, part) * much for much in one.per_s]) for one in limits]


def flood_of(scenario: Scenario, work: Work, parameters: Parameters) -> Flood:
    """What the engine needs to know of a cell beside its operation."""
    cold_s, cold_spread = (parameters["cold_start_s"] if scenario.trigger else 0.0) + work.cold_s, 0.0
    if parameters.place == "local":
        cold_s, cold_spread = machine.cold_start(cold_s, min(scenario.messages, scenario.concurrency), parameters)
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
        cold_start_s=cold_s + work.before_s,
        cold_spread=cold_spread,
        hand_over_s=parameters["hand_over_s"] + work.before_s,
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
