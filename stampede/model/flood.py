"""The flood of one cell: how many messages, who takes them, and what becomes of those that fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stampede.model.trigger import Trigger


@dataclass(frozen=True)
class Flood:
    """One cell's flood. `trigger` None: workers that ask the queue themselves, N of them at once.

    `concurrency` is N, the reserved concurrency; `account_concurrency` what the account leaves for
    all. The loader sends `messages_per_s`, and an invocation takes one. A message that is
    throttled, or whose function is cut off at `timeout_s`, comes back `visibility_timeout_s` after
    it was received; one that fails after the pauses `redelivery_s`, the last of them again and
    again; after `receives` (255 at most) in vain it is a dead letter. `failing` is the share of
    attempts that end in an error, `crashing` that of those which crash or throw: their messages
    come back as those of a timeout do. `hand_over_s` lie between two messages of one environment,
    `cold_start_s` before its first, and `scale_out_per_10_s` new environments come in ten seconds,
    beside so many that are `warm`. `barrier_s`: none begins before that.

    Left out: a message whose visibility timeout ends while it is worked on isn't handed out twice,
    and a trigger that has grown doesn't shrink again.
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
