"""A loopback SQS that answers SendMessageBatch for real (it keeps what it accepts) and can be told to misbehave."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import Counter, deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.aws_answers import ANSWERS, wire

# What one request meets; anything else in the script is a mistake of the test.
OK = "ok"
OK_IN_CHUNKS = "accept, answer in chunks and small pieces"
OK_AND_SAYS_CLOSE = "accept, answer with `Connection: close`, close"
OK_AND_CLOSES = "accept, answer, close without a word"
OK_AND_408 = "accept, answer, send a 408 that nobody asked for, close"
CUT_IN_REQUEST = "read half of the request, cut the connection, accept nothing"
CUT_BEFORE = "read the request, cut the connection, accept nothing"
CUT_AFTER = "accept, then cut the connection"
CUT_IN_ANSWER = "accept, cut the connection in the middle of the answer"
NO_ANSWER = "accept, never answer"
NO_HTTP = "accept, answer something that isn't HTTP"
NO_JSON = "accept, answer 200 with something that isn't JSON"
LISTS_HALF = "accept all, list every second entry and say nothing of the others"
UNAVAILABLE = "503, accept nothing"
ERROR_AFTER = "accept, then answer 500"
THROTTLE = "400 ThrottlingException"
THROTTLE_AND_CLOSES = "400 ThrottlingException, close without a word"
TOO_MANY = "429"
FAIL_ODD = "accept every second entry, list the others as Failed"
SENDER_FAULT = "list every entry as Failed with SenderFault"
DENY = "403 AccessDenied"
NO_QUEUE = "400 QueueDoesNotExist"

_ACCEPTS_ALL = {OK, OK_IN_CHUNKS, OK_AND_SAYS_CLOSE, OK_AND_CLOSES, OK_AND_408}
_ACCEPTS_ALL |= {CUT_AFTER, CUT_IN_ANSWER, NO_ANSWER, NO_HTTP, NO_JSON, ERROR_AFTER}
_ERRORS = {
    THROTTLE: (400, "com.amazon.coral.availability#ThrottlingException"),
    THROTTLE_AND_CLOSES: (400, "com.amazon.coral.availability#ThrottlingException"),
    TOO_MANY: (429, "com.amazonaws.sqs#SlowDown"),
    UNAVAILABLE: (503, "com.amazonaws.sqs#ServiceUnavailable"),
    ERROR_AFTER: (500, "com.amazonaws.sqs#InternalFailure"),
    DENY: (403, "com.amazonaws.sqs#AccessDeniedException"),
    NO_QUEUE: (400, "com.amazonaws.sqs#QueueDoesNotExist"),
}


def _too_much(entries: list[dict]) -> str:
    """The recorded answer to a batch beyond the limits; "" for one within them."""
    if len(entries) > 10:
        return "sqs-06"
    return "sqs-03" if sum(len(entry["MessageBody"].encode()) for entry in entries) > 2**20 else ""


class FaultySqs:
    """Use as a context manager; `accepted` are the bodies it took, `requests` how many requests came.

    `script` says what each request meets, also by the id of a recorded answer, in order of arrival, `then` what the
    later ones meet; batches beyond the limits get the recorded refusal; the first
    `refused_connections` are closed as soon as they are made. `heads` are the headers of every request.
    """

    def __init__(
        self, *script: str, then: str = OK, refused_connections: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self._script, self._then, self._refused = deque(script), then, refused_connections
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self.accepted: list[str] = []
        self.heads: list[dict[str, str]] = []
        self.requests = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self.queue_url = f"{self.url}/000000000000/queue"

    def __enter__(self) -> FaultySqs:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def copies(self) -> Counter[int]:
        """How many copies of each message (whose body is its number) it accepted."""
        with self._lock:
            return Counter(map(int, self.accepted))

    def refuses_connection(self) -> bool:
        """Whether this new connection is one of those to close."""
        with self._lock:
            self._refused -= 1
            return self._refused >= 0

    def next_fault(self, headers: dict[str, str]) -> str:
        """What the request that begins now meets."""
        with self._lock:
            self.requests += 1
            self.heads.append(headers)
            return self._script.popleft() if self._script else self._then

    def _accept(self, entries: list[dict]) -> list[dict]:
        with self._lock:
            self.accepted += [entry["MessageBody"] for entry in entries]
        return [{"Id": entry["Id"], "MessageId": f"id-{entry['MessageBody']}"} for entry in entries]

    def answer(self, fault: str, entries: list[dict]) -> tuple[int, bytes]:
        """Status and content for one request under `fault`."""
        fault = _too_much(entries) or fault
        if fault in ANSWERS:
            status, _, content = wire(fault)
            return status, content
        successful = self._accept(entries) if fault in _ACCEPTS_ALL else []
        if fault in _ERRORS:
            status, code = _ERRORS[fault]
            return status, json.dumps({"__type": code, "message": f"told to: {fault}"}).encode()
        if fault == NO_JSON:
            return 200, b"<html>welcome to this hotel's network</html>"
        failed: list[dict] = []
        if fault == LISTS_HALF:
            successful = self._accept(entries)[::2]
        elif fault == FAIL_ODD:
            successful = self._accept(entries[::2])
            failed = [{"Id": one["Id"], "Code": "InternalError", "SenderFault": False} for one in entries[1::2]]
        elif fault == SENDER_FAULT:
            failed = [{"Id": one["Id"], "Code": "InvalidMessageContents", "SenderFault": True} for one in entries]
        return 200, json.dumps({"Successful": successful, "Failed": failed}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"sqs": self})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sqs: FaultySqs

    def handle(self) -> None:
        if self.sqs.refuses_connection():
            return
        try:
            super().handle()
        except OSError:  # the client has gone: what it was told to expect
            self.close_connection = True

    def do_POST(self) -> None:
        fault = self.sqs.next_fault({name.lower(): value for name, value in self.headers.items()})
        length = int(self.headers["Content-Length"])
        if fault == CUT_IN_REQUEST:
            self.rfile.read(length // 2)
            self._cut()
            return
        entries = json.loads(self.rfile.read(length))["Entries"]
        if fault == CUT_BEFORE:
            self._cut()
            return
        status, content = self.sqs.answer(fault, entries)
        if fault == CUT_AFTER:
            self._cut()
        elif fault == NO_ANSWER:
            self.sqs.ended.wait(60)
            self._cut()
        elif fault == NO_HTTP:
            self.wfile.write(b"220 mail.example ESMTP\r\n\r\n")
            self._cut()
        elif fault == OK_IN_CHUNKS:
            self._in_chunks(content)
        else:
            self._in_one(status, content, fault)

    def _in_one(self, status: int, content: bytes, fault: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if fault == OK_AND_SAYS_CLOSE:
            self.send_header("Connection", "close")  # http.server then closes it, too
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == CUT_IN_ANSWER else content)
        if fault == OK_AND_408:
            self.wfile.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        if fault in (CUT_IN_ANSWER, OK_AND_CLOSES, OK_AND_408, THROTTLE_AND_CLOSES):
            self._cut()

    def _in_chunks(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        half = len(content) // 2
        for piece in (content[:half], content[half:], b""):
            for part in (f"{len(piece):x}\r\n".encode(), piece + b"\r\n"):
                self.wfile.write(part)
                self.wfile.flush()

    def _cut(self) -> None:
        self.close_connection = True
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.unwrap()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        return
