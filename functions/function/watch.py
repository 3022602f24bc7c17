"""Notices an invocation that still runs shortly before the function's timeout.

One thread for all invocations of a sandbox: to start one for each takes as long as everything else that is done for an
invocation. It isn't woken for each either: the next one's deadline comes after that which it waits for.
"""

import time
from collections.abc import Callable
from math import inf
from threading import Event, Thread


class Watch:
    """Calls `late` in a thread of its own once the deadline of an invocation (a time of `time.monotonic()`) is over."""

    def __init__(self, late: Callable[[], None]) -> None:
        self._late, self._changed, self._wakes_s = late, Event(), inf
        self._deadline_s: float | None = None
        self._thread = Thread(target=self._wait, name="stampede-watch", daemon=True)

    def begin(self, deadline_s: float) -> None:
        """An invocation begins."""
        self._deadline_s = deadline_s
        if self._thread.ident is None:
            self._thread.start()
        elif deadline_s < self._wakes_s:
            self._changed.set()

    def end(self) -> None:
        """It has ended."""
        self._deadline_s = None

    def _wait(self) -> None:
        while True:
            self._wakes_s = inf  # before it is read: what begins after that wakes this thread
            deadline_s = self._deadline_s
            if deadline_s is not None:
                self._wakes_s = deadline_s
            if self._changed.wait(None if deadline_s is None else max(0.0, deadline_s - time.monotonic())):
                self._changed.clear()
            elif self._deadline_s == deadline_s:
                self._deadline_s = None
                self._late()
