"""An SQS that keeps what SendMessageBatch and ChangeMessageVisibility bring, and misbehaves by a script."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
import time
from collections import Counter, deque

from tests.aws_answers import ANSWERS, wire
from tests.fakes.loopback import Connection, ConnectionCut, Loopback

# What one request meets; anything else in the script is a mistake of the test.
OK = "ok"
OK_IN_CHUNKS = "accept, answer in chunks and small pieces"
OK_AND_SAYS_CLOSE = "accept, answer with `Connection: close`, close"
OK_AND_CLOSES = "accept, answer, close without a word"
OK_AND_408 = "accept, answer, send a 408 that nobody asked for, close"
OK_TWICE = "accept, answer two times"
OK_WITH_COOKIE = "accept, answer and set a cookie"
CUT_IN_REQUEST = "read half of the request, cut the connection, accept nothing"
CUT_BEFORE = "read the request, cut the connection, accept nothing"
CUT_AFTER = "accept, then cut the connection"
CUT_IN_ANSWER = "accept, cut the connection in the middle of the answer"
NO_ANSWER = "accept, never answer"
NO_ANSWER_S = 60  # or until the end of the test
DRIPS = "accept, answer one byte after the other without an end"
ENDLESS_HEAD = "accept, answer 200 and headers without an end"
NO_HTTP = "accept, answer something that isn't HTTP"
NO_LENGTH = "accept, answer with a length that is no number"
TOO_LONG = "accept, answer with a megabyte of spaces at the end"
COMPRESSED = "accept, answer 200 with gzip that nobody asked for"
NO_JSON = "accept, answer 200 with something that isn't JSON"
LISTS_HALF = "accept all, list every second entry and say nothing of the others"
ANSWER_BEFORE = "accept nothing, answer what the request before was answered"
UNAVAILABLE = "503, accept nothing"
ERROR_AFTER = "accept, then answer 500"
THROTTLE = "400 ThrottlingException"
THROTTLE_AND_CLOSES = "400 ThrottlingException, close without a word"
THROTTLE_TWICE = "400 ThrottlingException, two times"
TOO_MANY = "429"
FAIL_ODD = "accept every second entry, list the others as Failed"
SENDER_FAULT = "list every entry as Failed with SenderFault"
DENY = "403 AccessDenied"
NO_QUEUE = "400 QueueDoesNotExist"
EXPIRED = "403 ExpiredToken"
REDIRECT = "307 to the same server"

_ACCEPTS_ALL = {OK, OK_IN_CHUNKS, OK_AND_SAYS_CLOSE, OK_AND_CLOSES, OK_AND_408, OK_TWICE, OK_WITH_COOKIE}
_ACCEPTS_ALL |= {CUT_AFTER, CUT_IN_ANSWER, NO_ANSWER, DRIPS, ENDLESS_HEAD, NO_HTTP, NO_LENGTH, NO_JSON, TOO_LONG}
_ACCEPTS_ALL |= {COMPRESSED, ERROR_AFTER}
# What stands on the wire in place of an answer, before the connection is cut.
_RAW = {
    NO_HTTP: b"220 mail.example ESMTP\r\n\r\n",
    NO_LENGTH: b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
}
_ERRORS = {
    THROTTLE: (400, "com.amazon.coral.availability#ThrottlingException"),
    THROTTLE_AND_CLOSES: (400, "com.amazon.coral.availability#ThrottlingException"),
    THROTTLE_TWICE: (400, "com.amazon.coral.availability#ThrottlingException"),
    TOO_MANY: (429, "com.amazonaws.sqs#SlowDown"),
    UNAVAILABLE: (503, "com.amazonaws.sqs#ServiceUnavailable"),
    ERROR_AFTER: (500, "com.amazonaws.sqs#InternalFailure"),
    DENY: (403, "com.amazonaws.sqs#AccessDeniedException"),
    NO_QUEUE: (400, "com.amazonaws.sqs#QueueDoesNotExist"),
    EXPIRED: (403, "com.amazon.coral.service#ExpiredTokenException"),
    REDIRECT: (307, ""),
}
# The same without an end: how it begins, the piece that is repeated, and the seconds between two.
_ENDLESS = {
    DRIPS: (b"Content-Length: 100\r\n\r\n", b" ", 0.05),
    ENDLESS_HEAD: (b"", b"x-more: 1\r\n", 0),
}


def _too_much(entries: list[dict]) -> str:
    """The recorded answer to a batch beyond the limits; "" for one within them."""
    if len(entries) > 10:
        return "sqs-06"
    return "sqs-03" if sum(map(_size, entries)) > 2**20 else ""


def _size(entry: dict) -> int:
    """Bytes of a message: its body, and the name, type and value of each attribute."""
    attributes = entry.get("MessageAttributes", {})
    attribute_parts = [
        part
        for name, attribute in attributes.items()
        for part in (name, attribute["DataType"], attribute["StringValue"])
    ]
    return sum(len(text.encode()) for text in (entry["MessageBody"], *attribute_parts))


class FakeSqs(Loopback):
    """`accepted` are the bodies that it took, `requests` how many requests came, with their headers in `heads` and the
    contents of those that were read in `contents`.

    `script` says what each request meets, also by the id of a recorded answer, in order of arrival, `then` what the
    later ones meet; batches beyond the limits get the recorded refusal; the first `refused_connections` are closed as
    soon as they are made. `visibility_changes` are the calls of ChangeMessageVisibility, `changed_at_s` when each came.
    """

    def __init__(
        self, *script: str, then: str = OK, refused_connections: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(tls)
        self.then = then
        self._script, self._refused = deque(script), refused_connections
        self._lock = threading.Lock()
        self.accepted: list[str] = []
        self.heads: list[dict[str, str]] = []
        self.contents: list[bytes] = []
        self._answer_before = b"{}"
        self.requests = 0
        self.visibility_changes: list[dict] = []
        self.changed_at_s: list[float] = []

    @property
    def queue_url(self) -> str:
        return f"{self.url}/000000000000/queue"

    def copies(self) -> Counter[int]:
        """How many copies of each message (whose body is its number) it accepted."""
        with self._lock:
            return Counter(map(int, self.accepted))

    def accepts_connection(self) -> bool:
        with self._lock:
            self._refused -= 1
            return self._refused < 0

    def exchange(self, http: Connection) -> None:
        with self._lock:
            self.requests += 1
            self.heads.append({name.lower(): value for name, value in http.headers.items()})
            fault = self._script.popleft() if self._script else self.then
        if fault == CUT_IN_REQUEST:
            http.rfile.read(int(http.headers["Content-Length"]) // 2)
            _cut(http)
        request = http.read_request()
        if fault == CUT_BEFORE:
            _cut(http)
        self.contents.append(request.body)
        parameters = json.loads(request.body)
        if request.operation == "ChangeMessageVisibility":
            self.changed_at_s.append(time.time())
            self.visibility_changes.append(parameters)
            status, content = _error(fault) if fault in _ERRORS else (200, b"{}")
        else:
            status, content = self._send_message_batch(fault, parameters["Entries"])
        if fault == ANSWER_BEFORE:
            status, content = 200, self._answer_before
        if fault == TOO_LONG:
            content += b" " * 1_000_000
        self._answer_before = content
        if fault == NO_ANSWER:
            self.stopping.wait(NO_ANSWER_S)
        if fault in (CUT_AFTER, NO_ANSWER):
            _cut(http)
        if fault in _RAW:
            http.wfile.write(_RAW[fault])
            _cut(http)
        if fault in _ENDLESS:
            self._write_without_end(http, *_ENDLESS[fault])
        half = len(content) // 2
        if fault == OK_IN_CHUNKS:
            pieces = [content[:half], content[half:], b""]
            chunks = (part for piece in pieces for part in (f"{len(piece):x}\r\n".encode(), piece + b"\r\n"))
            http.respond(status, {"Transfer-Encoding": "chunked"}, chunks)
            return
        headers = {"Content-Length": str(len(content))}
        if fault == OK_AND_SAYS_CLOSE:
            headers["Connection"] = "close"  # http.server then closes it, too
        if fault == OK_WITH_COOKIE:
            headers["Set-Cookie"] = "session=1; Path=/"
        if fault == REDIRECT:
            headers["Location"] = f"{self.url}/elsewhere"
        if fault == COMPRESSED:
            headers["Content-Encoding"], content = "gzip", gzip.compress(content)
            headers["Content-Length"] = str(len(content))
        http.respond(status, headers, content[:half] if fault == CUT_IN_ANSWER else content)
        if fault in (OK_TWICE, THROTTLE_TWICE):
            self.stopping.wait(0.03)  # the first has been read
            http.respond(status, headers, content)
        if fault == OK_AND_408:
            http.wfile.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        if fault in (CUT_IN_ANSWER, OK_AND_CLOSES, OK_AND_408, THROTTLE_AND_CLOSES):
            _cut(http)

    def _write_without_end(self, http: Connection, begin: bytes, piece: bytes, pause_s: float) -> None:
        http.wfile.write(b"HTTP/1.1 200 OK\r\n" + begin)
        while not self.stopping.wait(pause_s):
            http.wfile.write(piece)
        _cut(http)

    def _send_message_batch(self, fault: str, entries: list[dict]) -> tuple[int, bytes]:
        """Status and content for one batch under `fault`."""
        fault = _too_much(entries) or fault
        if fault in ANSWERS:
            status, _, content = wire(fault)
            return status, _for_entries(content, entries)
        successful = self._accept(entries) if fault in _ACCEPTS_ALL else []
        if fault in _ERRORS:
            return _error(fault)
        if fault == NO_JSON:
            return 200, b"<html>welcome to this hotel's network</html>"
        failed: list[dict] = []
        if fault == LISTS_HALF:
            successful = self._accept(entries)[::2]
        elif fault == FAIL_ODD:
            successful = self._accept(entries[::2])
            failed = [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in entries[1::2]]
        elif fault == SENDER_FAULT:
            failed = [{"Id": entry["Id"], "Code": "InvalidMessageContents", "SenderFault": True} for entry in entries]
        return 200, json.dumps({"Successful": successful, "Failed": failed}).encode()

    def _accept(self, entries: list[dict]) -> list[dict]:
        with self._lock:
            self.accepted += [entry["MessageBody"] for entry in entries]
        return [{"Id": entry["Id"], "MessageId": f"id-{entry['MessageBody']}"} for entry in entries]


def _for_entries(content: bytes, entries: list[dict]) -> bytes:
    """A recorded answer, whose entries were sent as "0" and "1", for those that were sent now."""
    answer = json.loads(content)
    for row in (*answer.get("Successful", ()), *answer.get("Failed", ())):
        row["Id"] = entries[int(row["Id"])]["Id"]
    return json.dumps(answer).encode()


def _error(fault: str) -> tuple[int, bytes]:
    """The message has what a log line of a function may not have: something that a query reads as a record."""
    status, code = _ERRORS[fault]
    return status, json.dumps({"__type": code, "message": f'injected: {fault} {{"concurrency_limit": 1}}'}).encode()


def _cut(http: Connection) -> None:
    if isinstance(http.connection, ssl.SSLSocket):
        http.connection.unwrap()
    http.connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionCut
