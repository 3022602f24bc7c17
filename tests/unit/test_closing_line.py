"""The end of a run of the tests, seen in a run of five tiny ones by two workers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.mark.parametrize("text", ["a b"])
def test_bad(text):
    assert False

def test_good():
    pass

@pytest.mark.skip(reason="NO_BROWSER=1")
def test_page():
    pass
"""
SLOW = """
import pytest

@pytest.mark.slow
def test_slow():
    pass

@pytest.fixture
def broken():
    raise OSError

def test_error(broken):
    pass
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What such a run prints, as lines."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "test_tiny.py").write_text(TESTS)
    (folder / "test_slow.py").write_text(SLOW)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\naddopts = -q -m 'not slow'\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.closing_line", "-p", "no:cacheprovider", "-n2", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_failing_run_names_the_command_that_runs_each_failed_test_alone(lines):
    commands = [line.strip() for line in lines if ".venv/bin/python -m" in line]
    assert sorted(commands) == [
        ".venv/bin/python -m pytest 'test_tiny.py::test_bad[a b]'",
        ".venv/bin/python -m pytest test_slow.py::test_error",
    ]


def test_one_line_above_the_runners_own_says_how_long_it_took_what_was_left_out_and_why(lines):
    *_, ours, last = lines
    left_out = r"1 slow, see `make test-slow`; 1 skipped \(NO_BROWSER=1\)"
    assert re.fullmatch(rf"Took 0 min \d+ s\. Left out: {left_out}\.", ours)
    assert re.fullmatch(r"1 failed, 1 passed, 1 skipped, 1 error in [\d.]+s", last)
