"""How a verb ends badly: two errors, which the command line prints as one line each, and a reader that has left."""

from __future__ import annotations

import signal

# Nobody reads stdout any more: the status of a program that SIGPIPE ends, such as grep, which shells know. The signal
# itself would end a sweep before its stack is taken down.
EXIT_PIPE = 128 + signal.SIGPIPE


class UsageError(Exception):
    """The input was wrong: names the input, the rule and the way out. Exit status 2."""


class RunError(Exception):
    """The run failed, or can't account for every message. Exit status 1."""


def one_line(error: BaseException) -> str:
    """Fold an exception's text into one line, with its type where the text alone would say nothing."""
    text = " ".join(str(error).split())
    return text or type(error).__name__
