"""One cell as input of the model, and one run of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median_low
from typing import Any

from stampede.model import function, simulation
from stampede.model.course import Course
from stampede.model.flood import Flood
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.parameters import Parameters
from stampede.model.sharing import Shared
from stampede.model.trigger import Trigger, kept
from stampede.model.work import Work

STANDARD, PROVISIONED = "standard", "provisioned"
# A small flood is run this often, or until this many messages are reached.
MOST_COURSES, MESSAGES_FOR_A_MEAN = 30, 300
# Figures of one operation, as in the table, and of the flood.
SECONDS = ("min_s", "p25_s", "avg_s", "p75_s", "max_s", "p99_s")
SPANS = ("time_to_n_s", "window_end_s", "share_at_n", "first_start_s", "drain_s")
KINDS = ("of_first", "of_later")
COUNTS = ("succeeded", "failed_attempts", "dead_lettered", "throttled")
# A part of a flood has at least this many of both.
ENOUGH_ATTEMPTS, ENOUGH_WORKERS = 5000, 100
# A part stands in for a larger flood: nobody waits minutes for an answer.
MOST_ATTEMPTS = 200_000
# A longer warm-up starts no further environment.
ENOUGH_WARM_UP_EACH = 100


@dataclass(frozen=True)
class Scenario:
    """One cell as input of the model.

    `work(parameters)` is what a message does. `trigger` is `standard`, `provisioned` (with
    `pollers`, minimum and maximum), or empty if workers ask the queue themselves or the messages
    run one after the other. `maximum_concurrency` and `account_concurrency` don't limit if None.
    `bandwidth_quota`: the function has the quota "Network bandwidth per execution environment".
    `warm_up` messages run before this flood, and leave their environments warm. `crashing` is the
    share of invocations that crash or throw, `failing` the share that report an error. If an
    invocation takes a batch, a message here is a batch of `batch_size` of the loader's messages;
    all batches are full, and wait for no window.
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
    crashing: float = 0.0
    warm_up: int = 0
    batch_size: int = 1


@dataclass(frozen=True)
class Evaluation:
    """The input of the engine, and its answer."""

    work: Work
    operation: Operation
    limits: Sequence[Limit]
    flood: Flood
    course: Course


def evaluate(
    scenario: Scenario, parameters: Parameters, seed: int | Sequence[int] = 1, part: float = 1.0
) -> Evaluation:
    """Run the engine over `scenario` once. Raises ParameterError for a missing parameter.

    A `part` below 1 scales everything down: messages, functions, what the trigger adds, shared
    limits. Its figures are about those of the whole, at less computing.
    """
    return next(evaluations(scenario, parameters, [seed], part))


def evaluations(
    scenario: Scenario,
    parameters: Parameters,
    seeds: Iterable[int | Sequence[int]],
    part: float = 1.0,
) -> Iterator[Evaluation]:
    """One evaluation for each seed; what doesn't depend on chance is computed once."""
    work = scenario.work(parameters)
    operation, limits = function.operation(
        work, scenario.memory_mb, parameters, scenario.bandwidth_quota
    )
    flood = flood_of(scenario, work, parameters)
    cold, shared = part_of(flood, part), Shared(part_of_limits(limits, part), operation.demands)
    for seed in seeds:
        simulated = cold
        if scenario.warm_up:
            warm_up = min(scenario.warm_up, ENOUGH_WARM_UP_EACH * scenario.concurrency)
            before = replace(cold, messages=max(1, round(min(1.0, part) * warm_up)), barrier_s=0.0)
            warm = int(simulation.carried_out(before, operation, shared, seed).of_first["count"])
            simulated = replace(cold, warm=warm)
        course = simulation.carried_out(simulated, operation, shared, seed)
        if part < 1:
            course = _of_whole(flood, simulated, course)
        yield Evaluation(work, operation, limits, flood if part < 1 else simulated, course)


def _of_whole(flood: Flood, part: Flood, course: Course) -> Course:
    """The course of a part, scaled to the whole."""
    times, workers = flood.messages / part.messages, flood.concurrency / part.concurrency
    return replace(
        course,
        **{name: round(times * getattr(course, name)) for name in COUNTS},
        most_at_once=round(workers * course.most_at_once),
        peak_requests_per_s=workers * course.peak_requests_per_s,
        ramp=tuple((at_s, round(workers * running)) for at_s, running in course.ramp),
        **{
            kind: getattr(course, kind) | {"count": round(times * getattr(course, kind)["count"])}
            for kind in KINDS
        },
    )


