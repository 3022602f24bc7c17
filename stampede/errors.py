"""How a verb ends badly: two errors, which the command line prints as one line each, and what they
have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stampede.finding import PROBLEM, Finding


class FixableError(Exception):
    """What is wrong and, where it is known, the way out: its text is one line, "found; way out". A
    verb that it ends has `exit_status`."""

    exit_status = 1

    def __init__(self, found: str, way_out: str = "") -> None:
        super().__init__(f"{found}; {way_out}" if way_out else found)
        self.found, self.way_out = found, way_out


class UsageError(FixableError):
    """The input is wrong, or something that the verb needs isn't there: credentials, a stack, its
    objects, a stack that no other run uses. Nothing was started. Names it, the rule and the way
    out."""

    exit_status = 2


class RunError(FixableError):
    """What was started failed, or can't account for every message."""


def refuse_problems(findings: Iterable[Finding], see: str = "") -> None:
    """Raise UsageError, one line, for the first problem of `findings`; `see` says where the others
    are."""
    problems = [finding for finding in findings if finding.status == PROBLEM]
    if not problems:
        return
    more = f" ({len(problems) - 1} more: {see})" if see and len(problems) > 1 else ""
    found, way_out = f"{problems[0].check}: {problems[0].found}", problems[0].way_out
    raise UsageError(found, f"{way_out}{more}") if way_out else UsageError(f"{found}{more}")


def no_file(path: Path) -> str:
    """What is at a `path` where no file is that can be read from its beginning again, in words."""
    if path.is_dir():
        return f"{path} is a folder"
    return f"{path} is a pipe or a device" if path.exists() else f"there is no file {path}"


def one_line(error: BaseException) -> str:
    """Fold an exception's text into one line, with its type where the text alone would say
    nothing."""
    text = " ".join(str(error).split())
    return text or type(error).__name__
