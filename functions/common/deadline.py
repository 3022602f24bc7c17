"""Runs one timed operation so that it ends as an outcome, whatever S3, a disk or the network does.

Lambda would kill an operation that outlasts the function, without a record. Three things prevent
that. The operation runs in its own thread, and the invocation waits for it only until the deadline,
even if a connection trickles so slowly that no Python code runs. At the deadline the operation is
stopped: at once where it can be interrupted, otherwise at its next chunk or request. The client's
read timeout ends a silent connection. A thread that still hangs after that would share CPU and
network with the next measurement, so the next operation in this sandbox waits for it or is refused.
"""

import threading
import time
from collections.abc import Callable

from common.failures import DeadlineExceeded, PreviousDownloadRunning
from common.measurement import Measurement
from common.outcome import Outcome
from common.s3_client import READ_TIMEOUT_S

# Part of the function's timeout kept for stopping the operation, removing files and the record.
MARGIN_S = 3.0
# Part of the margin in which a stopped operation may end by itself.
GRACE_S = 1.0


class _Run:
    """One operation in its thread, and its result."""

    def __init__(self, work: Callable[[], int], clean_up: Callable[[], None]) -> None:
        self.received_bytes: int | None = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._work = work
        self._clean_up = clean_up

    def __call__(self) -> None:
        try:
            self.received_bytes = self._work()
        except BaseException as error:  # for the invocation's thread, which raises or reports it
            self.error = error
        finally:
            self._clean_up()
            self.ended.set()


class DeadlineRunner:
    """Runs the operations of one sandbox, one at a time.

    `operation` and `thing` (what it reads) are the names in its errors.
    """

    def __init__(self, operation: str, thing: str) -> None:
        self._operation, self._thing = operation, thing
        self._thread: threading.Thread | None = None

    def make_way(self, deadline_s: float) -> None:
        """Wait until an operation that was stopped earlier has ended.

        Raises PreviousDownloadRunning if it doesn't end, and DeadlineExceeded if it is too late to
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
        """Run `work`, which returns the bytes received, and then always `clean_up`, in one thread.

        `deadline_s` is a time of `time.monotonic()`. Exceptions of `work` are in the outcome,
        except KeyboardInterrupt and SystemExit, which are raised.
        """
        run = _Run(work, clean_up)
        self._thread = threading.Thread(target=run, name=self._operation, daemon=True)
        self._thread.start()
        return _outcome(run, measurement, self._wait(run, measurement, deadline_s))

    def _wait(
        self, run: _Run, measurement: Measurement, deadline_s: float
    ) -> DeadlineExceeded | None:
        """Wait for the operation. At the deadline stop it with an error, and return the error."""
        if run.ended.wait(max(0.0, deadline_s - time.monotonic())):
            return None
        announced = measurement.announced_bytes
        announced = "unknown" if announced is None else announced
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
    received_bytes = run.received_bytes
    # A stopped operation may still have succeeded. Otherwise the deadline is the reason.
    if received_bytes is None and stopped is not None:
        error = stopped
    if received_bytes is None:
        received_bytes = measurement.received_bytes
    return Outcome.of(measurement, received_bytes, error)
