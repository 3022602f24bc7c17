"""The Go modules' own tests, their formatting and their static checks."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = {
    "tests": "go test ./...",
    "vet": "go vet ./...",
    "formatted": "gofmt -l .",
    "go_mod": "go mod tidy -diff",
}


@pytest.mark.parametrize("module", ["functions/transfer", "bench/front"])
@pytest.mark.parametrize("check", CHECKS)
def test_go_finds_nothing_wrong(module, check):
    done = subprocess.run(
        CHECKS[check].split(), cwd=ROOT / module, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert check == "tests" or done.stdout == ""