def expect(scenario: Scenario, parameters: Parameters, seed: int = 1) -> Evaluation:
    """As `evaluate`, for the whole, or a part with about MOST_ATTEMPTS if there would be more.

    A small flood, for which chance matters, gets the means of several runs; a figure that most runs
    lack is missing.
    """
    part = enough(scenario)
    if part < 1:
        part = enough(scenario, evaluate(scenario, parameters, seed, part).course, MOST_ATTEMPTS)
    further = min(MOST_COURSES, MESSAGES_FOR_A_MEAN // scenario.messages)
    if further < 2:
        return evaluate(scenario, parameters, seed, part)
    first, *more = evaluations(
        scenario, parameters, [seed, *([seed, at] for at in range(1, further))], part
    )
    return replace(first, course=_mean_course([evaluation.course for evaluation in (first, *more)]))


def _mean_course(courses: Sequence[Course]) -> Course:
    """The first course, with the means of all."""

    def values(name: str) -> list[Any]:
        return [getattr(course, name) for course in courses]

    means: dict[str, Any] = {name: _mean(values(name), math.nan) for name in SECONDS}
    means |= {name: _mean(values(name), None) for name in SPANS}
    means |= {name: round(mean(values(name))) for name in COUNTS}
    # N if most of them reach it, as for `time_to_n_s`.
    means["most_at_once"] = median_low(values("most_at_once"))
    for kind in KINDS:
        figures = values(kind)
        means[kind] = {
            name: _mean([figure[name] for figure in figures], math.nan) for name in SECONDS
        }
        means[kind]["count"] = round(mean(figure["count"] for figure in figures))
    return replace(courses[0], **means)


def _mean(values: Sequence[float | None], otherwise: float | None) -> float | None:
    """The mean of the values that exist, `otherwise` if most are missing."""
    existing = [value for value in values if value is not None and not math.isnan(value)]
    return math.fsum(existing) / len(existing) if 2 * len(existing) > len(values) else otherwise


def enough(
    scenario: Scenario, course: Course | None = None, attempts: float = ENOUGH_ATTEMPTS
) -> float:
    """The part of a large flood that gives about the figures of the whole in about `attempts`, if
    messages are retried as often as in its `course`; 1 for a small flood."""
    in_all = scenario.messages if course is None else course.succeeded + course.failed_attempts
    workers = math.ceil(max(attempts / in_all * scenario.concurrency, ENOUGH_WORKERS))
    return min(1.0, workers / scenario.concurrency)


def part_of(flood: Flood, part: float) -> Flood:
    """A small flood that behaves like the large one."""
    if part >= 1:
        return flood
    trigger = flood.trigger and Trigger(
        max(1.0, part * flood.trigger.start),
        part * flood.trigger.per_minute,
        max(1.0, round(part * flood.trigger.most, 6)),  # at N, as for the whole
    )
    return replace(
        flood,
        messages=max(1, round(part * flood.messages)),
        concurrency=max(1, round(part * flood.concurrency)),
        messages_per_s=part * flood.messages_per_s,
        trigger=trigger,
        scale_out_per_10_s=max(1.0, part * flood.scale_out_per_10_s),
        account_concurrency=max(1.0, round(part * flood.account_concurrency, 6)),
        warm=round(part * flood.warm),
    )


def part_of_limits(limits: Sequence[Limit], part: float) -> list[Limit]:
    """The limits that the small flood shares."""
    share = min(1.0, part)
    return [
        replace(limit, per_s=[share * capacity for capacity in limit.per_s]) for limit in limits
    ]


def flood_of(scenario: Scenario, work: Work, parameters: Parameters) -> Flood:
    """What the engine needs to know of a cell besides its operation."""
    cold_s = (parameters["cold_start_s"] if scenario.trigger else 0.0) + work.cold_s
    return Flood(
        messages=scenario.messages,
        concurrency=scenario.concurrency,
        messages_per_s=parameters["loader_messages_per_s"] / scenario.batch_size,
        trigger=trigger_of(scenario, parameters),
        timeout_s=scenario.timeout_s,
        visibility_timeout_s=scenario.visibility_timeout_s,
        failing=scenario.failing,
        crashing=scenario.crashing,
        scale_out_per_10_s=parameters["scale_out_per_10_s"],
        account_concurrency=math.inf
        if scenario.account_concurrency is None
        else scenario.account_concurrency,
        cold_start_s=cold_s + work.before_s,
        hand_over_s=parameters["hand_over_s"] + work.before_s,
        barrier_s=scenario.barrier_s,
    )


def trigger_of(scenario: Scenario, parameters: Parameters) -> Trigger | None:
    """The trigger's ramp (Lambda guide, "Configuring scaling behavior for SQS event source
    mappings": see Trigger)."""
    if not scenario.trigger:
        return None
    if scenario.trigger == PROVISIONED and scenario.pollers is not None:
        per_poller = parameters["invokes_per_poller"]
        least, most = (per_poller * pollers for pollers in scenario.pollers)
        return Trigger(least, parameters["provisioned_per_minute"], most)
    cap = math.inf if scenario.maximum_concurrency is None else scenario.maximum_concurrency
    share = kept(scenario.crashing, parameters)
    most = max(1, math.floor(share * min(cap, parameters["sqs_most"])))
    return Trigger(min(parameters["sqs_start"], most), share * parameters["sqs_per_minute"], most)
