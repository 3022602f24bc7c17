"""Fixtures: functions in fresh sandboxes, against a fake of S3 or a folder as their mount, and the
SQS that hears of failed messages.

What is common to all functions is tested through the download's sandbox where it can be.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import pytest

from tests.fakes.s3 import FakeS3, Faults
from tests.fakes.sqs import FakeSqs
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, LambdaSandbox, Sandbox
from tests.unit.functions.transfer.transfer_program import go_sandbox, transfer_program

__all__ = ["go_sandbox", "transfer_program"]


@pytest.fixture
def sandbox_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the environment of a sandbox and return its temporary folder, which is empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in (ENVIRONMENT | {"TMPDIR": str(folder)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    # boto3 keeps credentials in its default session, which is made once per process, that is per
    # sandbox.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    return folder


@pytest.fixture
def start_s3(
    sandbox_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., FakeS3]]:
    """Return a function that starts an S3 with an object of a size, or `objects`, and points the
    sandbox at it."""
    with ExitStack() as servers:

        def start(object_bytes=0, *, objects=None, tls=None, **faults) -> FakeS3:
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


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """Return the folder that stands in for the mount, with nothing in it."""
    folder = tmp_path / "mount"
    folder.mkdir()
    return folder


@pytest.fixture
def start(
    sandbox_environment: Path, mount: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., LambdaSandbox]:
    """Return a function that starts a sandbox of the copying function with a storage and changes of
    the environment."""

    def start(storage: str, **changes: str) -> LambdaSandbox:
        for name, value in ({"STORAGE": storage, "MOUNT_PATH": str(mount)} | changes).items():
            monkeypatch.setenv(name, value)
        return LambdaSandbox("filesystem", dataset="small")

    return start


@pytest.fixture
def sqs(sandbox_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSqs]:
    """A running SQS that the sandbox's environment names."""
    with FakeSqs() as sqs:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs.url)
        yield sqs
