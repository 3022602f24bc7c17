"""The operation of the download experiment: one timed download, verified and then deleted."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from common.deadline import DeadlineRunner
from common.failures import ChecksumMismatch, SizeMismatch
from common.outcome import Outcome
from common.s3_client import ATTEMPTS, RETRY_MODE, sdk_of
from common.start_barrier import wait_until
from common.work_folder import WorkFolder
from common.work_order import WorkOrderError
from download.download_order import DownloadOrder, parse_download_order
from download.methods import DISCARD, load
from download.settings import Settings, read_settings
from download.sinks import make_sink
from download.transfer import Transfer

# The AWS Common Runtime makes five retries (aws-c-s3, s_default_max_retries), also from Python.
CRT_ATTEMPTS = 6


def retries_of(method: str) -> dict[str, Any]:
    """Return a record's keys about retries."""
    if method == "crt":
        return {"retry_mode": "crt", "retry_attempts": CRT_ATTEMPTS, "sdk": sdk_of("awscrt")}
    return {"retry_mode": RETRY_MODE, "retry_attempts": ATTEMPTS, "sdk": sdk_of()}


class Download:
    """The downloads of one sandbox; an Operation of common/sandbox.py."""

    time_key = "download_time_seconds"  # the published name

    def __init__(self) -> None:
        self.settings: Settings | None = None
        self._method: ModuleType | None = None
        self._s3: Any = None
        self._runner = DeadlineRunner("download", "object")

    def prepare(self, environ: Mapping[str, str]) -> None:
        """Read the settings and make the method's client. Raises SettingsError."""
        self.settings = read_settings(environ)
        self._method = load(self.settings.method)
        self._s3 = self._method.build_client(self.settings)

    def parse(self, body: str) -> DownloadOrder:
        """Parse the body of a message. Raises WorkOrderError."""
        return parse_download_order(body)

    def run(self, order: DownloadOrder, deadline_s: float) -> Outcome:
        """Download the settings' object into a folder that is always removed.

        Raises WorkOrderError, StartTooLate, PreviousDownloadRunning or DeadlineExceeded if it can't
        begin, and OSError without a folder. Later failures are in the outcome.
        """
        _refuse_impossible_checksum(self.settings, order)
        wait_until(order.start_at_ms, deadline_s)
        self._runner.make_way(deadline_s)
        settings, is_hashed = self.settings, order.checksum is not None
        folder = WorkFolder()
        try:
            sink = make_sink(settings.sink, folder.path, settings.memory_size, is_hashed)
            transfer = Transfer(self._s3, settings, order, sink)

            def work() -> int:
                return _fetch_and_verify(self._method.fetch, transfer)

            def clean_up() -> None:
                # Also in the download's thread: if it outlives its invocation, it may make its file
                # after the removal below.
                sink.close()
                folder.empty()

            return self._runner.run(work, clean_up, transfer, deadline_s)
        finally:
            folder.close()

    def own_keys(self, order: DownloadOrder | None, outcome: Outcome) -> dict[str, Any]:
        """Return the record's keys of downloads."""
        settings = self.settings
        unknown = dict.fromkeys(("retry_mode", "retry_attempts", "sdk"))
        return {
            "warm_up": order.warm_up if order else 0,
            "sink": settings.sink if settings else None,
            # null without a good answer, or if the method can't see it
            "first_byte_seconds": outcome.first_byte_s,
            "client_cpu_seconds": outcome.cpu_s,
            "retries": outcome.retries,
            "requests": outcome.requests,
            **(retries_of(settings.method) if settings else unknown),
        }


def _refuse_impossible_checksum(settings: Settings, order: DownloadOrder) -> None:
    if order.checksum and (settings.method, settings.sink) == ("ranges", DISCARD):
        raise WorkOrderError(
            "discarded ranges arrive out of order and have no checksum: set SINK to memory or tmp"
        )


def _fetch_and_verify(fetch: Callable[[Transfer], int], transfer: Transfer) -> int:
    """Return the bytes received; compares size and checksum outside the timed part."""
    received_bytes = fetch(transfer)
    order = transfer.order
    for size, source in (
        (transfer.announced_bytes, "S3 announced"),
        (order.object_bytes, "the message expects"),
    ):
        if size is not None and received_bytes != size:
            raise SizeMismatch(
                f"received {received_bytes} bytes, but {source} {size}: upload the object again"
            )
    if order.checksum is not None and order.checksum != (received := transfer.sink.sha256()):
        raise ChecksumMismatch(
            f"the bytes received have the sha256 {received}, but the message expects "
            f"{order.checksum}: upload the object again"
        )
    return received_bytes
