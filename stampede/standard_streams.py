"""Standard output and standard error, wherever they lead: nowhere because the shell closed them, to
a terminal that is closed while a verb runs, to a full disk, or in an encoding without some
letters."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TextIO

# Texts of others may have what moves a terminal's cursor, hides what stood there, or turns its
# direction round: control characters, and those of bidirectional text (Unicode Standard Annex 9).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STDOUT, STDERR = "standard output", "standard error"


def plain(text: str) -> str:
    """`text` with nothing in it that a terminal would act on, but line ends and tabs."""
    return _CONTROL.sub("\ufffd", text)


def prepare() -> None:
    """Let stdout and stderr take everything that is written, in this process from now on."""
    _reopen_closed()
    sys.stdout, sys.stderr = _Stream(STDOUT, sys.stdout), _Stream(STDERR, sys.stderr)


def _reopen_closed() -> None:
    """Lead the standard streams that the shell has closed (`>&-`) nowhere. The next file to be
    opened would have their number otherwise, and take what child processes print."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


class _Stream(io.TextIOWrapper):
    """What a terminal that is closed doesn't take is lost, and ends nothing. Whatever else can't be
    written raises an OSError that names the stream, once; a reader that has left raises
    BrokenPipeError."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._called, self._was_terminal = name, stream.isatty()
        buffer = os.fdopen(stream.fileno(), "wb", closefd=False)
        # An encoding such as ASCII has no multiplication sign: "?" instead of an error.
        super().__init__(
            buffer, encoding=stream.encoding, errors="replace", line_buffering=stream.line_buffering
        )

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._lead_nowhere(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._lead_nowhere(error)

    def _lead_nowhere(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise error
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if not self._was_terminal:
            raise OSError(error.errno, error.strerror, self._called)
