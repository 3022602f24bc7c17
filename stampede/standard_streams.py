"""Makes standard output and standard error safe to write to: the shell may have closed them, the
terminal may close while a verb runs, the disk may be full, the encoding may lack letters."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TextIO

# Texts from elsewhere may move a terminal's cursor, hide text, or reverse its direction: control
# characters, and those of bidirectional text (Unicode Standard Annex 9).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STDOUT, STDERR = "standard output", "standard error"


def plain(text: str) -> str:
    """`text` without characters that a terminal would act on, except line ends and tabs."""
    return _CONTROL.sub("\ufffd", text)


def prepare() -> None:
    """Replace stdout and stderr of this process by safe ones."""
    _reopen_closed()
    sys.stdout, sys.stderr = _Stream(STDOUT, sys.stdout), _Stream(STDERR, sys.stderr)


def _reopen_closed() -> None:
    """Open /dev/null for the standard streams that the shell closed (`>&-`). Otherwise the next
    file to be opened gets their number, and the output of child processes."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


class _Stream(io.TextIOWrapper):
    """Output to a closed terminal is silently lost. Any other failure to write raises one OSError
    that names the stream, or BrokenPipeError where the reader has left."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._called, self._was_terminal = name, stream.isatty()
        buffer = os.fdopen(stream.fileno(), "wb", closefd=False)
        # ASCII, say, has no multiplication sign: write "?" instead of raising an error.
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
