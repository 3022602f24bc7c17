"""Runs one timed operation so that it ends as an outcome, whatever S3, a disk or the network does.

An operation that outlasts the function would be killed by Lambda without a record. Three things
prevent it: it runs in a thread of its own, and the invocation waits for it only until the deadline,
which holds even when a connection trickles so slowly that no code of ours gets to run; at the
deadline it is stopped: what can be interrupted at once, the rest raises at its next chunk or
request; and the client's read timeout ends a connection that is silent. A thread that still hangs
after that would share CPU and network with the next measurement, so the next operation in this
sandbox waits for it, or is refused.
"""

import threading
import time
from collections.abc import Callable

from common.failures import DeadlineExceeded, PreviousDownloadRunning
from common.measurement import Measurement
from common.outcome import Outcome
from common.s3_client import READ_TIMEOUT_S

# Kept back from the function's timeout for stopping the operation, removing files and writing the
# record.
MARGIN_S = 3.0
# How long a stopped operation gets to end by itself; a part of the margin.
GRACE_S = 1.0


class _Run:
    """What the thread of one operation leaves behind."""

    def __init__(self, work: Callable[[], int], clean_up: Callable[[], None]) -> None:
        self.received_bytes: int | None = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._work = work
        self._clean_up = clean_up

    def __call__(self) -> None:
        try:
            self.received_bytes = self._work()
        except (
            BaseException
        ) as error:  # handed over to the invocation's thread, which raises or reports it
            self.error = error
        finally:
            self._clean_up()
            self.ended.set()


class DeadlineRunner:
    """The operations of one sandbox, one at a time. `operation` and `thing` are what its errors
    call them."""

    def __init__(self, operation: str, thing: str) -> None:
        self._operation, self._thing = operation, thing
        self._thread: threading.Thread | None = None

    def make_way(self, deadline_s: float) -> None:
        """Wait until an operation that was stopped earlier has really ended.

        Raises PreviousDownloadRunning when it doesn't, and DeadlineExceeded when it is too late to
        begin another.
        """
        if self._thread is not None:
            self._thread.join(max(0.0, min(READ_TIMEOUT_S, deadline_s - time.monotonic())))
            if self._thread.is_alive():
                raise PreviousDownloadRunning(
                    f"an earlier {self._operation} that was stopped still holds a connection in "
                    "this sandbox and would disturb the timing: SQS redelivers the message"
                )
        if time.monotonic() >= deadline_s:
            raise DeadlineExceeded(
                f"less than {MARGIN_S:g} s are left, too late to start a {self._operation}: raise "
                "timeout_s"
            )

    def run(
        self,
        work: Callable[[], int],
        clean_up: Callable[[], None],
        measurement: Measurement,
        deadline_s: float,
    ) -> Outcome:
        """Run `work`, which returns the bytes received, and then `clean_up` in its thread, whatever
        happened.

        `deadline_s` is a time of `time.monotonic()`. What `work` raises is in the outcome;
        KeyboardInterrupt and SystemExit go up.
        """
        run = _Run(work, clean_up)
        self._thread = threading.Thread(target=run, name=self._operation, daemon=True)
        self._thread.start()
        return _outcome(run, measurement, self._wait(run, measurement, deadline_s))

    def _wait(
        self, run: _Run, measurement: Measurement, deadline_s: float
    ) -> DeadlineExceeded | None:
        """Wait for the operation; at the deadline stop it and return the error that it is stopped
        with."""
        if run.ended.wait(max(0.0, deadline_s - time.monotonic())):
            return None
        announced = (
            "unknown" if measurement.announced_bytes is None else measurement.announced_bytes
        )
        stopped = DeadlineExceeded(
            f"stopped {MARGIN_S:g} s before the function's timeout with "
            f"{measurement.received_bytes} of {announced} bytes: raise timeout_s or make the "
            f"{self._thing} smaller"
        )
        measurement.stop(stopped)
        run.ended.wait(GRACE_S)
        return stopped


def _outcome(run: _Run, measurement: Measurement, stopped: DeadlineExceeded | None) -> Outcome:
    error = run.error
    if error is not None and not isinstance(error, Exception):
        raise error
    # One that came to its end although it was stopped is a result like any other.
    if run.received_bytes is None and stopped is not None:
        # Whatever the stopped operation ended with, if it did, the deadline is the reason.
        error = stopped
    received_bytes = (
        measurement.received_bytes if run.received_bytes is None else run.received_bytes
    )
    return Outcome.of(measurement, received_bytes, error)
