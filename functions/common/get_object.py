"""Fetches bytes of an object into a slot with boto3's GetObject, and resumes broken bodies.

boto3 retries a request until its answer begins, but never a body. So the rest of a broken body is
requested by its range, and only of the same object (If-Match).
"""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import (
    ClientError,
    IncompleteReadError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from common import s3_client
from common.failures import AnswerError, ConnectionCut, SizeMismatch
from common.object_read import ObjectRead, object_changed
from common.s3_client import ATTEMPTS
from common.slots import Slot

# An attempt that fetched as much before its body broke off isn't counted.
PROGRESS_BYTES = 2**20
_BROKEN_OFF = (IncompleteReadError, ReadTimeoutError, ResponseStreamingError)


def build_client(region: str, connections: int = 10, *, requester_pays: bool = False) -> Any:
    """Return boto3's client with a pool of `connections`; raises SettingsError.

    Unlike boto3's default, it doesn't compare the checksum that S3 stores: that would be most of
    the CPU time of a body. A work order can ask for a checksum.
    """
    return s3_client.build_client(
        region,
        connections,
        requester_pays=requester_pays,
        response_checksum_validation="when_required",
    )


@dataclass
class Span:
    """The bytes from `position` to `end` (exclusive; None: the end of the object).

    `position` moves as bytes are kept, so that a broken body leaves the rest to fetch.
    """

    position: int = 0
    end: int | None = None

    def range_header(self) -> str | None:
        """Return the header Range for these bytes; None for a whole object."""
        if self.position == 0 and self.end is None:
            return None
        return f"bytes={self.position}-{'' if self.end is None else self.end - 1}"


def fetch_span(
    read: ObjectRead, span: Span, slot: Slot, on_answer: Callable[[int], None] = lambda size: None
) -> None:
    """Fetch the span; `on_answer` gets the object's size before the first byte is kept.

    Call it while boto3 is `observed`. Raises boto3's exceptions, ObjectChanged, SizeMismatch, and
    AnswerError for an answer to another request.
    """
    tries, counted, is_answered = 1, span.position, False
    while True:
        body, end = _ask(read, span)
        try:
            if not is_answered:
                on_answer(read.size_bytes)
                is_answered = True
            _receive(read, span, end, body, slot)
            return
        except _BROKEN_OFF:
            if span.position - counted >= PROGRESS_BYTES:
                tries, counted = 1, span.position
            if tries >= ATTEMPTS:
                raise
        finally:
            body.close()  # keeps the connection if the body was read to its end
        read.measurement.wait(pause_s(tries))
        tries += 1


def pause_s(tries: int) -> float:
    """Return the seconds to wait after the attempt number `tries`: random, up to 1, 2, 4 s, as in
    botocore's standard mode."""
    return random.random() * 2 ** (tries - 1)


def _ask(read: ObjectRead, span: Span) -> tuple[Any, int]:
    """Request the rest of the span; returns the body and its end in the object."""
    conditions = {"Range": span.range_header(), "IfMatch": read.etag}
    parameters = {name: value for name, value in conditions.items() if value is not None}
    try:
        answer = read.s3.get_object(Bucket=read.bucket, Key=read.key, **parameters)
    except ClientError as error:
        if is_beyond_the_end(error) and span.position and read.size_bytes is not None:
            raise SizeMismatch(
                f"S3 announced {read.size_bytes} bytes, but has none from byte {span.position} on: "
                "upload the object again"
            ) from None
        raise
    size = _size_bytes(answer, span)
    if size != read.size_bytes:
        raise object_changed()
    return answer["Body"], size if span.end is None else min(size, span.end)


def is_beyond_the_end(error: ClientError) -> bool:
    """Return whether S3 has no byte of the requested range."""
    return error.response["ResponseMetadata"]["HTTPStatusCode"] == 416


def _size_bytes(answer: dict[str, Any], span: Span) -> int:
    """Return the object's size; raises AnswerError if the answer isn't for the span."""
    status, length = answer["ResponseMetadata"]["HTTPStatusCode"], answer.get("ContentLength")
    if length is None:
        raise ConnectionCut(f"S3's answer {status} has no length")
    if span.range_header() is None:
        if status == 200:
            return length
    else:
        first_last, _, size = answer.get("ContentRange", "").removeprefix("bytes ").partition("/")
        if status == 206 and size.isdigit():
            last = int(size) - 1 if span.end is None else min(span.end, int(size)) - 1
            if first_last == f"{span.position}-{last}" and length == last + 1 - span.position:
                return int(size)
    raise AnswerError(
        "GetObject", status, "", "the answer is for another range than the one requested"
    )


def _receive(read: ObjectRead, span: Span, end: int, body: Any, slot: Slot) -> None:
    with read.measurement.interruptible(lambda: _interrupt(body)):
        while span.position < end:
            count = body.readinto(slot.window(span.position, end - span.position))
            if not count:
                raise IncompleteReadError(actual_bytes=span.position, expected_bytes=end)
            slot.keep(span.position, count)
            span.position += count
            read.measurement.count_bytes(count)
    body.read()  # the end: otherwise the connection of an empty body wouldn't be kept


def _interrupt(body: Any) -> None:
    """End a read that waits in another thread; before urllib3 2.3 it waits on."""
    with suppress(AttributeError, OSError, RuntimeError, ValueError):
        body._raw_stream.shutdown()
