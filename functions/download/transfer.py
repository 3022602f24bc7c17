"""One transfer under way: what a method of downloading gets to work with, and what is observed of it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from failures import ObjectChanged
from settings import Settings
from sinks import Sink
from work_order import WorkOrder


@dataclass
class Transfer:
    """The object to fetch, the sink for it, and the observations, shared between threads.

    `s3` is the client that the method's own `build_client` made. A method puts `with transfer.timed():` around exactly
    what it measures, calls `count_request` before each request, `note_answer` after each good one and `count_bytes`
    while bytes arrive. `stop` makes the next of these calls raise. One that can't tell its retries sets them to None.
    """

    s3: Any
    settings: Settings
    order: WorkOrder
    sink: Sink
    started_at_ms: int | None = None
    elapsed_s: float | None = None
    cpu_s: float | None = None
    first_byte_s: float | None = None
    announced_bytes: int | None = None
    etag: str | None = None
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

        The CPU time is the process's: all threads, user and system.
        """
        self.started_at_ms = time.time_ns() // 1_000_000
        self._started_cpu_s = time.process_time()
        self._started_s = time.perf_counter()
        try:
            yield
        finally:
            self.elapsed_s = time.perf_counter() - self._started_s
            self.cpu_s = time.process_time() - self._started_cpu_s

    def elapsed_so_far_s(self) -> float:
        """Return the seconds of the timed part, until now if it still runs; 0 before it began."""
        if self.started_at_ms is None:
            return 0.0
        return self.elapsed_s if self.elapsed_s is not None else time.perf_counter() - self._started_s

    def cpu_so_far_s(self) -> float:
        """Return the CPU seconds of the timed part, until now if it still runs; 0 before it began."""
        if self.started_at_ms is None:
            return 0.0
        return self.cpu_s if self.cpu_s is not None else time.process_time() - self._started_cpu_s

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
        """Count a request that is about to be sent, again for the same bytes if `is_retry`; raises when stopped."""
        # Raising here ends retries too, so that a stopped transfer puts no further load on S3.
        self.raise_if_stopped()
        with self._lock:
            self.requests += 1
            if is_retry:
                self.retries += 1

    def note_answer(self, etag: str | None, object_bytes: int | None, *, is_body: bool) -> None:
        """Keep ETag and size of the object from the first good answer, and the time of the first with a body.

        Raises ObjectChanged when an ETag is another than the first: the parts of one download must be of one object.
        """
        with self._lock:
            if is_body and self.first_byte_s is None:
                self.first_byte_s = time.perf_counter() - self._started_s
            if self.etag is None:
                self.etag = etag
            if self.announced_bytes is None:
                self.announced_bytes = object_bytes
            changed = etag is not None and etag != self.etag
        if changed:
            raise object_changed()

    def stop(self, error: Exception) -> None:
        """Let the transfer end with `error`, at once where it can be interrupted."""
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


def object_changed() -> ObjectChanged:
    """Return the error for an object that was replaced between two requests of one download."""
    return ObjectChanged("the object was replaced while it was downloaded: leave it alone during a run")
