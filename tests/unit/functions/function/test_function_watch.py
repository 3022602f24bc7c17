"""The watch over invocations that run into the timeout: one thread for all of a sandbox."""

import threading
import time

import pytest

from tests.unit.functions.function.test_function_wrapper import FUNCTIONS


@pytest.fixture
def watch(monkeypatch):
    """A watch, and the times at which it found an invocation late."""
    monkeypatch.syspath_prepend(str(FUNCTIONS))
    from function.watch import Watch

    late = []
    made = Watch(lambda: late.append(time.monotonic()))
    made.late = late
    return made


def test_only_what_still_runs_at_its_deadline_is_late_and_only_once(watch):
    before = threading.active_count()
    for _ in range(3):
        watch.begin(time.monotonic() + 0.05)
        watch.end()
        time.sleep(0.02)
    deadline_s = time.monotonic() + 0.1
    watch.begin(deadline_s)
    time.sleep(0.3)
    assert [0 <= late_s - deadline_s < 0.1 for late_s in watch.late] == [True]
    assert threading.active_count() == before + 1


def test_a_deadline_before_that_of_an_invocation_that_ended_is_kept(watch):
    watch.begin(time.monotonic() + 30)
    watch.end()
    watch.begin(time.monotonic() + 0.05)
    time.sleep(0.2)
    assert len(watch.late) == 1
