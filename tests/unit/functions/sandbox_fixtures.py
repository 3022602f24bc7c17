"""Fixtures: the function in a fresh sandbox, against a fake of S3."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.fakes.s3 import FakeS3, Faults
from tests.unit.functions.lambda_sandbox import LambdaSandbox, set_environment


@pytest.fixture
def sandbox_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the environment of a sandbox and return its temporary folder, which is empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    set_environment(monkeypatch, folder)
    return folder


@pytest.fixture
def start_s3(sandbox_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeS3]]:
    """Return a function that starts an S3 with an object of a size, or `objects`, and points the sandbox at it."""
    started: list[FakeS3] = []

    def start(
        object_bytes: int = 0,
        *,
        objects: Mapping[str, bytes] | None = None,
        tls: ssl.SSLContext | None = None,
        **faults: object,
    ) -> FakeS3:
        server = FakeS3(object_bytes, Faults(**faults), tls, objects).__enter__()
        started.append(server)
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def sandbox(sandbox_environment: Path) -> Callable[[], LambdaSandbox]:
    """Return a function that starts a fresh sandbox with the environment as it is then."""
    return LambdaSandbox
