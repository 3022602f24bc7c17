"""What is known of a message as marks in one byte, and what it counts as in the account of its cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

SENT, OK, ERRED, DEAD, UNANSWERED = 1, 2, 4, 8, 16
COMBINATIONS = 32
_PAGE = 4096


def outcome(marks: int) -> str:
    """What a message with these marks counts as; "" for a dead letter of which nothing else is known."""
    if not marks & SENT:
        return "unexpected" if marks & (OK | ERRED) else ""
    if marks & OK:
        return "succeeded"
    if marks & DEAD:
        return "dead_lettered"
    if marks & ERRED:
        return "failed"
    return "unanswered" if marks & UNANSWERED else "unaccounted"


def counts(by_marks: Sequence[int]) -> dict[str, int]:
    """Messages sent, and those of each outcome, where `by_marks[marks]` have exactly these marks."""
    found = {"sent": sum(int(count) for marks, count in enumerate(by_marks) if marks & SENT)}
    for marks, count in enumerate(by_marks):
        if name := outcome(marks):
            found[name] = found.get(name, 0) + int(count)
    return found


class CellMarks:
    """Marks of messages that are numbered from 0 on, one byte a message, in pages.

    Numbers may be far apart (a page holds 4,096). What is no number of a message (a record of a work order that was
    written by hand) is kept one by one.
    """

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._odd: dict[Any, int] = {}
        self.repeated: Counter[int] = Counter()

    def add(self, seq: Any, mark: int) -> None:
        """Set a mark; `repeated[mark]` counts how often it was there already."""
        if type(seq) is not int or seq < 0:
            marks = self._odd.get(seq, 0)
            self._odd[seq] = marks | mark
        else:
            number, place = divmod(seq, _PAGE)
            page = self._pages.get(number)
            if page is None:
                page = self._pages[number] = bytearray(_PAGE)
            marks = page[place]
            page[place] = marks | mark
        if marks & mark:
            self.repeated[mark] += 1

    def of(self, seq: Any) -> int:
        """All marks of a message."""
        if type(seq) is not int or seq < 0:
            return self._odd.get(seq, 0)
        number, place = divmod(seq, _PAGE)
        return self._pages[number][place] if number in self._pages else 0

    def by_marks(self) -> list[int]:
        """How many messages carry exactly which marks; of those without any, none is known."""
        by_marks = [0] * COMBINATIONS
        for marks in range(1, COMBINATIONS):
            by_marks[marks] = sum(page.count(marks) for page in self._pages.values())
        for marks in self._odd.values():
            by_marks[marks] += 1
        return by_marks
