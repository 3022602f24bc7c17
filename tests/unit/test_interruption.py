"""SIGTERM and a closed terminal end a verb as one Ctrl-C does."""

import asyncio
import contextlib
import os
import pty
import signal
import sys
import time

import pytest

from stampede import interruption
from stampede.interruption import SAME_WITHIN_S, Signals
from tests.fakes.own_sleep import replace_sleep

# `prices` prints that it works, and waits; all else is unchanged.
WAITING = """
import sys, time
from stampede.cli import start
from stampede.cli.verbs import prices

def run(arguments):
    print("at work", flush=True)
    while True:
        time.sleep(0.01)

prices.run, sys.argv = run, ["stampede", "prices"]
sys.exit(start.main())
"""


@pytest.fixture
def signals(monkeypatch):
    """This process's signal handlers, and a clock that the test moves."""
    hook = sys.unraisablehook
    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    heard = Signals()
    heard.now_s = 0.0
    replace_sleep(monkeypatch, interruption, time.sleep, clock=lambda: heard.now_s)
    heard.listen()
    yield heard
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "interrupted by SIGTERM"),
        (signal.SIGHUP, 129, "interrupted by SIGHUP"),
    ],
)
def test_each_signal_acts_as_ctrl_c_and_has_the_status_that_shells_expect(
    signals, number, status, words
):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert (signals.exit_status, signals.words) == (status, words)


def test_an_event_loop_ends_its_task_first_as_with_ctrl_c(signals):
    done = []

    async def work():
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            done.append("in order")
            raise

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert done == ["in order"]


def test_sigterm_interrupts_even_if_a_shell_ignores_ctrl_c(signals):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_a_closed_terminal_stays_ignored_under_nohup(signals):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signals.listen()
    signal.raise_signal(signal.SIGHUP)
    assert signals.first is None


def test_two_signals_at_once_count_as_one_and_a_later_one_as_a_second(signals):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)  # timeout(1) also signals the group
    signals.now_s += SAME_WITHIN_S
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_a_closed_terminal_never_interrupts_the_cleanup(signals):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signals.now_s += SAME_WITHIN_S
    signal.raise_signal(signal.SIGHUP)
    assert signals.first == signal.SIGTERM


class Collected:
    """Raises a signal where Python drops every exception, as in the callback of an import."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def test_an_interruption_that_python_drops_is_repeated(signals, capsys):
    def wait():
        Collected()
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert (signals.exit_status, capsys.readouterr().err) == (143, "")


def test_an_interrupted_verb_says_so_in_one_line():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", WAITING])
    seen = b""
    while b"at work" not in seen:
        seen += os.read(terminal, 1000)
    os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(OSError):  # Linux's sign of a closed other end
        while part := os.read(terminal, 1000):
            seen += part
    os.close(terminal)
    assert seen == b"at work\r\nstampede prices: interrupted by SIGTERM\r\n"
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
