"""The Go program as Lambda takes it."""

import os
import subprocess

import pytest

from tests.unit.functions.transfer.transfer_program import SOURCES


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_function_builds_for_both_processors(architecture, tmp_path):
    binary = tmp_path / "bootstrap"
    environment = os.environ | {"GOOS": "linux", "GOARCH": architecture, "CGO_ENABLED": "0"}
    build = ["go", "build", "-o", str(binary), "."]
    done = subprocess.run(build, cwd=SOURCES, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    machine = {"amd64": 0x3E, "arm64": 0xB7}[architecture]
    assert int.from_bytes(binary.read_bytes()[18:20], "little") == machine  # e_machine of the ELF header
