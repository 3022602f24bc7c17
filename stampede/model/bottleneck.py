"""Which limit binds a cell, by name and in words: found by taking limits away and asking the engine again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stampede.model import simulation
from stampede.model.flood import Flood
from stampede.model.scenario import PROVISIONED, STANDARD, Evaluation, Scenario, enough, part_of, part_of_limits

# A cell is as it says when so much of its operations' time lies in the full-overlap window.
GOOD_SHARE = 0.8
# A shared limit binds when it slowed so much of the operations' time.
SLOWED = 0.2
# The timeout binds when it ends so much of the attempts, beside those that fail anyway.
CUT_OFF = 0.02
# What is taken away decides something when so much more of the time then lies in the window.
GAIN = 0.05
# Of so many times the messages the tail is a fourth as much of the time.
MORE = 4

TIMEOUT, RESERVED, REACH, MESSAGES, RAMP, SHORT, SHARED, OWN = (
    "timeout", "reserved", "reach", "messages", "ramp", "short", "shared", "own"
)  # fmt: skip


@dataclass(frozen=True)
class Bottleneck:
    """One limit that binds: what kind it is, in words, and by its name where it is one that workers share."""

    kind: str
    words: str
    limit: str = ""


def bottlenecks(scenario: Scenario, found: Evaluation, seed: int) -> list[Bottleneck]:
    """What binds the cell, what keeps N from being reached first; its operation's own limit where nothing else does."""
    first = [*_in_the_way(scenario, found)]
    # What is cut off comes again, and how many run at once says nothing.
    cut_off = any(one.kind == TIMEOUT for one in first)
    every = [*first, *(() if cut_off else _of_n(scenario, found, seed)), *_shared(found)]
    return every or [Bottleneck(OWN, found.operation.binds)]


def listed(bound: Sequence[Bottleneck]) -> str:
    """All that binds, in words."""
    return "; ".join(one.words for one in bound)


def _in_the_way(scenario: Scenario, found: Evaluation) -> Iterator[Bottleneck]:
    """What makes messages fail or come back for nothing."""
    course, trigger = found.course, found.flood.trigger
    attempts = max(1, course.succeeded + course.failed_attempts)
    cut_off = course.failed_attempts / attempts - scenario.failing - scenario.crashing
    if cut_off > CUT_OFF:
        words = (
            f"the function's timeout: {scenario.timeout_s:g} s, which cuts off {100 * cut_off:.0f} % of the attempts"
        )
        yield Bottleneck(TIMEOUT, words)
    elif course.dead_lettered and trigger is not None and trigger.most > scenario.concurrency:
        yield Bottleneck(
            RESERVED,
            (f"reserved concurrency: {scenario.concurrency:,}, but the trigger fetches for {trigger.most:,.0f}"),
        )


def _of_n(scenario: Scenario, found: Evaluation, seed: int) -> Iterator[Bottleneck]:
    """What keeps N from being reached, or from lasting."""
    n, trigger = scenario.concurrency, found.flood.trigger
    reach = math.inf if trigger is None else trigger.most
    account = found.flood.account_concurrency
    if scenario.messages < n:
        yield Bottleneck(MESSAGES, f"the number of messages: {scenario.messages:,}, fewer than N = {n:,}")
    elif min(reach, account) < n:
        cap = "the trigger's maximum concurrency"
        if scenario.crashing and scenario.trigger == STANDARD:
            cap = f"the trigger, slowed down by crashes ({100 * scenario.crashing:g} %)"
        what = "the account's concurrency" if account <= reach else cap
        yield Bottleneck(REACH, f"{what}: {min(reach, account):,.0f} at once, but N = {n:,}")
    elif found.course.share_at_n < GOOD_SHARE:
        yield _of_overlap(scenario, found, seed)


def _of_overlap(scenario: Scenario, found: Evaluation, seed: int) -> Bottleneck:
    """The first of the things that slow the way to N without which more of the time would lie at N."""
    part = enough(scenario)
    flood, limits = part_of(found.flood, part), part_of_limits(found.limits, part)

    def share(**change: object) -> float:
        return simulation.run(replace(flood, **change), found.operation, limits, seed).share_at_n

    now = share()
    for words, change in _ways_to_n(scenario, found.flood, flood):
        if share(**change) >= now + GAIN:
            return Bottleneck(RAMP, words)
    a_worker, own_s = scenario.messages / scenario.concurrency, found.operation.mean_s
    if share(messages=MORE * flood.messages) < now + GAIN:
        words = (
            f"the length of the operations: {own_s:.2g} s, too short for N = {scenario.concurrency:,} at "
            "the same moment"
        )
        return Bottleneck(SHORT, words)
    return Bottleneck(
        MESSAGES,
        (f"the number of messages: {a_worker:,.3g} for each of N, so most of the time is the end of the flood"),
    )


def _ways_to_n(scenario: Scenario, flood: Flood, asked: Flood) -> Iterator[tuple[str, dict[str, object]]]:
    """What slows the way to N, in words, and what to change of the flood that is `asked` to be without it."""
    if flood.trigger is not None and flood.trigger.start < scenario.concurrency:
        kind = "provisioned pollers" if scenario.trigger == PROVISIONED else "trigger"
        words = f"the {kind}' ramp" if kind.endswith("s") else f"the {kind}'s ramp"
        words = f"{words}: +{flood.trigger.per_minute:,.0f} a minute from {flood.trigger.start:,.0f}"
        yield words, {"trigger": replace(asked.trigger, start=asked.trigger.most)}
    yield (
        f"the scale-out of one function: {flood.scale_out_per_10_s:,.0f} new environments in 10 s",
        {"scale_out_per_10_s": math.inf},
    )
    yield f"the loader: {flood.messages_per_s:,.0f} messages sent a second", {"messages_per_s": math.inf}


def _shared(found: Evaluation) -> Iterator[Bottleneck]:
    """The shared limits that slow the operations."""
    limits = {limit.name: limit for limit in found.limits}
    for name, share in sorted(found.course.binds.items(), key=lambda one: (-one[1], one[0])):
        if share >= SLOWED:
            yield Bottleneck(SHARED, f"{name}: {_amount(limits[name].per_s[0])} {limits[name].unit}", name)


def _amount(per_s: float) -> str:
    """A capacity in words; no limit of requests is as large as the smallest of bytes."""
    return f"{per_s / 1e9:.1f} GB" if per_s >= 1e8 else f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"
