"""What interrupts a verb: Ctrl-C, SIGTERM, or a terminal that is closed (SIGHUP). All arrive as
KeyboardInterrupt.

Whoever ends in order after Ctrl-C so does after all three, and nobody else needs to know of
signals.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

# timeout(1) sends its signal to the process, and then to the whole group.
SAME_WITHIN_S = 1.0
# Longer than any callback takes that an interruption was lost in, and too short to be noticed.
AGAIN_AFTER_S = 0.05


class Signals:
    """The signals beside Ctrl-C's that this process has been ended by."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.first: signal.Signals | None = None
        self._last_s = -math.inf
        self._takes_hangup = True

    def listen(self) -> None:
        """From now on SIGTERM and SIGHUP interrupt; one that is ignored, as `nohup` has it, stays
        ignored."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        sys.unraisablehook = self._interrupt_again

    def ignore_hangup(self) -> None:
        """Let a terminal that is closed interrupt nothing more. It says so more than once: the
        kernel does, and so does the shell that ends with it."""
        self._takes_hangup = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        now_s = self._clock()
        if now_s - self._last_s < SAME_WITHIN_S or (
            number == signal.SIGHUP and not self._takes_hangup
        ):
            return
        self._last_s = now_s
        self.ignore_hangup()
        self.first = self.first or signal.Signals(number)
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(on_ctrl_c):  # asyncio has its own while it runs
            on_ctrl_c(signal.SIGINT, frame)
        else:  # a shell without job control has what runs in the background ignore it
            raise KeyboardInterrupt

    def _interrupt_again(self, dropped: sys.UnraisableHookArgs) -> None:
        """Let an interruption come once more that Python dropped because it came in a callback, of
        which each import has one; a sweep would go on as if nobody had pressed Ctrl-C. Other
        exceptions are printed, as without this."""
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)
            return
        self._last_s = -math.inf
        number = signal.SIGTERM if self.first else signal.SIGINT
        # By another thread: here it would be dropped once more.
        threading.Timer(AGAIN_AFTER_S, os.kill, (os.getpid(), number)).start()

    @property
    def exit_status(self) -> int:
        """The status that shells know of a program that was interrupted so."""
        return 128 + (self.first or signal.SIGINT)

    @property
    def words(self) -> str:
        """How an interrupted program was interrupted."""
        return f"interrupted by {self.first.name}" if self.first else "interrupted"


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """In the block an interruption waits, and comes at its end: a process has been started and
    isn't known yet, or one that was asked to end is waited for. Without effect in another thread
    than the main one, where none comes."""
    came: list[int] = []
    handlers = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[came[0]](came[0], None)


signals = Signals()
