"""A loopback SQS that answers ChangeMessageVisibility as told and keeps what it was asked."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

# What a call meets, besides an HTTP status.
CUT, SILENCE = "cut", "silence"
SILENCE_S = 60


class VisibilityStub:
    """A context manager; `calls` are the parameters of the calls so far, `on_call` hears of each."""

    def __init__(self, answer: int | str = 200) -> None:
        self.answer = answer
        self.calls: list[dict] = []
        self.on_call: Callable[[], None] = lambda: None
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def delays_s(self) -> list[int]:
        """Return the timeouts asked for."""
        return [call["VisibilityTimeout"] for call in self.calls]

    def __enter__(self) -> "VisibilityStub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


def _handler_for(stub: VisibilityStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["X-Amz-Target"] == "AmazonSQS.ChangeMessageVisibility"
            stub.on_call()
            stub.calls.append(body)
            if stub.answer == SILENCE:
                stub.stopping.wait(SILENCE_S)
            if stub.answer in (CUT, SILENCE):
                self.close_connection = True
                return
            error = {"__type": "com.amazonaws.sqs#Refused", "message": '{"concurrency_limit": 1}'}
            answer = b"{}" if stub.answer == 200 else json.dumps(error).encode()
            self.send_response(stub.answer)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return Handler


@pytest.fixture
def sqs(sandbox_environment, monkeypatch):
    """A running stub that the sandbox's environment names."""
    with VisibilityStub() as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", stub.url)
        yield stub
