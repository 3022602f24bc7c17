"""The Go module's own tests, its formatting and its static checks."""

import os
import subprocess

import pytest

from tests.unit.functions.transfer.transfer_program import SOURCES


def go(*command: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=SOURCES, env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_the_go_tests_pass():
    done = go("go", "test", "./...")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_go_vet_finds_nothing(system):
    done = go("go", "vet", "./...", GOOS=system, CGO_ENABLED="0")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_go_file_is_formatted():
    done = go("gofmt", "-l", ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_go_mod_names_what_the_code_needs_and_nothing_else():
    done = go("go", "mod", "tidy", "-diff")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_function_builds_for_both_processors(architecture, tmp_path):
    binary = tmp_path / "bootstrap"
    done = go("go", "build", "-o", str(binary), ".", GOOS="linux", GOARCH=architecture, CGO_ENABLED="0")
    assert done.returncode == 0, done.stderr
    machine = {"amd64": 0x3E, "arm64": 0xB7}[architecture]
    assert int.from_bytes(binary.read_bytes()[18:20], "little") == machine  # e_machine of the ELF header
