"""An HTTP server on loopback, the base of every fake service."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"


class ConnectionCut(Exception):
    """Closes a connection abruptly, during an answer or instead of it."""


@dataclass(frozen=True)
class Request:
    """A received request; `query` has the first value of a repeated parameter."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def operation(self) -> str:
        """The operation of a service that uses the JSON or Query protocol; "" for REST."""
        target = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        return target or parse_qs(self.body.decode(errors="replace")).get("Action", [""])[0]


class Loopback:
    """A context manager that listens at `url` while it is open.

    A fake overrides `answer`, or `exchange` for anything that HTTP forbids.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.url = ""
        self.connections = 0
        self.stopping = threading.Event()  # ends answers that wait
        self._tls = tls

    def answer(self, request: Request) -> tuple[int, dict[str, str], bytes | Iterable[bytes]]:
        """Status, headers, and content; content in pieces needs a Content-Length header."""
        raise NotImplementedError

    def exchange(self, http: Connection) -> None:
        """Answers the next request of a connection."""
        http.respond(*self.answer(http.read_request()))

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(
            (HOST, 0), type("_Connection", (Connection,), {"fake": self})
        )
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if self._tls else 'http'}://{HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()


class JsonService(Loopback):
    """A service with a JSON protocol: a fake has a method for each operation, from its parameters
    to its answer.

    `calls` holds (operation, parameters) in order; `errors` holds the errors of each operation's
    first calls: codes, or "code: message"; "" is no error.
    """

    def __init__(self, errors: Mapping[str, list[str]] | None = None) -> None:
        super().__init__()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.errors = dict(errors or {})

    def answer(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        operation, parameters = request.operation, json.loads(request.body)
        self.calls.append((operation, parameters))
        answer = getattr(self, operation)(parameters)
        errors = self.errors.get(operation)
        if error := errors.pop(0) if errors else "":
            code, _, message = error.partition(": ")
            answer = {"__type": code, "message": message or "in the words of the service"}
        return 400 if "__type" in answer else 200, {}, json.dumps(answer).encode()

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """The parameters of all calls of an operation."""
        return [parameters for called, parameters in self.calls if called == operation]


class Connection(BaseHTTPRequestHandler):
    """A connection to a fake."""

    fake: Loopback
    protocol_version = "HTTP/1.1"
    timeout = 30
    # Otherwise small writes wait for the client's delayed acknowledgement: 40 ms per response.
    disable_nagle_algorithm = True

    def handle(self) -> None:
        self.fake.connections += 1
        with suppress(ConnectionError):  # many tests make the client hang up
            super().handle()

    def do_GET(self) -> None:
        try:
            self.fake.exchange(self)
        except (ConnectionCut, OSError):  # or the client hung up
            self.close_connection = True

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def read_request(self) -> Request:
        url = urlsplit(self.path)
        query = {
            name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()
        }
        return Request(self.command, url.path, query, self.headers, self._read_body())

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def respond(
        self, status: int, headers: Mapping[str, str], content: bytes | Iterable[bytes] = b""
    ) -> None:
        self.send_response(status)
        if isinstance(content, bytes):
            length = {"Content-Length": str(0 if self.command == "HEAD" else len(content))}
            headers, content = length | dict(headers), [content]
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            for piece in content:
                self.wfile.write(piece)

    def log_message(self, *_: Any) -> None:
        """Keeps the tests' output clean."""
