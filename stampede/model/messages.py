"""The queue: what the loader has sent, what came back, and what has been received too often."""

from __future__ import annotations

import math
from collections import deque


class Messages:
    """So many messages, number i visible i / `per_s` seconds after the first, each received
    `receives` times at most.

    They are received in the order in which they became visible: SQS promises none, and what comes
    back stands behind the backlog that is there. One byte a message, beside those that came back.
    """

    def __init__(self, count: int, per_s: float, receives: int) -> None:
        self._count, self._gap_s, self._receives = count, 1 / per_s, receives
        self._fresh = 0  # the next that nobody has received
        self._returned: deque[tuple[float, int]] = deque()  # since when, which
        self._in_vain = bytearray(count)

    def take(self, now_s: float) -> int | None:
        """One that is visible."""
        fresh, sent_s = self._fresh, self._fresh * self._gap_s
        if self._returned and (fresh >= self._count or self._returned[0][0] < sent_s):
            return self._returned.popleft()[1]
        if fresh < self._count and sent_s <= now_s:
            self._fresh = fresh + 1
            return fresh
        return None

    def next_s(self) -> float:
        """When the loader's next is visible; infinity after the last."""
        return self._fresh * self._gap_s if self._fresh < self._count else math.inf

    def received_in_vain(self, message: int) -> bool:
        """Count one more receive that came to nothing; whether that was the last, so that it is a
        dead letter."""
        self._in_vain[message] += 1
        return self._in_vain[message] >= self._receives

    def times_in_vain(self, message: int) -> int:
        """How many receives of it came to nothing."""
        return self._in_vain[message]

    def visible_again(self, message: int, now_s: float) -> None:
        """It came back."""
        self._returned.append((now_s, message))
