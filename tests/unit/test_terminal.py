"""Colour and live progress on a terminal; plain text in a pipe, and with NO_COLOR."""

import contextlib
import os
import pty
import subprocess
import sys

from stampede import progress, tables, terminal
from stampede.cli.command_line import main
from stampede.finding import OK, PROBLEM, WARNING, Finding

PLAN, SHARE = Finding("plan", OK, "12 cells"), Finding("share", WARNING, "20 %")
ZONE = Finding("zone", PROBLEM, "there is no zone", "use another")
# The output of a verb: progress, live or as lines, then data.
PROGRAM = f"""
from stampede.finding import Finding
from stampede.progress import bar, doing, say
from stampede.cli.verbs import doctor
with doing("checking"):
    say("one line", style="yellow")
with bar() as progress:
    progress.advance(progress.add_task("cells", total=1, note=""))
doctor.print_checks({[ZONE, PLAN, SHARE, PLAN]!r})
"""


def program(**environment):
    settings = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")
    }
    return {
        "args": [sys.executable, "-c", PROGRAM],
        "env": {**settings, "TERM": "xterm", **environment},
    }


def on_a_terminal(**environment):
    """The output of PROGRAM on a terminal, from both streams."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(**program(**environment), stdout=theirs, stderr=theirs, stdin=theirs):
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux's sign of a closed other end
            while part := os.read(ours, 65536):
                written += part
    os.close(ours)
    return written.decode()


def test_a_pipe_gets_plain_text_with_progress_as_lines_and_counted_problems_last():
    done = subprocess.run(**program(), capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().splitlines() == [
        "[ok]    plan (12 cells)",
        "[warn]  share: 20 %",
        "[fail]  zone: there is no zone; use another",
        "1 problem, 1 warning",
    ]
    assert done.stderr.decode().splitlines() == ["checking", "one line"]


def test_a_terminal_has_colours_and_live_progress_unless_no_color_is_set():
    written = on_a_terminal()
    assert "\x1b[32m[ok]" in written and "\x1b[1;31m[fail]" in written
    assert "\x1b[?25l" in written  # hides the cursor
    written = on_a_terminal(NO_COLOR="1")
    assert "\x1b" not in written and "\r" not in written.replace("\r\n", "\n")
    assert "[ok]    plan" in written


def test_an_interrupted_verb_ends_in_order_even_if_its_reader_is_gone(monkeypatch):
    """As after Ctrl-C in `stampede sweep 2>&1 | tee log`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            terminal.console(stderr=True).print("stopping terraform")


def test_control_characters_in_foreign_text_are_shown_and_not_obeyed(monkeypatch, capsys):
    obeyed = "\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\r\u202e"
    monkeypatch.setattr(progress, "_console", lambda: terminal.console(stderr=True))
    progress.say(f"failed: {obeyed}")
    tables.print_rows([{"@message": f"a line\n{obeyed}"}], "table")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tables.print_rows([{"@message": f"a line\n{obeyed}"}], "csv")
    monkeypatch.undo()
    terminal.tell(f"key{obeyed} done\n\tend")
    assert main(["report", f"nowhere{obeyed}"]) == 2
    written = capsys.readouterr()
    assert set(obeyed) & set(written.out + written.err) <= set("]52;c;cm0=[2J31m")
    assert " done\n\tend\n" in written.out
