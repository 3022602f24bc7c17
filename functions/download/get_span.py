"""Fetches a span of the object's bytes into a sink, in several tries if need be; under `stream` and `ranges`."""

from collections.abc import Callable
from dataclasses import dataclass

from common.failures import AnswerError, ConnectionCut, NoConnection, ReadTimeout, SizeMismatch
from common.retries import RETRIES
from download.connection import Connection, Head
from download.sinks import Slot
from download.transfer import Transfer, object_changed


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


def fetch_span(
    transfer: Transfer, span: Span, slot: Slot, on_answer: Callable[[int], None] = lambda size: None
) -> None:
    """Fetch the span; `on_answer` hears the object's size at the first good answer, before the first byte is kept.

    A try that ends in the middle of the body isn't lost: the next asks for the rest (Range), and only of the same
    object (If-Match). All tries together are at most RETRIES.attempts. Raises what ended the last one.
    """
    for number in range(RETRIES.attempts):
        if number:
            transfer.wait(RETRIES.delay_s(number))
        try:
            _one_try(transfer, span, slot, on_answer, is_retry=number > 0)
            return
        except (ConnectionCut, ReadTimeout, NoConnection, AnswerError) as error:
            transfer.raise_if_stopped()
            is_final = isinstance(error, AnswerError) and not RETRIES.applies_to(error.status, error.code)
            if is_final or number + 1 == RETRIES.attempts:
                raise


def _one_try(transfer: Transfer, span: Span, slot: Slot, on_answer: Callable[[int], None], *, is_retry: bool) -> None:
    transfer.raise_if_stopped()
    connection = transfer.s3.connect()
    is_complete = False
    try:
        with transfer.interruptible(connection.interrupt):
            transfer.count_request(is_retry=is_retry)
            size = _ask(transfer, span, connection)
            if not span.is_answered:
                on_answer(size)
                span.is_answered = True
            _receive(transfer, span, size if span.end is None else min(size, span.end), connection, slot)
        is_complete = True
    finally:
        if is_complete:
            transfer.s3.give_back(connection)
        else:
            connection.close()


def _ask(transfer: Transfer, span: Span, connection: Connection) -> int:
    """Ask for the rest of the span and return the object's size."""
    try:
        head = transfer.s3.get(connection, span.headers(transfer.etag))
    except AnswerError as error:
        raise _meaning(error, transfer, span) from None
    size = _size_bytes(head, span)
    transfer.note_answer(head.headers.get("etag"), size, is_body=True)
    if size != transfer.announced_bytes:
        raise object_changed()
    return size


def _receive(transfer: Transfer, span: Span, end: int, connection: Connection, slot: Slot) -> None:
    receive, window, keep, count_bytes = connection.receive_into, slot.window, slot.keep, transfer.count_bytes
    position = span.position
    while position < end:
        count = receive(window(position, end - position))
        if not count:
            transfer.raise_if_stopped()
            raise ConnectionCut(f"the connection ended at byte {position} of {transfer.announced_bytes}")
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
    raise AnswerError("GetObject", head.status, "", "the answer isn't for the range that was asked for")


def _meaning(error: AnswerError, transfer: Transfer, span: Span) -> Exception:
    """Return what an error answer means here: with If-Match sent, and after bytes were received."""
    if error.status == 412:
        return object_changed()
    if error.status == 416 and span.position and transfer.announced_bytes is not None:
        return SizeMismatch(
            f"S3 announced {transfer.announced_bytes} bytes, but has none from byte {span.position} on: "
            "make the object again"
        )
    return error
