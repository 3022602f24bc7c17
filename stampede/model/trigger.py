"""What hands messages to functions, and how many batches it holds at once as time goes on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# The shares of thrown errors with which a standard trigger was measured, and what it kept of its
# concurrency then.
THROWN = {0.01: "kept_at_1_percent", 0.05: "kept_at_5_percent", 0.1: "kept_at_10_percent"}


@dataclass(frozen=True)
class Trigger:
    """`start` batches at once at first, `per_minute` more, `most` in the end.

    Standard, "Configuring scaling behavior for SQS event source mappings" of the Lambda guide: five
    batches at a time at first, up to 300 more concurrent invokes a minute while messages are still
    available, 1,250 at most; a `maximum_concurrency` is a lower end. Provisioned: ten concurrent
    invokes for each poller, the minimum at once, then 1,000 more a minute to the maximum.

    Whether the pollers of a minute come one by one or together isn't documented. They come one by
    one here, on a straight line, which has N = 500 after (500 - 5) / 5 = 99 s; in steps of whole
    minutes it would be 120 s. That a provisioned poller asks ten times a second at most is left
    out: it matters to messages of less than a second.
    """

    start: float
    per_minute: float
    most: float

    @property
    def places(self) -> int:
        """Batches at once when the first message is there."""
        return int(min(self.start, self.most))

    @property
    def step_s(self) -> float:
        """Seconds from one more place to the next."""
        return 60 / self.per_minute if self.per_minute else math.inf


def kept(crashing: float, parameters: Mapping[str, float]) -> float:
    """The part of its concurrency that a standard trigger keeps while that share of all invocations
    crashes or throws.

    "Lambda gradually backs off, reducing the amount of concurrency allocated to your Amazon SQS
    event source mapping" (Lambda guide, services-sqs-errorhandling). Measured at three shares, in a
    straight line between them, and the same beyond the largest; that it is a part of what there
    was, however much that was, is assumed. Batch item failures, which our functions report, don't
    count.
    """
    return float(
        np.interp(crashing, [0.0, *THROWN], [1.0, *(parameters[name] for name in THROWN.values())])
    )
