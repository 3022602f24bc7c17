"""What the model predicts for a cell, how certain that is, and the bottleneck."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stampede.model import ranges, request_rate
from stampede.model.bottleneck import bottleneck
from stampede.model.course import Course
from stampede.model.parameters import Parameters
from stampede.model.scenario import (
    MOST_COURSES,
    SECONDS,
    Evaluation,
    Scenario,
    enough,
    evaluate,
    evaluations,
    expect,
)
from stampede.model.work import Work

__all__ = ["RANGED", "Prediction", "Scenario", "predict"]

# The figures of a prediction that have a range, and the means that also have one: of the first
# operations in their environments, and of later ones.
RANGED = ("avg_s", "time_to_n_s", "share_at_n", "most_at_once", "span_s", "drain_s")
OF_KINDS = {"first_avg_s": "of_first", "later_avg_s": "of_later"}


@dataclass(frozen=True)
class Prediction:
    """One cell, as `stampede simulate` prints it and run.json keeps it.

    `count` is the number of messages; `min_s` to `p99_s` are the seconds of one successful
    operation, as in the table, None if all fail (`p99_s` also below a hundred). N run at once from
    `time_to_n_s` to `window_end_s` after the first start, None if they never do; `share_at_n` is
    the share of all operations' time in between. `span_s` is from the first start to the last end,
    `drain_s` from the first message sent to the last record. `peak_requests_per_s` compares with
    `requests_limit_per_s` (None if no requests are counted). `bottleneck` names the limits in
    words. `ranges` are low and high of RANGED and of the means of OF_KINDS, as far as the
    parameters are known; a measured figure outside is a miss. `ramp` has at most a few hundred
    points (seconds from the first message, running at once), for the chart. `of_first` and
    `of_later` hold the seconds and `count` of the operations that succeeded as the first in their
    environment, and of the others, and which bottleneck `binds` them.
    """

    count: int
    min_s: float | None
    p25_s: float | None
    avg_s: float | None
    p75_s: float | None
    max_s: float | None
    p99_s: float | None
    time_to_n_s: float | None
    share_at_n: float
    most_at_once: int
    span_s: float
    drain_s: float
    peak_requests_per_s: float
    requests_limit_per_s: float | None
    failed: int
    dead_lettered: int
    throttled: int
    bottleneck: str
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ramp: tuple[tuple[float, int], ...] = ()
    window_end_s: float | None = None
    of_first: Mapping[str, float | str | None] = field(default_factory=dict)
    of_later: Mapping[str, float | str | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As run.json has it under `prediction.cells.<cell>`, where the bottleneck is `binds`."""
        return {
            "binds" if name == "bottleneck" else name: value for name, value in asdict(self).items()
        }


def predict(
    scenario: Scenario,
    parameters: Parameters,
    seed: int = 1,
    evaluation: Evaluation | None = None,
    ranged: bool = True,
) -> Prediction:
    """What will happen in a cell. The same seed gives the same answer on any machine.

    `evaluation` is the answer of `expect`, if it was called already; without `ranged`, no ranges
    are computed. Raises ParameterError for a missing parameter.
    """
    evaluation = evaluation or expect(scenario, parameters, seed)
    course, alone = evaluation.course, evaluation.operation
    binds = bottleneck(scenario, evaluation, seed)
    first_binds = alone.first_bottleneck if binds == alone.bottleneck else binds
    return Prediction(
        count=scenario.messages,
        **{name: value for name, value in figures(course).items() if name not in OF_KINDS},
        peak_requests_per_s=course.peak_requests_per_s,
        requests_limit_per_s=_requests_limit(evaluation.work, parameters),
        failed=course.failed_attempts,
        dead_lettered=course.dead_lettered,
        throttled=course.throttled,
        bottleneck=binds,
        ranges=_ranges(scenario, parameters, course, seed) if ranged else {},
        ramp=tuple((float(at), int(running)) for at, running in course.ramp),
        of_first=_of_kind(course.of_first, first_binds),
        of_later=_of_kind(course.of_later, binds),
    )


def _ranges(
    scenario: Scenario, parameters: Parameters, course: Course, seed: int
) -> dict[str, tuple[float, float]]:
    """The ranges of RANGED and OF_KINDS, from a part of a large flood."""
    part = enough(scenario, course)
    own = evaluate(scenario, parameters, seed, part).course if part < 1 else course
    of_draws = []
    for at, drawn in enumerate(
        ranges.draws(parameters, ranges.count(part * scenario.messages), seed)
    ):
        of_draws.append(figures(evaluate(scenario, drawn, [seed, MOST_COURSES + at], part).course))
    of_ranged = {name: figures(course)[name] for name in (*RANGED, *OF_KINDS)}
    intervals = ranges.intervals(of_ranged, figures(own), of_draws, scenario.concurrency)
    seeds = ([seed, 2 * MOST_COURSES + at] for at in range(ranges.floods(scenario.messages)))
    of_floods = [
        figures(evaluation.course) for evaluation in evaluations(scenario, parameters, seeds)
    ]
    return ranges.widened(intervals, of_floods)


def figures(course: Course) -> dict[str, float | int | None]:
    """The figures of a course that chance decides."""
    return {
        **{name: _or_none(getattr(course, name)) for name in SECONDS},
        "time_to_n_s": course.time_to_n_s,
        "window_end_s": course.window_end_s,
        "share_at_n": course.share_at_n,
        "most_at_once": course.most_at_once,
        "span_s": course.drain_s - course.first_start_s,
        "drain_s": course.drain_s,
        **{name: _or_none(getattr(course, kind)["avg_s"]) for name, kind in OF_KINDS.items()},
    }


def _requests_limit(work: Work, parameters: Parameters) -> float | None:
    """Requests a second allowed by the limit that most of the work's requests count against; None
    if there is none."""
    counted = [step for step in work.steps if step.rate and step.requests]
    if not counted:
        return None
    most = max(counted, key=lambda step: step.requests)
    return request_rate.limit(most.rate, parameters).per_s[0]


def _of_kind(seconds: Mapping[str, float], binds: str) -> dict[str, float | str | None]:
    return {**{name: _or_none(value) for name, value in seconds.items()}, "binds": binds}


def _or_none(seconds: float) -> float | None:
    """None for nan, which means that no operation was there to measure."""
    return None if math.isnan(seconds) else seconds
