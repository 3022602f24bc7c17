"""The flood of one cell: how many messages, who takes them, and what happens to those that fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stampede.model.trigger import Trigger


@dataclass(frozen=True)
class Flood:
    """One cell's flood. Without a `trigger`, N workers ask the queue themselves.

    `concurrency` is N, the reserved concurrency; `account_concurrency` is the account's limit for
    all functions. The loader sends `messages_per_s`, and an invocation takes one message. A message
    that is throttled, or whose function is cut off at `timeout_s`, is visible again
    `visibility_timeout_s` after it was received; a failed one after the pauses `redelivery_s`, the
    last of which repeats; after `receives` (at most 255) in vain it is a dead letter. `failing` is
    the share of attempts that end in an error, `crashing` the share that crash or throw: their
    messages return as after a timeout. An environment waits `cold_start_s` before its first message
    and `hand_over_s` between two; it is one of `warm` from the start or of `scale_out_per_10_s` new
    ones in ten seconds. No operation begins before `barrier_s`.

    Left out: a message whose visibility timeout ends during its operation isn't delivered twice,
    and a trigger that has scaled up doesn't scale down.
    """

    messages: int
    concurrency: int
    messages_per_s: float
    trigger: Trigger | None
    timeout_s: float
    visibility_timeout_s: float
    receives: int = 5
    redelivery_s: Sequence[float] = (2.0, 4.0, 8.0, 16.0, 32.0)
    failing: float = 0.0
    crashing: float = 0.0
    scale_out_per_10_s: float = 1000.0
    account_concurrency: float = math.inf
    cold_start_s: float = 0.0
    hand_over_s: float = 0.0
    barrier_s: float = 0.0
    warm: int = 0
