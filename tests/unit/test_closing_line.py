"""The end of a run of the tests, as `make test-often` counts it: seen in a run of five tiny ones by
two workers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import often

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

@pytest.mark.slow
def test_slow():
    pass

@pytest.fixture
def broken():
    raise OSError

def test_error(broken):
    pass
"""
BAD = {"test_tiny.py::test_bad[a b]", "test_tiny.py::test_error"}


@pytest.fixture
def command(tmp_path):
    (tmp_path / "test_tiny.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\naddopts = -q -m 'not slow'\n")
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.closing_line",
        "-p",
        "no:cacheprovider",
        "-n2",
        str(tmp_path),
    ]


def test_each_failed_test_has_its_command_and_what_was_left_out_its_reason(command):
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    *_, own, last = done.stdout.splitlines()
    assert set(often.failed_tests(done.stdout)) == BAD
    left_out = r"1 slow, see `make test-slow`; 1 skipped \(NO_BROWSER=1\)"
    assert re.fullmatch(rf"Took 0 min \d+ s\. Left out: {left_out}\.", own)
    assert re.fullmatch(r"1 failed, 1 passed, 1 skipped, 1 error in [\d.]+s", last)


def test_a_failure_stops_no_later_run_and_a_run_that_ends_without_a_word_is_one(tmp_path):
    assert often.run_often(2, 1, ["false"], tmp_path / "logs") == {
        "(no test named: see the log)": 2
    }
