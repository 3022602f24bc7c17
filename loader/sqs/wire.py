"""SendMessageBatch on the wire: one HTTP request at a time on a kept-alive connection, and its answer.

It always knows whether a request certainly did nothing (`NotSent`), was answered, or may have been carried out
(`UnknownOutcome`): the flood's promise of no silent duplicates rests on that.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from loader.sqs.connecting import connect
from loader.sqs.signing import Endpoint

# An answer to ten entries takes about 2 KB; anything near this is no SQS.
MAX_ANSWER_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer: status and parsed JSON body (empty where the body is none)."""

    status: int
    body: dict[str, Any]

    @property
    def error_code(self) -> str:
        """The service's error code without its namespace, or "" """
        return str(self.body.get("__type", "")).rpartition("#")[2]


class NotSent(Exception):
    """The connection failed before a byte of the request left: the request certainly did nothing."""


class UnknownOutcome(Exception):
    """The connection failed after the request may have left: it may or may not have been carried out."""


class Connection:
    """One request at a time to the endpoint; opens a stream when there is none, keeps it while the service does."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._stream: _Stream | None = None

    async def post(self, request: bytes) -> Answer:
        """Send a whole HTTP request. Raises NotSent or UnknownOutcome when the connection fails."""
        if self._stream is None or not self._stream.is_open:
            self.close()
            try:
                self._stream = await connect(self._endpoint, lambda: _Stream(self._endpoint.timeout_s))
            except OSError as error:
                raise NotSent(_said(error)) from error
            if not self._stream.is_open:
                raise NotSent("the service closed the connection at once")
        status, content = await self._stream.exchange(request)
        return Answer(status, _parsed(content))

    def close(self) -> None:
        """Close the stream; the next request opens a new one."""
        if self._stream is not None:
            self._stream.close(None)
        self._stream = None


class _Stream(asyncio.Protocol):
    """One open connection. `is_open` turns false as soon as it can't carry another request."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.is_open = False

    def exchange(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the future gets the answer's status and content, or UnknownOutcome."""
        self._answer = self._loop.create_future()
        self._deadline = self._loop.time() + self._timeout_s
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)
        self._transport.write(request)
        return self._answer

    def close(self, why: BaseException | None) -> None:
        """Close at once; a request that waits for its answer gets UnknownOutcome."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(UnknownOutcome(_said(why or EOFError("the service closed the connection"))))

    def connection_made(self, transport: asyncio.Transport) -> None:
        """asyncio: it is open."""
        self._transport, self.is_open = transport, True

    def data_received(self, data: bytes) -> None:
        """asyncio: a piece of the answer; what nobody asked for (a 408 on an idle connection) closes it."""
        if self._answer is None or self._answer.done():
            self.close(None)
            return
        self._received = self._received + data if self._received else data
        self._take(at_end=False)

    def eof_received(self) -> None:
        """asyncio: the service sends nothing more; that may be the end of an answer without a length."""
        if self._answer is not None and not self._answer.done() and self._received:
            self._take(at_end=True)
        self.close(None)

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio: it is gone."""
        self.close(error)

    def _take(self, *, at_end: bool) -> None:
        """Hand the answer over if it is complete."""
        try:
            taken = read_answer(self._received, at_end=at_end)
            if taken is None and len(self._received) > MAX_ANSWER_BYTES:
                raise ValueError(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        except ValueError as error:
            self.close(error)
            return
        if taken is None:
            return
        status, content, keeps = taken
        self._received = b""
        self._answer.set_result((status, content))
        if not keeps:
            self.close(None)

    def _check_deadline(self) -> None:
        """One timer for many requests: when it rings too early for the present one it is set again."""
        self._timer = None
        if self._answer is None or self._answer.done():
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)
        else:
            self.close(TimeoutError(f"no answer within {self._timeout_s:g} s"))


def read_answer(received: bytes, *, at_end: bool) -> tuple[int, bytes, bool] | None:
    """Read one HTTP/1.1 answer (RFC 9112): status, content, and whether the connection can be used again.

    None while it is incomplete; `at_end` says that nothing more will come. Raises ValueError for what is no answer.
    """
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *lines = received[:end].decode("latin-1").split("\r\n")
    protocol, status, *_ = first.split(" ", 2)
    if not protocol.startswith("HTTP/1.") or not (status.isdecimal() and len(status) == 3):
        raise ValueError(f"not an HTTP answer: {first[:80]!r}")
    if status < "200":  # an interim answer; the real one follows
        return read_answer(received[end + 4 :], at_end=at_end)
    headers = {name.lower(): value.strip() for name, _, value in [line.partition(":") for line in lines]}
    start, length = end + 4, headers.get("content-length")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        unpacked = _unchunked(received, start)
        if unpacked is None:
            return None
        content, stop = unpacked
    elif length is not None:
        if not length.isdecimal():
            raise ValueError(f"content-length: {length[:80]!r}")
        stop = start + int(length)
        if len(received) < stop:
            return None
        content = received[start:stop]
    else:
        return (int(status), received[start:], False) if at_end else None
    keeps = protocol == "HTTP/1.1" and headers.get("connection", "").lower() != "close" and len(received) == stop
    return int(status), content, keeps


def _unchunked(received: bytes, start: int) -> tuple[bytes, int] | None:
    """The content of a chunked answer and where it ends (RFC 9112, 7.1), or None while it is incomplete."""
    content = b""
    while (line_end := received.find(b"\r\n", start)) >= 0:
        size = int(received[start:line_end].split(b";")[0], 16)
        if size < 0:
            raise ValueError("a chunk of negative size")
        start = line_end + 2
        if size == 0:
            return _after_trailers(content, received, start)
        content += received[start : start + size]
        start += size + 2
    return None


def _after_trailers(content: bytes, received: bytes, start: int) -> tuple[bytes, int] | None:
    while (line_end := received.find(b"\r\n", start)) >= 0:
        if line_end == start:
            return content, line_end + 2
        start = line_end + 2
    return None


def _said(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content.decode())
    except ValueError:
        return {"message": content[:200].decode(errors="replace")}
    return body if isinstance(body, dict) else {}
