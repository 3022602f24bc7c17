"""A running timed operation: its clock, its counters, and how to stop it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from resource import RUSAGE_CHILDREN, getrusage


@dataclass(kw_only=True)
class Measurement:
    """The state of one operation, shared between its threads.

    The operation puts `with measurement.timed():` around exactly what it measures, and calls
    `count_request` before each request and `count_bytes` while bytes arrive. `stop` makes the next
    of these calls raise. `retries` is None if they can't be known. `announced_bytes` is the
    expected number, None until it is known.
    """

    started_at_ms: int | None = None
    elapsed_s: float | None = None
    cpu_s: float | None = None
    first_byte_s: float | None = None
    announced_bytes: int | None = None
    requests: int | None = 0
    retries: int | None = 0
    _started_s: float = 0.0
    _started_cpu_s: float = 0.0
    _received_bytes: int = 0
    _stop: Exception | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _interrupts: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time the block with the monotonic clock; the wall clock only gives the start.

        The CPU time is user and system time of all threads and of child processes that have ended.
        """
        self.started_at_ms = time.time_ns() // 1_000_000
        self._started_cpu_s = _cpu_s()
        self._started_s = time.perf_counter()
        try:
            yield
        finally:
            self.elapsed_s = time.perf_counter() - self._started_s
            self.cpu_s = _cpu_s() - self._started_cpu_s

    def elapsed_so_far_s(self) -> float:
        """Return the seconds of the timed part so far; it has begun."""
        elapsed_s = self.elapsed_s
        return time.perf_counter() - self._started_s if elapsed_s is None else elapsed_s

    def cpu_so_far_s(self) -> float:
        """Return the CPU seconds of the timed part so far; it has begun."""
        return self.cpu_s if self.cpu_s is not None else _cpu_s() - self._started_cpu_s

    @property
    def received_bytes(self) -> int:
        """Bytes received so far; a body that is fetched again counts once."""
        return max(0, self._received_bytes)

    def count_bytes(self, count: int) -> None:
        """Add to the received bytes (negative before a retry); raises when stopped."""
        with self._lock:
            self._received_bytes += count
        self.raise_if_stopped()

    def count_request(self, *, is_retry: bool) -> None:
        """Count a request before it is sent; raises when stopped."""
        # This ends retries too, so that a stopped operation puts no more load on S3.
        self.raise_if_stopped()
        with self._lock:
            self.requests += 1
            if is_retry:
                self.retries += 1

    def note_first_byte(self) -> None:
        """Keep the time of the first answer with a body; later ones change nothing."""
        with self._lock:
            if self.first_byte_s is None:
                self.first_byte_s = time.perf_counter() - self._started_s

    def stop(self, error: Exception) -> None:
        """End the operation with `error`, at once where it can be interrupted."""
        with self._lock:
            self._stop = self._stop or error
            interrupts = list(self._interrupts)
        self._stopped.set()
        for interrupt in interrupts:
            interrupt()

    @contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Have `stop` call `interrupt`, from its own thread, while the block runs."""
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            self.raise_if_stopped()
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    def wait(self, seconds: float) -> None:
        """Sleep; raises as soon as it is stopped."""
        self._stopped.wait(seconds)
        self.raise_if_stopped()

    def raise_if_stopped(self) -> None:
        """Raise the error of `stop`, if it was called."""
        if self._stop is not None:
            raise self._stop


def _cpu_s() -> float:
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
