"""Runs one timed download so that it ends as an outcome, whatever S3 or the network does.

A download that outlasts the function would be killed by Lambda without a record. Three things prevent it: the
download runs in a thread of its own, and the invocation waits for it only until the deadline, which holds even when a
connection trickles so slowly that no code of ours gets to run; at the deadline the transfer is stopped: methods with
their own HTTP at once, the others raise at their next chunk or request; and the client's read timeout ends a
connection that is silent. A thread that still hangs after that would share CPU and network with the next measurement,
so the next download in this sandbox waits for it, or is refused.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failures import DeadlineExceeded, PreviousDownloadRunning, SizeMismatch
from s3_client import READ_TIMEOUT_S
from settings import Settings
from sinks import make_sink
from transfer import Transfer
from work_order import WorkOrder

# A method: downloads as the Transfer says and returns the bytes received.
Fetch = Callable[[Transfer], int]

# Kept back from the function's timeout for stopping the transfer, removing the file and writing the record.
MARGIN_S = 3.0
# How long a stopped transfer gets to end by itself; a part of the margin.
GRACE_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """How a download went: epoch ms of its start, seconds taken, bytes received, and the error, if any.

    Then what it took: seconds to the first answer with a body (None: unknown), CPU seconds of this process, requests
    sent for the same bytes again (None: unknown), and all requests (None: unknown).
    """

    started_at_ms: int
    elapsed_s: float
    received_bytes: int
    error: Exception | None
    first_byte_s: float | None = None
    cpu_s: float = 0.0
    retries: int | None = 0
    requests: int | None = 0

    @property
    def finished_at_ms(self) -> int:
        """Epoch ms of the end, from start and duration, so that overlaps of records fit their durations."""
        return self.started_at_ms + round(self.elapsed_s * 1000)

    @staticmethod
    def not_started(error: Exception) -> "Outcome":
        """Return the outcome of a message that failed before its download began."""
        return Outcome(time.time_ns() // 1_000_000, 0.0, 0, error)


class _Run:
    """What the thread of one download leaves behind."""

    def __init__(self, fetch: Fetch, transfer: Transfer, folder: Path) -> None:
        self.received_bytes: int | None = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._fetch = fetch
        self._transfer = transfer
        self._folder = folder

    def __call__(self) -> None:
        try:
            received_bytes = self._fetch(self._transfer)
            self._verify(received_bytes)
            self.received_bytes = received_bytes
        except BaseException as error:  # handed over to the invocation's thread, which raises or reports it
            self.error = error
        finally:
            # Here too, for a run that outlived its invocation: it may have made its file after the removal
            # there.
            self._transfer.sink.close()
            _remove(self._folder)
            self.ended.set()

    def _verify(self, received_bytes: int) -> None:
        """Compare sizes, which is free, before the checksum; outside the timed part."""
        order = self._transfer.order
        for size, source in (
            (self._transfer.announced_bytes, "S3 announced"),
            (order.object_bytes, "the work order says"),
        ):
            if size is not None and received_bytes != size:
                raise SizeMismatch(f"received {received_bytes} bytes, but {source} {size}: make the object again")
        if order.checksum is not None:
            order.checksum.compare(self._transfer.sink.digest(order.checksum.algorithm))


class Downloader:
    """The downloads of one sandbox, one at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def run(self, fetch: Fetch, s3: Any, settings: Settings, order: WorkOrder, deadline_s: float) -> Outcome:
        """Download the settings' object with `fetch` and `s3`, the method's client, and throw it away again.

        A folder is made for it and removed in every case; `deadline_s` is a time of `time.monotonic()`. Raises
        PreviousDownloadRunning and DeadlineExceeded when there's no room to begin, OSError when there's no folder; any
        later failure is in the outcome.
        """
        self._wait_for_previous(deadline_s)
        if time.monotonic() >= deadline_s:
            raise DeadlineExceeded(f"less than {MARGIN_S:g} s are left, too late to begin a download: raise timeout_s")
        folder = Path(tempfile.mkdtemp(prefix="stampede-"))
        try:
            sink = make_sink(settings.sink, folder, settings.memory_size, order.checksum)
            transfer = Transfer(s3, settings, order, sink)
            run = _Run(fetch, transfer, folder)
            self._thread = threading.Thread(target=run, name="download", daemon=True)
            self._thread.start()
            try:
                stopped = _wait(run, transfer, deadline_s)
            except BaseException as error:
                # KeyboardInterrupt or SystemExit in the invocation: they go up, the transfer must not go on.
                transfer.stop(DeadlineExceeded(f"interrupted by {type(error).__name__}"))
                raise
            return _outcome(run, transfer, stopped)
        finally:
            _remove(folder)

    def _wait_for_previous(self, deadline_s: float) -> None:
        if self._thread is None:
            return
        self._thread.join(max(0.0, min(READ_TIMEOUT_S, deadline_s - time.monotonic())))
        if self._thread.is_alive():
            raise PreviousDownloadRunning(
                "a download stopped earlier still holds a connection in this sandbox and would disturb the "
                "timing: the message is tried again"
            )


def _remove(folder: Path) -> None:
    # Errors are left out on purpose: the folder may be gone already, and no measurement fails over its waste.
    shutil.rmtree(folder, ignore_errors=True)


def _wait(run: _Run, transfer: Transfer, deadline_s: float) -> DeadlineExceeded | None:
    """Wait for the download; at the deadline stop it and return the error that it is stopped with."""
    if run.ended.wait(max(0.0, deadline_s - time.monotonic())):
        return None
    announced = "unknown" if transfer.announced_bytes is None else transfer.announced_bytes
    stopped = DeadlineExceeded(
        f"stopped {MARGIN_S:g} s before the function's timeout with {transfer.received_bytes} of {announced} "
        "bytes: raise timeout_s or make the object smaller"
    )
    transfer.stop(stopped)
    run.ended.wait(GRACE_S)
    return stopped


def _outcome(run: _Run, transfer: Transfer, stopped: DeadlineExceeded | None) -> Outcome:
    error = run.error
    if error is not None and not isinstance(error, Exception):
        raise error
    # One that came to its end although it was stopped is a result like any other.
    if run.received_bytes is None and stopped is not None:
        # Whatever the stopped transfer ended with, if it did, the deadline is the reason.
        error = stopped
    if transfer.started_at_ms is None:
        return Outcome.not_started(error or RuntimeError("the method timed nothing"))
    return Outcome(
        started_at_ms=transfer.started_at_ms,
        elapsed_s=transfer.elapsed_so_far_s(),
        received_bytes=transfer.received_bytes if run.received_bytes is None else run.received_bytes,
        error=error,
        first_byte_s=transfer.first_byte_s,
        cpu_s=transfer.cpu_so_far_s(),
        retries=transfer.retries,
        requests=transfer.requests,
    )
