"""The two ways in which a verb ends badly; the command line prints each as one line."""

from __future__ import annotations


class UsageError(Exception):
    """The input is wrong, or something that the verb needs isn't there: credentials, a stack, its objects, a stack that
    no other run uses. Nothing was started. Names it, the rule and the way out. Exit status 2."""


class RunError(Exception):
    """What was started failed, or can't account for every message. Exit status 1."""


def one_line(error: BaseException) -> str:
    """Fold an exception's text into one line, with its type where the text alone would say nothing."""
    text = " ".join(str(error).split())
    return text or type(error).__name__
