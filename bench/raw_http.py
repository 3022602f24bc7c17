"""The limit that a flood can't pass: requests that were built before, written and answered, and nothing else.

One epoll loop on plain sockets. An answer is read as far as it takes to see that it is 200 and complete; nothing is
parsed, signed, retried or written down.
"""

from __future__ import annotations

import selectors
import socket
import urllib.parse
from collections.abc import Iterator, Sequence
from itertools import islice

from bench.errors import BenchError

ANSWER_TIMEOUT_S = 30
READ_BYTES = 65536


def post_all(url: str, requests: Sequence[bytes], connections: int) -> None:
    """Send every request to the server at `url`, one at a time on each connection. Raises BenchError unless all are
    answered with 200."""
    parts = urllib.parse.urlsplit(url)
    left = iter(requests)
    with selectors.DefaultSelector() as selector:
        opened = []
        try:
            for request in islice(left, connections):
                opened.append(socket.create_connection((parts.hostname, parts.port), ANSWER_TIMEOUT_S))
                opened[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(opened[-1], selectors.EVENT_READ, [b""])
                opened[-1].sendall(request)
            waiting = len(opened)
            while waiting:
                waiting -= _take_answers(selector, left)
        finally:
            for connection in opened:
                connection.close()


def _take_answers(selector: selectors.BaseSelector, left: Iterator[bytes]) -> int:
    """Wait for answers and send the next requests; returns how many connections have nothing left to do."""
    ready = selector.select(ANSWER_TIMEOUT_S)
    if not ready:
        raise BenchError(f"no answer within {ANSWER_TIMEOUT_S} s")
    finished = 0
    for key, _ in ready:
        piece = key.fileobj.recv(READ_BYTES)
        received = key.data[0] = key.data[0] + piece
        if not is_whole(received):
            if not piece:
                raise BenchError("the server closed a connection in the middle of an answer")
            continue
        key.data[0] = b""
        request = next(left, None)
        if request is None:
            selector.unregister(key.fileobj)
            finished += 1
        else:
            key.fileobj.sendall(request)
    return finished


def is_whole(received: bytes) -> bool:
    """Whether an answer with a Content-Length is complete. Raises BenchError when it isn't 200."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    if not received.startswith(b"HTTP/1.1 200 "):
        raise BenchError(f"the server answered {received[:80].decode(errors='replace')!r}")
    start = received.lower().find(b"content-length:", 0, end) + len(b"content-length:")
    return len(received) >= end + 4 + int(received[start : received.find(b"\r", start)])
