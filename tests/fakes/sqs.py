"""An SQS that records SendMessageBatch and ChangeMessageVisibility, and misbehaves according to
a script."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping

from tests.aws_answers import ANSWERS, wire
from tests.fakes.loopback import Connection, ConnectionCut, Loopback

# The faults of one request; anything else in the script is an error in the test. First those that
# accept the batch:
OK = "ok"
OK_AND_CLOSES = "closes"  # then closes the connection without notice
OK_TWICE = "answers twice"
CUT_AFTER = "cut after"  # instead of an answer
CUT_IN_ANSWER = "cut in answer"  # during the answer
NO_ANSWER = "no answer"
NO_ANSWER_S = 60  # at most, until the test ends
DRIPS = "drips"  # an endless answer, byte by byte
ENDLESS_HEAD = "endless head"  # 200 and endless headers
NO_HTTP = "no http"
TOO_LONG = "too long"  # a megabyte of trailing spaces
NO_JSON = "no json"  # 200 with something else
ERROR_AFTER = "error after"  # 500
LISTS_HALF = "lists half"  # every second entry; the others aren't mentioned
# Those that accept none of the batch, or a part:
CUT_BEFORE = "cut before"  # after reading the request
ANSWER_BEFORE = "answer before"  # the answer to the previous request
UNAVAILABLE = "503"
THROTTLE = "throttle"  # 400 ThrottlingException
THROTTLE_TWICE = "throttle twice"
FAIL_ODD = "fail odd"  # accepts every second entry, lists the others as Failed
SENDER_FAULT = "sender fault"  # lists every entry as Failed with SenderFault
DENY = "deny"  # 403 AccessDenied
EXPIRED = "expired"  # 403 ExpiredToken
REDIRECT = "redirect"  # 307 to the same server

_ERRORS = {
    **dict.fromkeys((THROTTLE, THROTTLE_TWICE), (400, "ThrottlingException")),
    UNAVAILABLE: (503, "ServiceUnavailable"),
    ERROR_AFTER: (500, "InternalFailure"),
    DENY: (403, "AccessDeniedException"),
    EXPIRED: (403, "ExpiredTokenException"),
    REDIRECT: (307, ""),
}
_ACCEPTS_NONE = {CUT_BEFORE, ANSWER_BEFORE, SENDER_FAULT, *_ERRORS} - {ERROR_AFTER}
# Endless answers: their beginning, the repeated piece, and the pause in seconds.
_ENDLESS = {
    DRIPS: (b"Content-Length: 9999\r\n\r\n", b" ", 0.05),
    ENDLESS_HEAD: (b"", b"x-more: 1\r\n", 0),
}


class FakeSqs(Loopback):
    """`accepted` holds the bodies of accepted messages, `requests` counts the requests; `heads` and
    `contents` hold their headers and contents.

    `script` lists the fault of each request in order of arrival, or the id of a recorded answer;
    `then` is the fault of all later ones. `visibility_changes` holds the calls of
    ChangeMessageVisibility, `changed_at_s` their times.
    """

    def __init__(self, *script: str, then: str = OK, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.then, self._script = then, deque(script)
        self._lock = threading.Lock()
        self.accepted: list[str] = []
        self.heads: list[Mapping[str, str]] = []
        self.contents: list[bytes] = []
        self._answer_before = b"{}"
        self.visibility_changes: list[dict] = []
        self.changed_at_s: list[float] = []

    @property
    def queue_url(self) -> str:
        return f"{self.url}/000000000000/queue"

    @property
    def requests(self) -> int:
        return len(self.contents)

    def copies(self) -> Counter[int]:
        """How many copies of each message (its body is its number) were accepted."""
        return Counter(map(int, self.accepted))

    def exchange(self, http: Connection) -> None:
        request = http.read_request()
        with self._lock:
            self.heads.append(request.headers)
            self.contents.append(request.body)
            fault = self._script.popleft() if self._script else self.then
            status, content = self._carry_out(fault, request.operation, json.loads(request.body))
        if fault == ANSWER_BEFORE:
            status, content = 200, self._answer_before
        self._answer_before = content
        if fault == NO_ANSWER:
            self.stopping.wait(NO_ANSWER_S)
        if fault == NO_HTTP:
            http.wfile.write(b"220 mail.example ESMTP\r\n\r\n")
        if fault in (CUT_BEFORE, CUT_AFTER, NO_ANSWER, NO_HTTP):
            _cut(http)
        if fault in _ENDLESS:
            self._write_without_end(http, *_ENDLESS[fault])
        self._answer(http, fault, status, content)
        if fault in (OK_TWICE, THROTTLE_TWICE):
            self.stopping.wait(0.03)  # meanwhile the first is read
            self._answer(http, fault, status, content)
        if fault in (CUT_IN_ANSWER, OK_AND_CLOSES):
            _cut(http)

    def _answer(self, http: Connection, fault: str, status: int, content: bytes) -> None:
        content += b" " * (1_000_000 * (fault == TOO_LONG))
        headers = {"Content-Length": str(len(content))}
        if fault == REDIRECT:
            headers["Location"] = "/elsewhere"
        http.respond(status, headers, content[: 100 if fault == CUT_IN_ANSWER else None])

    def _write_without_end(
        self, http: Connection, begin: bytes, piece: bytes, pause_s: float
    ) -> None:
        http.wfile.write(b"HTTP/1.1 200 OK\r\n" + begin)
        while not self.stopping.wait(pause_s):
            http.wfile.write(piece)
        _cut(http)

    def _carry_out(self, fault: str, operation: str, parameters: dict) -> tuple[int, bytes]:
        """Status and content of the answer to a request with `fault`."""
        if operation == "ChangeMessageVisibility":
            self.changed_at_s.append(time.time())
            self.visibility_changes.append(parameters)
            return _error(fault) if fault in _ERRORS else (200, b"{}")
        entries = parameters["Entries"]
        if fault in ANSWERS:
            status, _, content = wire(fault)
            return status, _for_entries(content, entries)
        taken = entries[::2] if fault == FAIL_ODD else [] if fault in _ACCEPTS_NONE else entries
        self.accepted += [entry["MessageBody"] for entry in taken]
        if fault in _ERRORS:
            return _error(fault)
        if fault == NO_JSON:
            return 200, b"<html>welcome to this hotel's network</html>"
        successful = [
            {"Id": entry["Id"], "MessageId": f"id-{entry['MessageBody']}"} for entry in taken
        ]
        refused = {FAIL_ODD: entries[1::2], SENDER_FAULT: entries}.get(fault, [])
        reason = {"Code": "InternalError", "SenderFault": fault == SENDER_FAULT}
        failed = [{"Id": entry["Id"]} | reason for entry in refused]
        listed = successful[::2] if fault == LISTS_HALF else successful
        return 200, json.dumps({"Successful": listed, "Failed": failed}).encode()


def _for_entries(content: bytes, entries: list[dict]) -> bytes:
    """A recorded answer to entries "0" and "1", with the ids of the entries actually sent."""
    answer = json.loads(content)
    for row in (*answer.get("Successful", ()), *answer.get("Failed", ())):
        row["Id"] = entries[int(row["Id"])]["Id"]
    return json.dumps(answer).encode()


def _error(fault: str) -> tuple[int, bytes]:
    """The message contains what a function's log lines mustn't contain: something that a query
    reads as a record."""
    status, code = _ERRORS[fault]
    message = f'injected: {fault} {{"concurrency_limit": 1}}'
    return status, json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": message}).encode()


def _cut(http: Connection) -> None:
    if isinstance(http.connection, ssl.SSLSocket):
        http.connection.unwrap()
    http.connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionCut
