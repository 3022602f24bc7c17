"""The Go program as Lambda runs it: a process that asks a runtime API for its events."""

import json
import os
import queue
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import programs
from tests.fakes.loopback import Loopback, Request
from tests.unit.functions.lambda_sandbox import Sandbox

ANSWER_TIMEOUT_S = 60


@pytest.fixture(scope="session")
def transfer_program() -> Path:
    """functions/transfer built for this machine (a minute the first time, then two seconds)."""
    return Path(programs.transfer())


class RuntimeApi(Loopback):
    """Lambda's runtime API for one sandbox: hands out events, takes answers."""

    def __init__(self) -> None:
        super().__init__()
        self.events: queue.Queue[tuple[str, float]] = queue.Queue()
        self.answers: queue.Queue[dict] = queue.Queue()

    def answer(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.method == "POST":
            self.answers.put(json.loads(request.body))
            return 202, {}, b""
        event, remaining_s = self.events.get()
        deadline_ms = int((time.time() + remaining_s) * 1000)
        headers = {"Lambda-Runtime-Aws-Request-Id": str(uuid.uuid4())}
        return 200, headers | {"Lambda-Runtime-Deadline-Ms": str(deadline_ms)}, event.encode()


class GoSandbox(Sandbox):
    """One sandbox of the Go function, with the environment as it is when it is made."""

    def __init__(self, program: Path, log_path: Path) -> None:
        super().__init__()
        self.api = RuntimeApi().__enter__()
        self._log_path, self._read = log_path, 0
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [program],
                env=os.environ | {"AWS_LAMBDA_RUNTIME_API": self.api.url.removeprefix("http://")},
                stdout=log,
            )

    def deliver(self, event: object, remaining_s: float = 60) -> dict:
        self.api.events.put((json.dumps(event), remaining_s))
        answer = self.api.answers.get(timeout=ANSWER_TIMEOUT_S)
        text = self._log_path.read_text()
        self.log, self._read = text[self._read :], len(text)
        return answer

    def close(self) -> None:
        """End the process, by its id."""
        self._process.kill()
        self._process.wait()
        self.api.__exit__()


@pytest.fixture
def go_sandbox(
    transfer_program: Path, sandbox_environment: Path, tmp_path: Path
) -> Iterator[Callable[[], GoSandbox]]:
    """Return a function that starts a fresh sandbox of the Go function with the environment as it
    is then."""
    started: list[GoSandbox] = []

    def start() -> GoSandbox:
        started.append(GoSandbox(transfer_program, tmp_path / f"go-{len(started)}.log"))
        return started[-1]

    yield start
    for sandbox in started:
        sandbox.close()
