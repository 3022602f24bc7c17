"""Fixtures: functions in fresh sandboxes, against a fake of S3."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.s3 import FakeS3, Faults
from tests.unit.functions.lambda_sandbox import LambdaSandbox, Sandbox, set_environment
from tests.unit.functions.transfer.transfer_program import go_sandbox, transfer_program

__all__ = ["go_sandbox", "transfer_program"]


@pytest.fixture
def sandbox_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the environment of a sandbox and return its temporary folder, which is empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    set_environment(monkeypatch, folder)
    return folder


@pytest.fixture
def start_s3(
    sandbox_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., FakeS3]]:
    """Return a function that starts an S3 with an object of a size, or `objects`, and points the
    sandbox at it."""
    with ExitStack() as servers:

        def start(
            object_bytes: int = 0,
            *,
            objects: Mapping[str, bytes] | None = None,
            tls: ssl.SSLContext | None = None,
            **faults: object,
        ) -> FakeS3:
            server = servers.enter_context(FakeS3(object_bytes, Faults(**faults), tls, objects))
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            return server

        yield start


@pytest.fixture
def sandbox(
    sandbox_environment: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Callable[..., Sandbox]:
    """Return a function that starts a fresh sandbox of a method of downloading, with the
    environment as it is then."""

    def start(method: str = "download_file") -> Sandbox:
        monkeypatch.setenv("METHOD", method)
        return (
            request.getfixturevalue("go_sandbox")() if method.startswith("go_") else LambdaSandbox()
        )

    return start
