"""How many requests a second a bucket takes, and what happens to the calls beyond it.

A prefix of a general purpose bucket takes 3,500 PUT, COPY, POST or DELETE and 5,500 GET or HEAD a
second (S3 User Guide, "Best practices design patterns: optimizing Amazon S3 performance"); a
directory bucket 100,000 and 200,000. Under steady load a prefix splits, and each half takes as
much: after 15 to 60 minutes, as users report; Skyrise (arXiv 2501.07771) saw reads rise within tens
of minutes, and writes never exceed 3,500 a second in two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stampede.model.limits import Limit
from stampede.model.retries import Rules, ours

MINUTE_S = 60.0
# Each split doubles the rate; nobody has reported more splits at once.
MOST_SPLITS = 6
# Without a bucket key, S3 makes two calls to KMS: Decrypt (source) and GenerateDataKey (copy).
KMS_CALLS_PER_COPY = 2
# The modes of botocore, and of our Go program: standard mode has the quota and the longest pause of
# `retries.Rules`, legacy mode neither.
LEGACY, STANDARD = "legacy", "standard"
# Halvings of an interval, enough for an exact answer.
HALVINGS = 50


@dataclass(frozen=True)
class Rate:
    """A kind of limit: its words, and the names of its parameters for capacity and minutes until it
    doubles (empty: never)."""

    words: str
    per_s: str
    split_minutes: str = ""


# By the name that a step of a work uses.
RATES = {
    "s3_get": Rate("S3's GET rate", "s3_get_per_s", "prefix_split_minutes"),
    "s3_put": Rate("S3's PUT and COPY rate", "s3_put_per_s", "write_split_minutes"),
    "s3_put_adaptive": Rate("S3's PUT and COPY rate", "s3_put_per_s", "write_split_minutes"),
    "express_get": Rate("S3 Express' GET rate", "express_get_per_s"),
    "express_put": Rate("S3 Express' PUT rate", "express_put_per_s"),
    "kms_copy": Rate("KMS's request rate", "kms_per_s"),
}


def limit(rate: str, parameters: Mapping[str, float]) -> Limit:
    """The limit with this name, in requests a second: for `kms_copy` in copies, for
    `s3_put_adaptive` the rate of workers that slow themselves down. Raises KeyError for an unknown
    rate, ParameterError for a missing parameter."""
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
    """Calls that all workers keep up, whatever S3 answers: `at_once` of them, each of `call_s` when
    S3 accepts it, with at most `attempts` by `retry_mode`.

    `rules` are those of standard mode, by default of our own client. botocore's for SlowDown are
    the same before and since 2026, except for a pause that a response header may ask for.
    """

    at_once: float
    call_s: float
    retry_mode: str
    attempts: int
    rules: Rules = field(default_factory=ours)


@dataclass(frozen=True)
class Refusals:
    """The outcome of calls: S3 accepts `per_s`; `refused` is the share of objects whose first call
    it throttles, `slowdowns` the share of throttled calls, `failed` the share of objects that fail
    after their last attempt."""

    per_s: float
    refused: float = 0.0
    slowdowns: float = 0.0
    failed: float = 0.0


def refusals(calls: Calls, per_s: float, parameters: Mapping[str, float]) -> Refusals:
    """What a fixed pace comes to when S3 takes `per_s` calls a second.

    S3 keeps accepting calls at that rate. The workers' calls are in progress, throttled, or in a
    pause before a retry (random, up to 1 s, doubling): as many are throttled as fill the remaining
    time. Calls are throttled in bunches, so a retry is throttled more often, with probability 1 -
    (1 - share)^`slowdown_clustering`. Standard mode stops retrying when its tokens are used up,
    which turns retries into failures.
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
    """The mean of one object: the probability that its first call is throttled, its throttled
    calls, its probability of success, its seconds, and whether standard mode's tokens suffice."""

    first: float
    throttled: float
    through: float
    cycle_s: float
    has_tokens: bool


def _balance(
    calls: Calls, per_s: float, granted: float, parameters: Mapping[str, float]
) -> _Balance:
    """The state in which S3 takes `per_s`, when this share of the retries is `granted`."""

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
    # The initial tokens are soon used up: calls that succeed at once must give back what is lost.
    lost = calls.rules.throttle_cost * (tried_again - after_retry)
    return _Balance(
        first, throttled, through, cycle_s, lost <= calls.rules.success_gain * (1 - first)
    )


def _pause_s(retry: int, calls: Calls) -> float:
    """The mean pause before a retry (from 1): uniform from 0 to 2^(retry - 1) s, in standard mode
    at most 20 s, as in our Go program. botocore caps before it draws, which is the same up to the
    fifth retry."""
    most_s = calls.rules.throttle_first_pause_s * 2.0 ** (retry - 1)
    longest_s = calls.rules.longest_pause_s
    if calls.retry_mode == LEGACY or most_s <= longest_s:
        return most_s / 2
    return longest_s - longest_s**2 / (2 * most_s)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The point up to which `holds` is true; it is true at `low`."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
