"""The errors that the command line prints as one line each."""

from __future__ import annotations

from collections.abc import Iterable

from stampede.finding import PROBLEM, Finding


class FixableError(Exception):
    """What is wrong and, if known, the way out: its text is one line, "found; way out". It ends a
    verb with `exit_status`."""

    exit_status = 1

    def __init__(self, found: str, way_out: str = "") -> None:
        super().__init__(f"{found}; {way_out}" if way_out else found)
        self.found, self.way_out = found, way_out


class UsageError(FixableError):
    """The input is wrong, or something that the verb needs is missing: credentials, a free stack,
    its objects. Nothing was started. The text names the input, the rule and the way out."""

    exit_status = 2


class RunError(FixableError):
    """What was started failed, or can't account for every message."""


def refuse_problems(findings: Iterable[Finding], see: str = "") -> None:
    """Raise UsageError, one line, for the first problem of `findings`; `see` says where to find
    the others."""
    problems = [finding for finding in findings if finding.status == PROBLEM]
    if problems:
        more = f" ({len(problems) - 1} more: {see})" if see and len(problems) > 1 else ""
        raise UsageError(f"{problems[0].check}: {problems[0].sentence}{more}")


def one_line(error: BaseException) -> str:
    """An exception's text folded into one line; its type if the text is empty."""
    return " ".join(str(error).split()) or type(error).__name__
