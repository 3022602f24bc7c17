"""Interruptions of a verb: Ctrl-C, SIGTERM, or a closed terminal (SIGHUP).

All of them arrive as KeyboardInterrupt, so code that cleans up after Ctrl-C cleans up after all
three, and no other code needs to know about signals.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

# timeout(1) sends its signal to the process, and then to the whole group.
SAME_WITHIN_S = 1.0
# Longer than any callback that drops an interruption, and too short to be noticed.
AGAIN_AFTER_S = 0.05


class Signals:
    """Turns SIGTERM and SIGHUP into Ctrl-C, and remembers the first of them."""

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self._last_s = -math.inf
        self._takes_hangup = True

    def listen(self) -> None:
        """From now on SIGTERM and SIGHUP interrupt, unless they are ignored, as under `nohup`."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        sys.unraisablehook = self._interrupt_again

    def ignore_hangup(self) -> None:
        """Ignore SIGHUP from now on. A closed terminal sends it more than once: the kernel does,
        and so does the shell that ends with it."""
        self._takes_hangup = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s < SAME_WITHIN_S or (
            number == signal.SIGHUP and not self._takes_hangup
        ):
            return
        self._last_s = now_s
        self.ignore_hangup()
        self.first = self.first or signal.Signals(number)
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(on_ctrl_c):  # asyncio installs its own handler while it runs
            on_ctrl_c(signal.SIGINT, frame)
        else:  # a shell without job control makes background jobs ignore SIGINT
            raise KeyboardInterrupt

    def _interrupt_again(self, dropped: sys.UnraisableHookArgs) -> None:
        """Repeat an interruption that Python dropped because it came in a callback, such as the one
        of an import; otherwise a sweep would ignore Ctrl-C. Print other exceptions."""
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)
            return
        self._last_s = -math.inf
        number = signal.SIGTERM if self.first else signal.SIGINT
        # From another thread: here it would be dropped again.
        threading.Timer(AGAIN_AFTER_S, os.kill, (os.getpid(), number)).start()

    @property
    def exit_status(self) -> int:
        """The exit status that shells expect after this interruption."""
        return 128 + (self.first or signal.SIGINT)

    @property
    def words(self) -> str:
        """The interruption, for an error message."""
        return f"interrupted by {self.first.name}" if self.first else "interrupted"


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Delay interruptions until the block ends: a process has been started but isn't noted yet, or
    one is being stopped. Has no effect outside the main thread, where none arrives."""
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if is_main and callable(handler := signal.getsignal(number))
    }
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
