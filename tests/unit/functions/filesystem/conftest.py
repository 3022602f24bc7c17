"""Fixtures: the copying function in a fresh sandbox, with a folder as its mount."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.functions.lambda_sandbox import LambdaSandbox


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
    """Return a function that starts a sandbox with a storage and changes of the environment."""

    def start(storage: str, **changes: str) -> LambdaSandbox:
        monkeypatch.delenv("FILE_NAME", raising=False)
        mount_path = str(mount) if storage in ("efs", "s3files") else ""
        for name, value in ({"STORAGE": storage, "MOUNT_PATH": mount_path} | changes).items():
            monkeypatch.setenv(name, value)
        return LambdaSandbox("filesystem", dataset="small")

    return start
