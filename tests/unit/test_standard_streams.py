"""Output that a terminal, a disk or an encoding doesn't accept."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from stampede.standard_streams import STDOUT, _Stream

FULL = Path("/dev/full")
STAMPEDE = [sys.executable, "-c", "from stampede.cli.start import main; raise SystemExit(main())"]


def test_output_to_a_closed_terminal_is_dropped_without_an_error():
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w") as terminal:
        stream = _Stream(STDOUT, terminal)
        print("seen", file=stream)
        assert os.read(outer, 100) == b"seen\r\n"
        os.close(outer)
        print("lost", file=stream)


@pytest.mark.parametrize("arguments", [["--version"], ["prices"]])
def test_output_on_a_full_disk_is_one_line_and_status_1(arguments):
    with FULL.open("w") as full:
        ended = subprocess.run(
            [*STAMPEDE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    [line] = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert "can't write to standard output (No space left on device)" in line


def test_a_letter_that_the_encoding_lacks_is_replaced():
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([*STAMPEDE, "prices"], env=ascii_only, capture_output=True)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
    assert ended.stdout.isascii()


def test_a_removed_working_folder_is_an_error_of_one_line(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = subprocess.run(
        [*STAMPEDE, "doctor"], cwd=gone, preexec_fn=gone.rmdir, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr.count("\n"), "current folder" in ended.stderr) == (
        2,
        1,
        True,
    )
