"""The queue: which messages were sent, which returned, and which were received too often."""

from __future__ import annotations

import math
from collections import deque


class Messages:
    """`count` messages, number i visible i / `per_s` seconds after the first, each received at most
    `receives` times.

    They are received in the order in which they became visible. SQS doesn't promise an order; here
    a returned message joins the end of the backlog. A message takes one byte, plus its entry once
    it returns.
    """

    def __init__(self, count: int, per_s: float, receives: int) -> None:
        self._count, self._gap_s, self._receives = count, 1 / per_s, receives
        self._fresh = 0  # the next one never received
        self._returned: deque[tuple[float, int]] = deque()  # (visible since, message)
        self._in_vain = bytearray(count)

    def take(self, now_s: float) -> int | None:
        """A visible message, None if there is none."""
        fresh, sent_s = self._fresh, self._fresh * self._gap_s
        if self._returned and (fresh >= self._count or self._returned[0][0] < sent_s):
            return self._returned.popleft()[1]
        if fresh < self._count and sent_s <= now_s:
            self._fresh = fresh + 1
            return fresh
        return None

    def next_s(self) -> float:
        """When the loader's next message is visible; infinity after the last."""
        return self._fresh * self._gap_s if self._fresh < self._count else math.inf

    def received_in_vain(self, message: int) -> bool:
        """Count a receive that came to nothing; True if it was the last, so that the message is a
        dead letter."""
        self._in_vain[message] += 1
        return self._in_vain[message] >= self._receives

    def times_in_vain(self, message: int) -> int:
        """How many receives of the message came to nothing."""
        return self._in_vain[message]

    def visible_again(self, message: int, now_s: float) -> None:
        self._returned.append((now_s, message))
