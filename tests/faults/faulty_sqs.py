"""A loopback SQS that answers SendMessageBatch for real (it keeps what it accepts) and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What one request meets; anything else in the script is a mistake of the test.
OK, CUT_AFTER, CUT_BEFORE, THROTTLE, UNAVAILABLE, FAIL_ODD, SENDER_FAULT, DENY, NO_QUEUE = (
    "ok",
    "accept, then cut the connection",
    "cut the connection, accept nothing",
    "400 ThrottlingException",
    "503",
    "list every second entry as Failed",
    "list every entry as Failed with SenderFault",
    "403 AccessDenied",
    "400 QueueDoesNotExist",
)


class FaultySqs:
    """Use as a context manager; `accepted` are the bodies it took, `requests` how many requests came."""

    def __init__(self, *script: str, then: str = OK) -> None:
        self._script, self._then = deque(script), then
        self._lock = threading.Lock()
        self.accepted: list[str] = []
        self.requests = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.queue_url = f"{self.url}/000000000000/queue"

    def __enter__(self) -> FaultySqs:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _next(self) -> str:
        with self._lock:
            self.requests += 1
            return self._script.popleft() if self._script else self._then

    def _accept(self, entries: list[dict]) -> list[dict]:
        with self._lock:
            self.accepted += [entry["MessageBody"] for entry in entries]
        return [{"Id": entry["Id"], "MessageId": f"id-{entry['MessageBody']}"} for entry in entries]

    def answer(self, fault: str, entries: list[dict]) -> tuple[int, dict]:
        """Status and body for one request under `fault`."""
        if fault in (OK, CUT_AFTER):
            return 200, {"Successful": self._accept(entries), "Failed": []}
        if fault == FAIL_ODD:
            failed = [{"Id": one["Id"], "Code": "InternalError", "SenderFault": False} for one in entries[1::2]]
            return 200, {"Successful": self._accept(entries[::2]), "Failed": failed}
        if fault == SENDER_FAULT:
            failed = [{"Id": one["Id"], "Code": "InvalidMessageContents", "SenderFault": True} for one in entries]
            return 200, {"Successful": [], "Failed": failed}
        status, code = {
            THROTTLE: (400, "com.amazon.coral.availability#ThrottlingException"),
            UNAVAILABLE: (503, "com.amazonaws.sqs#ServiceUnavailable"),
            DENY: (403, "com.amazonaws.sqs#AccessDeniedException"),
            NO_QUEUE: (400, "com.amazonaws.sqs#QueueDoesNotExist"),
        }[fault]
        return status, {"__type": code, "message": f"told to: {fault}"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        sqs = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fault = sqs._next()
                if fault == CUT_BEFORE:
                    self.close_connection = True
                    self.connection.close()
                    return
                status, answer = sqs.answer(fault, body["Entries"])
                if fault == CUT_AFTER:
                    self.close_connection = True
                    self.connection.close()
                    return
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                return

        return Handler
