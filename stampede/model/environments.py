"""Execution environments of one function: which are warm, and how fast new ones come."""

from __future__ import annotations

import math

# "Lambda makes a best attempt to refill your concurrency scaling rate continuously over time"; what
# isn't used doesn't add up (Lambda guide, scaling-behavior).
_SCALE_OUT_S = 10.0


class Environments:
    """At most `room` of them, `warm` at first; new ones by a bucket of `per_10_s` tokens that fills
    up steadily.

    One that is free is used again, the last one first (which one Lambda takes isn't documented;
    they are alike here).
    """

    def __init__(self, room: int, per_10_s: float, warm: int = 0) -> None:
        self.idle = list(range(warm))
        self._reset: list[int] = []
        self._unused = list(range(room - 1, warm - 1, -1))
        self._most, self._tokens, self._at_s = per_10_s, per_10_s, 0.0

    def take(self, now_s: float) -> tuple[int, bool] | None:
        """One for an invocation, and whether it starts cold; None where that is throttled."""
        if self.idle:
            return self.idle.pop(), False
        if self._reset:
            return self._reset.pop(), True
        if not self._unused or not self._token(now_s):
            return None
        return self._unused.pop(), True

    def free(self, environment: int) -> None:
        """Its invocation has ended."""
        self.idle.append(environment)

    def reset(self, environment: int) -> None:
        """Its invocation was cut off by the function's timeout: Lambda resets it, so it starts
        cold.

        It isn't a new one: its /tmp stays as it was (Lambda guide, lambda-runtime-environment).
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
