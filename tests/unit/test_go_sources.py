"""The Go modules' own tests, their formatting and their static checks."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
every_module = pytest.mark.parametrize("module", ["functions/transfer", "bench/front"])


def go(module: str, *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=ROOT / module, capture_output=True, text=True, timeout=600, check=False
    )


@every_module
def test_the_go_tests_pass(module):
    done = go(module, "go", "test", "./...")
    assert done.returncode == 0, done.stdout + done.stderr


@every_module
def test_go_vet_finds_nothing(module):
    done = go(module, "go", "vet", "./...")
    assert (done.returncode, done.stderr) == (0, "")


@every_module
def test_every_go_file_is_formatted(module):
    done = go(module, "gofmt", "-l", ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@every_module
def test_go_mod_names_what_the_code_needs_and_nothing_else(module):
    done = go(module, "go", "mod", "tidy", "-diff")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
