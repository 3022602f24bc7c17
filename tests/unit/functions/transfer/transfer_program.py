"""Builds the Go program, and runs it as Lambda does: a process that asks a runtime API for its events."""

import fcntl
import json
import os
import queue
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.unit.functions.lambda_sandbox import sqs_record

SOURCES = Path(__file__).resolve().parents[4] / "functions" / "transfer"
ANSWER_TIMEOUT_S = 60


@pytest.fixture(scope="session")
def transfer_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """functions/transfer built for this machine (a minute the first time, then two seconds), once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    binary = folder / "transfer"
    with (folder / "transfer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            build_transfer(binary)
    return binary


def build_transfer(binary: Path, **environment: str) -> None:
    """Build functions/transfer into `binary`, or leave nothing there."""
    build = ["go", "build", "-o", str(binary), "."]
    done = subprocess.run(
        build, cwd=SOURCES, env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


class RuntimeApi:
    """Lambda's runtime API for one sandbox: hands out events, takes answers."""

    def __init__(self) -> None:
        self.events: queue.Queue[tuple[str, float]] = queue.Queue()
        self.answers: queue.Queue[tuple[str, dict]] = queue.Queue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


def _handler_for(api: RuntimeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

        def do_GET(self) -> None:
            event, remaining_s = api.events.get()
            self.send_response(200)
            self.send_header("Lambda-Runtime-Aws-Request-Id", str(uuid.uuid4()))
            self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + remaining_s) * 1000)))
            self.send_header("Content-Length", str(len(event.encode())))
            self.end_headers()
            self.wfile.write(event.encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = self._chunks()
            api.answers.put((self.path.rpartition("/")[2], json.loads(body or b"{}")))
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

    return Handler


class GoSandbox:
    """One sandbox of the Go function, with the environment as it is when it is made."""

    def __init__(self, program: Path, log_path: Path) -> None:
        self.api = RuntimeApi()
        self._log_path, self._read = log_path, 0
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [program], env=os.environ | {"AWS_LAMBDA_RUNTIME_API": self.api.address}, stdout=log
            )

    def deliver(self, event: object, remaining_s: float = 60) -> tuple[str, dict]:
        """Hand an event to the function; returns the kind of its answer, `response` or `error`, and the answer."""
        self.api.events.put((json.dumps(event), remaining_s))
        return self.api.answers.get(timeout=ANSWER_TIMEOUT_S)

    def invoke(self, *bodies: str, remaining_s: float = 60, attempt: int = 1) -> tuple[list[dict], list[str]]:
        """Deliver the bodies as one SQS event; as LambdaSandbox.invoke."""
        kind, answer = self.deliver({"Records": [sqs_record(body, attempt) for body in bodies]}, remaining_s)
        assert kind == "response", answer
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return [json.loads(line) for line in self.log().splitlines()], failed

    def log(self) -> str:
        """What the function has printed since the last call."""
        text = self._log_path.read_text()
        new, self._read = text[self._read :], len(text)
        return new

    def close(self) -> None:
        """End the process, by its id."""
        self._process.kill()
        self._process.wait()
        self.api.close()


@pytest.fixture
def go_sandbox(transfer_program: Path, sandbox_environment: Path, tmp_path: Path) -> Iterator[Callable[[], GoSandbox]]:
    """Return a function that starts a fresh sandbox of the Go function with the environment as it is then."""
    started: list[GoSandbox] = []

    def start() -> GoSandbox:
        started.append(GoSandbox(transfer_program, tmp_path / f"go-{len(started)}.log"))
        return started[-1]

    yield start
    for one in started:
        one.close()
