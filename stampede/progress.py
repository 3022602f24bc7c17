"""Progress on stderr, data on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

from stampede.program import as_typed

# Rich takes a tenth of a second to import, and `--help` shows no progress.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_has_details = False


@cache
def _console() -> Console:
    from stampede import terminal

    return terminal.console(stderr=True)


def say(text: str, style: str | None = None) -> None:
    """Print one line of progress to stderr."""
    _console().print(as_typed(text), style=style, markup=False, soft_wrap=True)


def show_details(shown: bool) -> None:
    """Make `detail` print or not: --verbose."""
    global _has_details
    _has_details = shown


def detail(text: str) -> None:
    """Print a line that only --verbose shows, such as a command of Terraform's."""
    if _has_details:
        say(text, style="dim")


@contextmanager
def bar() -> Iterator[Progress]:
    """A progress bar on stderr. Nothing is drawn where stderr isn't a terminal; lines of `say` are
    still printed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from stampede import terminal

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    progress = Progress(
        *columns, console=_console(), disable=not terminal.is_live(sys.stderr), transient=True
    )
    try:
        with progress:
            yield progress
    finally:
        progress.stop()  # else Ctrl-C during its start leaves the cursor hidden


def doing(text: str) -> AbstractContextManager[object]:
    """Show on stderr that a step is in progress: live on a terminal, else as one line."""
    from stampede import terminal

    if terminal.is_live(sys.stderr):
        return _console().status(text)
    say(text)
    return nullcontext()
