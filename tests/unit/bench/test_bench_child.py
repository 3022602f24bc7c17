"""Time, CPU and memory of a whole child process."""

import sys

import pytest

from bench.child import run_child
from bench.errors import BenchError


def python(script):
    return [sys.executable, "-c", script]


def test_sleeping_costs_time_and_no_cpu():
    used = run_child(python("import time; time.sleep(0.5)"))
    assert used["wall_s"] >= 0.5
    assert used["cpu_s"] < 0.4


def test_working_costs_cpu_in_the_child_of_the_child_too():
    script = (
        "import subprocess, sys; "
        "work = 'import time\\nwhile time.process_time() < 0.4: pass'; "
        "subprocess.run([sys.executable, '-c', work])"
    )
    assert 0.4 <= run_child(python(script))["cpu_s"] < 2


def test_peak_memory_is_the_childs_and_not_ours():
    ballast = b"\x01" * (200 * 2**20)  # this process is far larger than the child
    used = run_child(python("pass"))
    assert 2 < used["peak_mb"] < 60
    assert len(ballast) == 200 * 2**20


def test_peak_memory_counts_what_was_freed_again():
    assert run_child(python("x = b'\\x01' * (150 * 2**20); del x"))["peak_mb"] > 150


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/nowhere/client"], "/nowhere/client ended with status 127: can't be started: No such file or directory"),
        (python("raise SystemExit('no such bucket')"), "ended with status 1: no such bucket"),
    ],
)
def test_a_client_that_fails_is_no_measurement(command, said):
    with pytest.raises(BenchError, match=said):
        run_child(command)


def test_a_client_that_hangs_is_ended():
    with pytest.raises(BenchError, match=r"wasn't done after 0.3 s"):
        run_child(python("import time; time.sleep(60)"), timeout_s=0.3)
