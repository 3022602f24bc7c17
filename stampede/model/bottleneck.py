"""What limits a cell, by name and in words: each limit is lifted in turn and the engine rerun."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from stampede.model import simulation
from stampede.model.flood import Flood
from stampede.model.scenario import (
    PROVISIONED,
    STANDARD,
    Evaluation,
    Scenario,
    enough,
    part_of,
    part_of_limits,
)

# N counts as reached when this share of the operations' time lies in the full-overlap window.
GOOD_SHARE = 0.8
# A shared limit is a bottleneck when it slowed this share of the operations' time.
SLOWED = 0.2
# The timeout is a bottleneck when it ends this share of the attempts that wouldn't fail anyway.
CUT_OFF = 0.02
# Lifting a limit matters when the share of time in the window grows by this much.
GAIN = 0.05
# With this many times the messages, the tail is a quarter as large a share of the time.
MORE = 4


def bottleneck(scenario: Scenario, evaluation: Evaluation, seed: int) -> str:
    """The bottlenecks of the cell, the one that keeps N from being reached first; the operation's
    own limit if there are none."""
    course = evaluation.course
    attempts = max(1, course.succeeded + course.failed_attempts)
    cut_off = course.failed_attempts / attempts - scenario.failing - scenario.crashing
    if cut_off > CUT_OFF:  # messages return, so the number of functions at once says nothing
        words = [
            f"the function's timeout: {scenario.timeout_s:g} s, which cuts off {100 * cut_off:.0f} "
            "% of the attempts"
        ]
    else:
        words = [*_of_dead_letters(scenario, evaluation), *_of_n(scenario, evaluation, seed)]
    return "; ".join([*words, *_shared(evaluation)]) or evaluation.operation.bottleneck


def _of_dead_letters(scenario: Scenario, evaluation: Evaluation) -> Iterator[str]:
    """Why messages return in vain, so often that they end as dead letters."""
    trigger = evaluation.flood.trigger
    if (
        evaluation.course.dead_lettered
        and trigger is not None
        and trigger.most > scenario.concurrency
    ):
        yield (
            f"reserved concurrency: {scenario.concurrency:,}, but the trigger fetches for "
            f"{trigger.most:,.0f}"
        )


def _of_n(scenario: Scenario, evaluation: Evaluation, seed: int) -> Iterator[str]:
    """What keeps N from being reached, or from lasting."""
    n, trigger = scenario.concurrency, evaluation.flood.trigger
    reach = math.inf if trigger is None else trigger.most
    account = evaluation.flood.account_concurrency
    if scenario.messages < n:
        yield f"the number of messages: {scenario.messages:,}, fewer than N = {n:,}"
    elif min(reach, account) < n:
        cap = "the trigger's maximum concurrency"
        if scenario.crashing and scenario.trigger == STANDARD:
            cap = f"the trigger, slowed down by crashes ({100 * scenario.crashing:g} %)"
        cap = "the account's concurrency" if account <= reach else cap
        yield f"{cap}: {min(reach, account):,.0f} at once, but N = {n:,}"
    elif evaluation.course.share_at_n < GOOD_SHARE:
        yield _of_overlap(scenario, evaluation, seed)


def _of_overlap(scenario: Scenario, evaluation: Evaluation, seed: int) -> str:
    """The first limit on the ramp-up without which more of the time would be at N."""
    part = enough(scenario)
    flood, limits = part_of(evaluation.flood, part), part_of_limits(evaluation.limits, part)

    def share(**change: object) -> float:
        return simulation.run(
            replace(flood, **change), evaluation.operation, limits, seed
        ).share_at_n

    now = share()
    for words, change in _ramp_limits(scenario, evaluation.flood, flood):
        if share(**change) >= now + GAIN:
            return words
    if share(messages=MORE * flood.messages) < now + GAIN:
        own_s, n = evaluation.operation.mean_s, scenario.concurrency
        return (
            f"the length of the operations: {own_s:.2g} s, too short for N = {n:,} at the same "
            "moment"
        )
    per_worker = scenario.batch_size * scenario.messages / scenario.concurrency
    return (
        f"the number of messages: {per_worker:,.3g} for each of N, so most of the time is the end "
        "of the flood"
    )


def _ramp_limits(
    scenario: Scenario, flood: Flood, part: Flood
) -> Iterator[tuple[str, dict[str, object]]]:
    """What slows the ramp-up, in words, and the change to `part` of the flood that lifts it."""
    if flood.trigger is not None and flood.trigger.start < scenario.concurrency:
        ramp = (
            "the provisioned pollers' ramp"
            if scenario.trigger == PROVISIONED
            else "the trigger's ramp"
        )
        words = f"{ramp}: +{flood.trigger.per_minute:,.0f} a minute from {flood.trigger.start:,.0f}"
        yield words, {"trigger": replace(part.trigger, start=part.trigger.most)}
    yield (
        f"the scale-out of one function: {flood.scale_out_per_10_s:,.0f} new environments in 10 s",
        {"scale_out_per_10_s": math.inf},
    )
    sent_per_s = scenario.batch_size * flood.messages_per_s
    yield f"the loader: {sent_per_s:,.0f} messages sent a second", {"messages_per_s": math.inf}


def _shared(evaluation: Evaluation) -> Iterator[str]:
    """The shared limits that slow the operations, the one that slows most of them first."""
    limits = {limit.name: limit for limit in evaluation.limits}
    for share, name in sorted(
        (-share, name) for name, share in evaluation.course.slowed_shares.items()
    ):
        if -share < SLOWED:
            return
        per_s = limits[name].per_s[0]
        if per_s >= 1e8:  # larger than any limit on requests, so these are bytes
            amount = f"{per_s / 1e9:.1f} GB"
        else:
            amount = f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"
        yield f"{name}: {amount} a second for all"
