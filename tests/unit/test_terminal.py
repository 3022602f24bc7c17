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
# What a verb does: progress live or as lines, then data.
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
    """What PROGRAM writes to a terminal, on both streams."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(**program(**environment), stdout=theirs, stderr=theirs, stdin=theirs):
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux' way to say that the other end is closed
            while part := os.read(ours, 65536):
                written += part
    os.close(ours)
    return written.decode()


def test_in_a_pipe_there_is_plain_text_with_problems_last_and_counted_and_progress_as_lines():
    done = subprocess.run(**program(), capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().splitlines() == [
        "[ok]    plan (12 cells)",
        "[warn]  share: 20 %",
        "[fail]  zone: there is no zone; use another",
        "1 problem, 1 warning",
    ]
    assert done.stderr.decode().splitlines() == ["checking", "one line"]


def test_a_terminal_has_colours_and_live_progress_but_with_no_color():
    written = on_a_terminal()
    assert "\x1b[32m[ok]" in written and "\x1b[1;31m[fail]" in written
    assert "\x1b[?25l" in written  # the cursor is hidden while something is drawn
    written = on_a_terminal(NO_COLOR="1")
    assert "\x1b" not in written and "\r" not in written.replace("\r\n", "\n")
    assert "[ok]    plan" in written


def test_what_was_interrupted_ends_in_its_order_though_its_reader_was_too(monkeypatch):
    """As after Ctrl-C in `stampede sweep 2>&1 | tee log`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            terminal.console(stderr=True).print("stopping terraform")


def test_what_a_terminal_would_obey_of_anybodys_words_is_shown(monkeypatch, capsys):
    obeyed = "\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\r\u202e"
    monkeypatch.setattr(progress, "_console", lambda: terminal.console(stderr=True))
    progress.say(f"failed: {obeyed}")
    tables.print_rows([{"@message": f"a line\n{obeyed}"}], "table")
    terminal.tell(f"key{obeyed} done\n\tend")
    assert main(["report", f"nowhere{obeyed}"]) == 2
    written = capsys.readouterr()
    assert set(obeyed) & set(written.out + written.err) <= set("]52;c;cm0=[2J31m")
    assert " done\n\tend\n" in written.out
