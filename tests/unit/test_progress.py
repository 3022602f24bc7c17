"""Progress on a terminal leaves the terminal as it was."""

import io
import sys

import pytest
from rich.console import Console
from rich.live import Live

from stampede import progress


def test_ctrl_c_during_the_start_of_a_bar_restores_the_cursor(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(progress, "_console", lambda: Console(file=terminal, force_terminal=True))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    presses = [KeyboardInterrupt]

    def refresh(live):
        if presses:
            raise presses.pop()

    monkeypatch.setattr(Live, "refresh", refresh)
    with pytest.raises(KeyboardInterrupt), progress.bar():
        pass
    shown = terminal.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
