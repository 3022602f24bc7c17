"""The flood of one cell: a queue of messages, a trigger, environments, and operations that share limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from model.course import Course, course
from model.engine import Engine
from model.limits import Limit, Shared
from model.operation import Operation
from model.trigger import Trigger

__all__ = ["Course", "Flood", "Limit", "Trigger", "run"]


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
    account_concurrency: float = math.inf
    cold_start_s: float = 0.0
    hand_over_s: float = 0.0
    barrier_s: float = 0.0


def run(flood: Flood, operation: Operation, limits: Sequence[Limit], seed: int) -> Course:
    """Carry a flood out; `limits` are those that the operation's demands are on. The same seed gives the same course.

    Raises ValueError for a demand on a limit that isn't there, and for a flood that never ends.
    """
    shared = Shared(limits, operation.demands)
    attempts = Engine(flood, operation, shared, seed).run()
    return course(attempts, flood.concurrency, operation.requests_per_s, shared)
