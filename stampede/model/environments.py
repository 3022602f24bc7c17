"""Execution environments of one function: which are warm, and how fast new ones are added."""

from __future__ import annotations

import math

# "Lambda makes a best attempt to refill your concurrency scaling rate continuously over time"; an
# unused rate doesn't accumulate (Lambda guide, scaling-behavior).
_SCALE_OUT_S = 10.0


class Environments:
    """At most `room` environments, `warm` of them at first; a bucket of `per_10_s` tokens, refilled
    steadily, limits new ones.

    The most recently freed environment is used first (Lambda's choice isn't documented; here they
    are all alike).
    """

    def __init__(self, room: int, per_10_s: float, warm: int = 0) -> None:
        self.idle = list(range(warm))
        self._reset: list[int] = []
        self._unused = list(range(room - 1, warm - 1, -1))
        self._most, self._tokens, self._at_s = per_10_s, per_10_s, 0.0

    def take(self, now_s: float) -> tuple[int, bool] | None:
        """An environment for an invocation, and whether it starts cold; None if it is throttled."""
        if self.idle:
            return self.idle.pop(), False
        if self._reset:
            return self._reset.pop(), True
        if not self._unused or not self._token(now_s):
            return None
        return self._unused.pop(), True

    def free(self, environment: int) -> None:
        self.idle.append(environment)

    def reset(self, environment: int) -> None:
        """The function's timeout cut its invocation off: Lambda resets it, so the next one starts
        cold.

        It isn't a new environment: its /tmp is kept (Lambda guide, lambda-runtime-environment).
        """
        self._reset.append(environment)

    def _token(self, now_s: float) -> bool:
        if math.isinf(self._most):
            return True
        filled = self._tokens + (now_s - self._at_s) * self._most / _SCALE_OUT_S
        self._tokens, self._at_s = min(self._most, filled), now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
