"""Waits for a common start, so that many functions begin at once."""

import time

from common.failures import StartTooLate


def wait_until(start_at_ms: int | None, deadline_s: float) -> None:
    """Sleep until the epoch time `start_at_ms`; return at once when it is None or past.

    A function that arrives late starts late, as its started_at_ms shows. Raises StartTooLate
    without waiting if the start is after `deadline_s` (`time.monotonic()`).
    """
    if start_at_ms is None:
        return
    wait_s = start_at_ms / 1000 - time.time()
    if wait_s <= 0:
        return
    left_s = deadline_s - time.monotonic()
    if wait_s >= left_s:
        raise StartTooLate(
            f"start_at_ms is {wait_s:.1f} s ahead, but only {max(0.0, left_s):.1f} s are left to "
            "wait: choose an earlier start or raise timeout_s"
        )
    time.sleep(wait_s)
