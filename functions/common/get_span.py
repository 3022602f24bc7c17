"""Fetches a span of an object's bytes into a slot, in several tries if need be; under every method of our own HTTP."""

from collections.abc import Callable
from dataclasses import dataclass

from common.connection import Connection, Head
from common.failures import AnswerError, ConnectionCut, SizeMismatch
from common.object_read import ObjectRead, object_changed
from common.retries import in_tries
from common.slots import Slot

# What a try must have fetched before it was cut, so that it isn't counted.
PROGRESS_BYTES = 2**20


@dataclass
class Span:
    """The bytes from `position` on, to `end` (not included; None: to the end of the object).

    `position` moves as bytes are kept, so a try that fails leaves what is still to be fetched.
    """

    position: int
    end: int | None
    is_answered: bool = False

    def headers(self, etag: str | None) -> dict[str, str]:
        """Return the headers that ask for what is left, of the object with this ETag only."""
        headers = {}
        if self.position or self.end is not None:
            last = "" if self.end is None else self.end - 1
            headers["range"] = f"bytes={self.position}-{last}"
        if etag is not None:
            headers["if-match"] = etag
        return headers


def fetch_span(read: ObjectRead, span: Span, slot: Slot, on_answer: Callable[[int], None] = lambda size: None) -> None:
    """Fetch the span; `on_answer` hears the object's size at the first good answer, before the first byte is kept.

    A try that ends in the middle of the body isn't lost: the next asks for the rest (Range), and only of the same
    object (If-Match). Tries that fetch less than PROGRESS_BYTES are at most RETRIES.attempts in a row. Raises what
    ended the last one.
    """
    counted = span.position

    def brought_on() -> bool:
        nonlocal counted
        if span.position - counted < PROGRESS_BYTES:
            return False
        counted = span.position
        return True

    in_tries(read.measurement, lambda is_retry: _one_try(read, span, slot, on_answer, is_retry=is_retry), brought_on)


def _one_try(read: ObjectRead, span: Span, slot: Slot, on_answer: Callable[[int], None], *, is_retry: bool) -> None:
    with read.s3.request(read.measurement, is_retry=is_retry) as connection:
        size = _ask(read, span, connection)
        if not span.is_answered:
            on_answer(size)
            span.is_answered = True
        _receive(read, span, size if span.end is None else min(size, span.end), connection, slot)


def _ask(read: ObjectRead, span: Span, connection: Connection) -> int:
    """Ask for the rest of the span and return the object's size."""
    try:
        head = read.s3.get(connection, read.key, span.headers(read.etag))
    except AnswerError as error:
        raise _meaning(error, read, span) from None
    size = _size_bytes(head, span)
    read.note_answer(head.headers.get("etag"), size, is_body=True)
    if size != read.size_bytes:
        raise object_changed()
    return size


def _receive(read: ObjectRead, span: Span, end: int, connection: Connection, slot: Slot) -> None:
    receive, window, keep = connection.receive_into, slot.window, slot.keep
    count_bytes = read.measurement.count_bytes
    position = span.position
    while position < end:
        count = receive(window(position, end - position))
        if not count:
            read.measurement.raise_if_stopped()
            raise ConnectionCut(f"the connection ended at byte {position} of {read.size_bytes}")
        keep(position, count)
        position = span.position = position + count
        count_bytes(count)


def _size_bytes(head: Head, span: Span) -> int:
    """Return the object's size; raises AnswerError when the answer isn't for the bytes asked for."""
    if span.position == 0 and span.end is None:
        if head.status == 200:
            return head.length
    else:
        first_last, _, size = head.headers.get("content-range", "").removeprefix("bytes ").partition("/")
        if head.status == 206 and size.isdigit():
            last = int(size) - 1 if span.end is None else min(span.end, int(size)) - 1
            if first_last == f"{span.position}-{last}" and head.length == last + 1 - span.position:
                return int(size)
    raise AnswerError("GetObject", head.status, "", "the answer is for another range than the one requested")


def _meaning(error: AnswerError, read: ObjectRead, span: Span) -> Exception:
    """Return what an error answer means here: with If-Match sent, and after bytes were received."""
    if error.status == 412:
        return object_changed()
    if error.status == 416 and span.position and read.size_bytes is not None:
        return SizeMismatch(
            f"S3 announced {read.size_bytes} bytes, but has none from byte {span.position} on: upload the object again"
        )
    return error
