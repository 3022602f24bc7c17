"""What hands messages to functions, and how many batches it holds at once over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# The shares of thrown errors at which a standard trigger was measured, and the concurrency it kept.
THROWN = {0.01: "kept_at_1_percent", 0.05: "kept_at_5_percent", 0.1: "kept_at_10_percent"}


@dataclass(frozen=True)
class Trigger:
    """`start` batches at once at first, `per_minute` more, `most` in the end.

    Standard mode, "Configuring scaling behavior for SQS event source mappings" in the Lambda guide:
    at first five batches at a time, up to 300 more concurrent invokes a minute while messages are
    available, at most 1,250, or `maximum_concurrency` if that is lower. Provisioned mode: ten
    concurrent invokes per poller, the minimum at once, then 1,000 more a minute to the maximum.

    Whether the pollers of a minute arrive one by one or together isn't documented. Here they arrive
    one by one, on a straight line that reaches N = 500 after (500 - 5) / 5 = 99 s; in whole-minute
    steps it would be 120 s. Left out: a provisioned poller asks at most ten times a second, which
    matters to messages of less than a second.
    """

    start: float
    per_minute: float
    most: float

    @property
    def places(self) -> int:
        """Batches at once when the first message arrives."""
        return int(min(self.start, self.most))

    @property
    def step_s(self) -> float:
        """Seconds from one additional place to the next."""
        return 60 / self.per_minute if self.per_minute else math.inf


def kept(crashing: float, parameters: Mapping[str, float]) -> float:
    """The part of its concurrency that a standard trigger keeps while this share of all invocations
    crashes or throws.

    "Lambda gradually backs off, reducing the amount of concurrency allocated to your Amazon SQS
    event source mapping" (Lambda guide, services-sqs-errorhandling). Measured at three shares,
    linear between them and constant beyond the largest; that it is the same part of any concurrency
    is assumed. Batch item failures, which our functions report, don't count.
    """
    return float(
        np.interp(crashing, [0.0, *THROWN], [1.0, *(parameters[name] for name in THROWN.values())])
    )
