"""Polling with pauses and a timeout."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator


def looks(
    pauses_s: Iterable[float],
    within_s: float = math.inf,
) -> Iterator[int]:
    """Number the attempts, from 0 on: one at once, and one after each pause.

    The last attempt is after `within_s`, or after the last pause. Break out of the loop when the
    wait is over; its `else` branch handles the timeout.
    """
    until_s = time.monotonic() + within_s
    yield 0
    for number, pause_s in enumerate(pauses_s, start=1):
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return
        time.sleep(min(pause_s, left_s))
        yield number


def growing(first_s: float, factor: float, longest_s: float) -> Iterator[float]:
    """Endless pauses, each `factor` times the previous one, up to `longest_s`."""
    pause_s = first_s
    while True:
        yield pause_s
        pause_s = min(pause_s * factor, longest_s)
