"""Progress on stderr, data on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_console = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str, style: str | None = None) -> None:
    """Print one line of progress to stderr."""
    _console.print(text, style=style, markup=False)


@contextmanager
def bar(*columns) -> Iterator[Progress]:
    """A progress display on stderr; where stderr is no terminal nothing is drawn (the lines of `say` remain)."""
    shown = columns or (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    progress = Progress(*shown, console=_console, disable=not sys.stderr.isatty(), transient=True)
    try:
        with progress:
            yield progress
    finally:
        progress.stop()  # Ctrl-C while it starts would leave the cursor hidden
