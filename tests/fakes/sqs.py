"""An SQS that keeps what SendMessageBatch and ChangeMessageVisibility bring, and misbehaves by a
script."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable

from tests.aws_answers import ANSWERS, wire
from tests.fakes.loopback import Connection, ConnectionCut, Loopback

# What one request meets; anything else in the script is a mistake of the test. First those that are
# accepted:
OK = "ok"
OK_IN_CHUNKS = "chunks"  # answered in chunks and small pieces
OK_AND_SAYS_CLOSE = "says close"  # with `Connection: close`, and closed
OK_AND_CLOSES = "closes"  # closed without a word
OK_AND_408 = "408"  # then a 408 that nobody asked for, and closed
OK_TWICE = "answers twice"
OK_WITH_COOKIE = "cookie"
CUT_AFTER = "cut after"  # instead of an answer
CUT_IN_ANSWER = "cut in answer"  # in the middle of it
NO_ANSWER = "no answer"
NO_ANSWER_S = 60  # or until the end of the test
DRIPS = "drips"  # an answer one byte after the other without an end
ENDLESS_HEAD = "endless head"  # 200 and headers without an end
NO_HTTP = "no http"
NO_LENGTH = "no length"  # a length that is no number
TOO_LONG = "too long"  # a megabyte of spaces at the end
COMPRESSED = "compressed"  # with gzip that nobody asked for
NO_JSON = "no json"  # 200 with something else
ERROR_AFTER = "error after"  # 500
# accepted are all, listed is every second entry, and nothing is said of the others
LISTS_HALF = "lists half"
# Those that aren't, or in part:
CUT_IN_REQUEST = "cut in request"  # of which half was read
CUT_BEFORE = "cut before"  # once the request was read
ANSWER_BEFORE = "answer before"  # what the request before was answered
UNAVAILABLE = "503"
THROTTLE = "throttle"  # 400 ThrottlingException
THROTTLE_AND_CLOSES = "throttle, closes"  # without a word
THROTTLE_TWICE = "throttle twice"
TOO_MANY = "429"
FAIL_ODD = "fail odd"  # every second entry is accepted, the others are listed as Failed
SENDER_FAULT = "sender fault"  # every entry is listed as Failed with SenderFault
DENY = "deny"  # 403 AccessDenied
NO_QUEUE = "no queue"
EXPIRED = "expired"  # 403 ExpiredToken
REDIRECT = "redirect"  # 307 to the same server

_ACCEPTS_ALL = {
    OK,
    OK_IN_CHUNKS,
    OK_AND_SAYS_CLOSE,
    OK_AND_CLOSES,
    OK_AND_408,
    OK_TWICE,
    OK_WITH_COOKIE,
}
_ACCEPTS_ALL |= {
    CUT_AFTER,
    CUT_IN_ANSWER,
    NO_ANSWER,
    DRIPS,
    ENDLESS_HEAD,
    NO_HTTP,
    NO_LENGTH,
    NO_JSON,
    TOO_LONG,
}
_ACCEPTS_ALL |= {COMPRESSED, ERROR_AFTER, LISTS_HALF}
# What stands on the wire in place of an answer, before the connection is cut.
_RAW = {
    NO_HTTP: b"220 mail.example ESMTP\r\n\r\n",
    NO_LENGTH: b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
}
_ERRORS = {
    **dict.fromkeys((THROTTLE, THROTTLE_AND_CLOSES, THROTTLE_TWICE), (400, "ThrottlingException")),
    TOO_MANY: (429, "SlowDown"),
    UNAVAILABLE: (503, "ServiceUnavailable"),
    ERROR_AFTER: (500, "InternalFailure"),
    DENY: (403, "AccessDeniedException"),
    NO_QUEUE: (400, "QueueDoesNotExist"),
    EXPIRED: (403, "ExpiredTokenException"),
    REDIRECT: (307, ""),
}
# The same without an end: how it begins, the piece that is repeated, and the seconds between two.
_ENDLESS = {
    DRIPS: (b"Content-Length: 9999\r\n\r\n", b" ", 0.05),
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
    """`accepted` are the bodies that it took, `requests` how many requests came, with their headers
    in `heads` and the contents of those that were read in `contents`.

    `script` says what each request meets, also by the id of a recorded answer, in order of arrival,
    `then` what the later ones meet; batches beyond the limits get the recorded refusal; the first
    `refused_connections` are closed as soon as they are made. `visibility_changes` are the calls of
    ChangeMessageVisibility, `changed_at_s` when each came.
    """

    def __init__(
        self,
        *script: str,
        then: str = OK,
        refused_connections: int = 0,
        tls: ssl.SSLContext | None = None,
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
        status, content = self._carry_out(fault, request.operation, json.loads(request.body))
        if fault == ANSWER_BEFORE:
            status, content = 200, self._answer_before
        self._answer_before = content
        if fault == NO_ANSWER:
            self.stopping.wait(NO_ANSWER_S)
        if fault in (CUT_AFTER, NO_ANSWER, *_RAW):
            http.wfile.write(_RAW.get(fault, b""))
            _cut(http)
        if fault in _ENDLESS:
            self._write_without_end(http, *_ENDLESS[fault])
        headers, content = self._shaped(fault, content)
        http.respond(status, headers, content)
        if fault in (OK_TWICE, THROTTLE_TWICE):
            self.stopping.wait(0.03)  # the first has been read
            http.respond(status, headers, content)
        if fault == OK_AND_408:
            http.wfile.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        if fault in (CUT_IN_ANSWER, OK_AND_CLOSES, OK_AND_408, THROTTLE_AND_CLOSES):
            _cut(http)

    def _shaped(self, fault: str, content: bytes) -> tuple[dict[str, str], bytes | Iterable[bytes]]:
        """The headers and the content of an answer."""
        more = {
            COMPRESSED: {"Content-Encoding": "gzip"},
            OK_AND_SAYS_CLOSE: {"Connection": "close"},  # http.server then closes it, too
            OK_WITH_COOKIE: {"Set-Cookie": "session=1; Path=/"},
            REDIRECT: {"Location": f"{self.url}/elsewhere"},
        }
        half = len(content) // 2
        if fault == OK_IN_CHUNKS:
            pieces = (content[:half], content[half:], b"")
            return {"Transfer-Encoding": "chunked"}, (
                b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces
            )
        content = content + b" " * 1_000_000 if fault == TOO_LONG else content
        content = gzip.compress(content) if fault == COMPRESSED else content
        headers = {"Content-Length": str(len(content))} | more.get(fault, {})
        return headers, content[:half] if fault == CUT_IN_ANSWER else content

    def _write_without_end(
        self, http: Connection, begin: bytes, piece: bytes, pause_s: float
    ) -> None:
        http.wfile.write(b"HTTP/1.1 200 OK\r\n" + begin)
        while not self.stopping.wait(pause_s):
            http.wfile.write(piece)
        _cut(http)

    def _carry_out(self, fault: str, operation: str, parameters: dict) -> tuple[int, bytes]:
        """Status and content of the answer to a request under `fault`."""
        if operation == "ChangeMessageVisibility":
            self.changed_at_s.append(time.time())
            self.visibility_changes.append(parameters)
            return _error(fault) if fault in _ERRORS else (200, b"{}")
        entries = parameters["Entries"]
        fault = _too_much(entries) or fault
        if fault in ANSWERS:
            status, _, content = wire(fault)
            return status, _for_entries(content, entries)
        accepted = entries if fault in _ACCEPTS_ALL else entries[::2] if fault == FAIL_ODD else []
        successful = self._accept(accepted)
        if fault in _ERRORS:
            return _error(fault)
        if fault == NO_JSON:
            return 200, b"<html>welcome to this hotel's network</html>"
        refused = {FAIL_ODD: entries[1::2], SENDER_FAULT: entries}.get(fault, [])
        reason = {"Code": "InternalError", "SenderFault": fault == SENDER_FAULT}
        listed = successful[::2] if fault == LISTS_HALF else successful
        failed = [{"Id": entry["Id"]} | reason for entry in refused]
        return 200, json.dumps({"Successful": listed, "Failed": failed}).encode()

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
    """The message has what a log line of a function may not have: something that a query reads as a
    record."""
    status, code = _ERRORS[fault]
    message = f'injected: {fault} {{"concurrency_limit": 1}}'
    return status, json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": message}).encode()


def _cut(http: Connection) -> None:
    if isinstance(http.connection, ssl.SSLSocket):
        http.connection.unwrap()
    http.connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionCut
