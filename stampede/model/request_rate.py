"""What a bucket takes of requests a second, and what becomes of the calls beyond it.

A prefix of a general purpose bucket takes 3,500 PUT, COPY, POST or DELETE and 5,500 GET or HEAD a
second (S3 User Guide, "Best practices design patterns: optimizing Amazon S3 performance"); a
directory bucket 100,000 and 200,000. Under steady load a prefix splits, and each half takes as
much: after 15 to 60 minutes, as users report; Skyrise (arXiv 2501.07771) saw reads rise within tens
of minutes, and writes never pass 3,500 a second in two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stampede.model.limits import Limit
from stampede.model.retries import Rules, ours

MINUTE_S = 60.0
# Each split doubles; nobody has reported more at one time.
MOST_SPLITS = 6
# S3 asks KMS for the key of the source (Decrypt) and for one of the copy (GenerateDataKey), where
# no bucket key is.
KMS_CALLS_PER_COPY = 2
# botocore's modes, and our Go program's: standard mode has the quota and the longest pause of
# `retries.Rules`, legacy mode neither.
LEGACY, STANDARD = "legacy", "standard"
# Halvings of an interval until the answer is exact enough.
HALVINGS = 50


@dataclass(frozen=True)
class Rate:
    """One kind of limit: its words, the capacity and after how many minutes it doubles (empty:
    never), by name."""

    words: str
    per_s: str
    split_minutes: str = ""


# By the name that a step of a work has for it.
RATES = {
    "s3_get": Rate("S3's GET rate", "s3_get_per_s", "prefix_split_minutes"),
    "s3_put": Rate("S3's PUT and COPY rate", "s3_put_per_s", "write_split_minutes"),
    "s3_put_adaptive": Rate("S3's PUT and COPY rate", "s3_put_per_s", "write_split_minutes"),
    "express_get": Rate("S3 Express' GET rate", "express_get_per_s"),
    "express_put": Rate("S3 Express' PUT rate", "express_put_per_s"),
    "kms_copy": Rate("KMS's request rate", "kms_per_s"),
}


def limit(rate: str, parameters: Mapping[str, float]) -> Limit:
    """The limit of that name, in requests a second: for `kms_copy` in copies, for `s3_put_adaptive`
    what workers reach that slow down by themselves. Raises KeyError for a rate that isn't there,
    ParameterError for a parameter."""
    kind = RATES[rate]
    per_s = parameters[kind.per_s]
    if rate == "s3_put_adaptive":
        per_s *= parameters["adaptive_share"]
    if rate == "kms_copy":
        per_s /= KMS_CALLS_PER_COPY
    splits = range(MOST_SPLITS + 1) if kind.split_minutes else range(1)
    every_s = parameters[kind.split_minutes] * MINUTE_S if kind.split_minutes else 0.0
    return Limit(
        kind.words,
        tuple(per_s * 2**split for split in splits),
        tuple(every_s * split for split in splits),
    )


@dataclass(frozen=True)
class Calls:
    """Calls that all workers keep up, whatever S3 says: `at_once` of them, each of `call_s` when S3
    takes it, tried `attempts` times in all, by `retry_mode`; standard mode by `rules`, those of our
    own client unless others ran. For SlowDown botocore's are the same before 2026 and since, but
    for a pause that an answer's header may ask for."""

    at_once: float
    call_s: float
    retry_mode: str
    attempts: int
    rules: Rules = field(default_factory=ours)


@dataclass(frozen=True)
class Refusals:
    """What comes of calls: `per_s` that S3 takes, the share of objects whose first call it
    throttles (`refused`), of all calls (`slowdowns`), and the share of objects that fail after the
    last attempt."""

    per_s: float
    refused: float = 0.0
    slowdowns: float = 0.0
    failed: float = 0.0


def refusals(calls: Calls, per_s: float, parameters: Mapping[str, float]) -> Refusals:
    """What a fixed pace comes to where S3 takes `per_s` calls a second.

    S3 goes on taking what it takes. The workers' calls are under way, throttled, or in a pause
    before a retry (random, up to 1 s, doubling): as many are throttled as fill the time that S3
    leaves them. Calls are throttled in bunches, so that a retry meets more of it, 1 - (1 -
    share)^`slowdown_clustering`. Standard mode stops retrying when its tokens are gone, which makes
    failures of what would have been retries.
    """
    if calls.at_once <= per_s * calls.call_s:
        return Refusals(calls.at_once / calls.call_s)
    balance = _balance(calls, per_s, 1.0, parameters)
    if calls.retry_mode == STANDARD and not balance.has_tokens:
        granted = _bisect(
            lambda share: _balance(calls, per_s, share, parameters).has_tokens, 0.0, 1.0
        )
        balance = _balance(calls, per_s, granted, parameters)
    slowdowns = balance.throttled / (balance.throttled + balance.through)
    return Refusals(per_s, balance.first, slowdowns, failed=1 - balance.through)


@dataclass(frozen=True)
class _Balance:
    """Of one object, on average: whether its first call is throttled, the calls that are, whether
    it gets through, the seconds of all that, and whether standard mode's tokens suffice."""

    first: float
    throttled: float
    through: float
    cycle_s: float
    has_tokens: bool


def _balance(
    calls: Calls, per_s: float, granted: float, parameters: Mapping[str, float]
) -> _Balance:
    """The state in which S3 takes `per_s`, when that share of the retries is `granted`."""

    def fast_enough(first: float) -> bool:
        state = _state(calls, first, granted, parameters)
        return calls.at_once * state.through >= per_s * state.cycle_s

    return _state(calls, _bisect(fast_enough, 0.0, 1.0), granted, parameters)


def _state(calls: Calls, first: float, granted: float, parameters: Mapping[str, float]) -> _Balance:
    again = 1 - (1 - first) ** parameters["slowdown_clustering"]
    retries = [
        first * granted * (again * granted) ** (retry - 1) for retry in range(1, calls.attempts)
    ]
    tried_again = sum(retries)
    after_retry = tried_again * (1 - again)
    through = 1 - first + after_retry
    throttled = first + tried_again * again
    paused_s = sum(share * _pause_s(retry, calls) for retry, share in enumerate(retries, 1))
    answer_s = parameters["slowdown_s"]
    cycle_s = through * calls.call_s + throttled * answer_s + paused_s
    # What is there of tokens at first is soon gone: what counts is that no more are lost than calls
    # at once give.
    lost = calls.rules.throttle_cost * (tried_again - after_retry)
    return _Balance(
        first, throttled, through, cycle_s, lost <= calls.rules.success_gain * (1 - first)
    )


def _pause_s(retry: int, calls: Calls) -> float:
    """The mean pause before a retry (from 1): evenly from 0 to 2^(retry - 1) s, in standard mode at
    most 20 s, as our Go program's. botocore cuts before it draws, which is the same up to the fifth
    retry."""
    most_s, longest_s = (
        calls.rules.throttle_first_pause_s * 2.0 ** (retry - 1),
        calls.rules.longest_pause_s,
    )
    if calls.retry_mode == LEGACY or most_s <= longest_s:
        return most_s / 2
    return longest_s - longest_s**2 / (2 * most_s)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Up to where `holds`, which holds at `low` and not beyond one point."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
