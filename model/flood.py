"""The discrete-event core: a queue of messages, a trigger, environments, and operations that share limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trigger:
    """What hands messages to functions: `start` at once at first, `per_minute` more, `most` in the end."""

    start: float
    per_minute: float
    most: float


@dataclass(frozen=True)
class Limit:
    """What all workers share: `name` in words for people, and its capacity a second from each of the times `at_s`."""

    name: str
    per_s: Sequence[float]
    at_s: Sequence[float] = (0.0,)


@dataclass(frozen=True)
class Flood:
    """One cell's flood. `trigger` None: workers that ask the queue themselves, N of them at once.

    `concurrency` is N, the reserved concurrency; `account_concurrency` what the account leaves for all. A message that
    is throttled, or whose function is cut off at `timeout_s`, comes back after `visibility_timeout_s`; one that fails
    after the pauses `redelivery_s`; after `receives` of them it is a dead letter. `failing` is the share of attempts
    that end in an error. `hand_over_s` lie between two messages of one environment, `cold_start_s` before its first.
    `barrier_s`: none begins before that.
    """

    messages: int
    concurrency: int
    messages_per_s: float
    trigger: Trigger | None
    timeout_s: float
    visibility_timeout_s: float
    batch_size: int = 1
    receives: int = 5
    redelivery_s: Sequence[float] = (2.0, 4.0, 8.0, 16.0, 32.0)
    failing: float = 0.0
    scale_out_per_10_s: float = 1000.0
    account_concurrency: float = float("inf")
    cold_start_s: float = 0.0
    hand_over_s: float = 0.0
    barrier_s: float = 0.0


@dataclass(frozen=True)
class Course:
    """What came of it. Times in seconds from the first message sent.

    The seconds are those of the successful operations, cold starts apart, as records have them. The full-overlap
    window, `time_to_n_s` to `window_end_s`, is from the first to the last moment at which N ran at once (None where
    they never did), `share_at_n` the share of all operations' time that lies in it, `first_start_s` to `drain_s` the
    span of the records. `binds` has by the name of each shared limit the share of operation time in which it was the
    one that slowed all; `throttled` are receives that found no room.
    """

    succeeded: int
    failed_attempts: int
    dead_lettered: int
    throttled: int
    min_s: float
    p25_s: float
    avg_s: float
    p75_s: float
    max_s: float
    time_to_n_s: float | None
    window_end_s: float | None
    share_at_n: float
    most_at_once: int
    first_start_s: float
    drain_s: float
    peak_requests_per_s: float
    binds: Mapping[str, float] = field(default_factory=dict)
    ramp: Sequence[tuple[float, int]] = ()
