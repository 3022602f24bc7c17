"""One timed operation under way: its clock, what it has counted, and how to stop it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from resource import RUSAGE_CHILDREN, getrusage


@dataclass(kw_only=True)
class Measurement:
    """What is observed of one operation, shared between its threads.

    The operation puts `with measurement.timed():` around exactly what it measures, calls
    `count_request` before each request and `count_bytes` while bytes arrive. `stop` makes the next
    of these calls raise. One that can't tell its retries sets them to None. `announced_bytes` is
    how many must come, None while that is unknown.
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
        """Time the block with the monotonic clock; the wall clock only says when it began.

        The CPU time is the process's, user and system: of all threads, and of processes that it
        waited for.
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
        """Return the seconds of the timed part, which has begun: until now if it still runs."""
        return (
            self.elapsed_s if self.elapsed_s is not None else time.perf_counter() - self._started_s
        )

    def cpu_so_far_s(self) -> float:
        """Return the CPU seconds of the timed part, which has begun: until now if it still runs."""
        return self.cpu_s if self.cpu_s is not None else _cpu_s() - self._started_cpu_s

    @property
    def received_bytes(self) -> int:
        """Bytes received so far; a body that is fetched again counts from where it began."""
        return max(0, self._received_bytes)

    def count_bytes(self, count: int) -> None:
        """Add to the received bytes (negative: taken back before a retry); raises when stopped."""
        with self._lock:
            self._received_bytes += count
        self.raise_if_stopped()

    def count_request(self, *, is_retry: bool) -> None:
        """Count a request that is about to be sent, again for the same bytes if `is_retry`; raises
        when stopped."""
        # Raising here ends retries too, so that a stopped operation puts no further load on S3.
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
        """Let the operation end with `error`, at once where it can be interrupted."""
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
        """Sleep; raises when stopped, as soon as that happens."""
        self._stopped.wait(seconds)
        self.raise_if_stopped()

    def raise_if_stopped(self) -> None:
        """Raise the error given to `stop`, if it was called."""
        if self._stop is not None:
            raise self._stop


def _cpu_s() -> float:
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
