"""Colour and live displays on a terminal; plain text in a pipe, in a file, or with NO_COLOR."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from stampede.standard_streams import plain

# The width of a pipe, in which no line is folded.
ENDLESS = 9999


def tell(text: str) -> None:
    """Print a line of text on stdout."""
    print(plain(text))


def hand_over(text: str) -> None:
    """Print data on stdout: unchanged for a program, plain on a terminal."""
    print(plain(text) if sys.stdout.isatty() else text)


def is_live(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that may get colours and cursor movements
    (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class _Console(Console):
    """A console that ends the program as SIGPIPE would when the reader has left, and is silent
    from then on.

    An interrupted program still cleans up: Ctrl-C has interrupted its reader, such as `tee`, too.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
        error = sys.exc_info()[1]
        while error is not None and not isinstance(error, KeyboardInterrupt):
            error = error.__context__
        if error is None:
            raise SystemExit(128 + signal.SIGPIPE)


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr, as wide as the terminal, or ENDLESS without one."""
    stream = sys.stderr if stderr else sys.stdout
    return _Console(
        stderr=stderr,
        highlight=False,
        width=None if stream.isatty() else ENDLESS,
        color_system="auto" if is_live(stream) else None,
    )


def show(renderable: RenderableType, own: Console | None = None) -> None:
    """Print on stdout, as wide as the console `own`, without trailing blanks."""
    own = own or console()
    with own.capture() as captured:
        own.print(renderable)
    print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))
