"""The method `ranges`: several connections fetch ranges straight into their places.

The first answer has the size and ETag, so no HEAD is needed, and the other connections begin with
its header. Their requests have If-Match: an object that is replaced in between is an error.
"""

import itertools
import threading
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from common import get_object
from common.boto_observer import observed
from common.get_object import Span, fetch_span, is_beyond_the_end
from download.settings import Settings
from download.transfer import Transfer


def build_client(settings: Settings) -> Any:
    """Return boto3's client with a connection for each thread; raises SettingsError."""
    return get_object.build_client(
        settings.region, settings.range_parallel, requester_pays=settings.requester_pays
    )


def fetch(transfer: Transfer) -> int:
    """Download the object into the sink and return the bytes received.

    Timed are connecting (unless an earlier message left connections), all requests, all bytes into
    the sink, and the start and end of the threads.
    """
    with observed(transfer.s3, transfer, lambda key: transfer.object), transfer.timed():
        _Ranges(transfer).run()
    return transfer.received_bytes


class _Ranges:
    """One download: the caller of `run` fetches the first range, and with helpers the others."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._part_bytes = transfer.settings.range_part_mb * 2**20
        self._size = 0
        self._parts: Iterator[int] = itertools.count(1)  # its next() is atomic
        self._helpers: list[threading.Thread] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._fetch_first()
            self._fetch_others()
        except BaseException as error:
            self._fail(error)
        for helper in self._helpers:
            helper.join()
        if self._error is not None:
            raise self._error

    def _fetch_first(self) -> None:
        slot = self._transfer.sink.slot()
        try:
            fetch_span(self._transfer.object, Span(0, self._part_bytes), slot, self._begin_others)
        except ClientError as error:
            if not is_beyond_the_end(error) or self._size:
                raise
            # An empty object has no range.
            fetch_span(self._transfer.object, Span(), slot, self._transfer.sink.prepare)

    def _begin_others(self, size: int) -> None:
        self._size = size
        self._transfer.sink.prepare(size)
        parts = -(-size // self._part_bytes) - 1
        for _ in range(min(self._transfer.settings.range_parallel - 1, parts)):
            helper = threading.Thread(target=self._help, name="range", daemon=True)
            self._helpers.append(helper)
            helper.start()

    def _help(self) -> None:
        try:
            self._fetch_others()
        except BaseException as error:  # raised by the thread that joins
            self._fail(error)

    def _fetch_others(self) -> None:
        slot = self._transfer.sink.slot()
        while (first := next(self._parts) * self._part_bytes) < self._size:
            end = min(first + self._part_bytes, self._size)
            fetch_span(self._transfer.object, Span(first, end), slot)

    def _fail(self, error: BaseException) -> None:
        """Keep the first error and stop the other threads."""
        if self._error is None:
            self._error = error
        if not isinstance(error, Exception):
            error = RuntimeError(type(error).__name__)
        self._transfer.stop(error)
