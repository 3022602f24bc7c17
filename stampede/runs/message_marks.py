"""One cell's messages as marks: a byte for each, by its number."""

from __future__ import annotations

from collections import Counter
from typing import Any

SENT, OK, ERRED, DEAD, UNANSWERED = 1, 2, 4, 8, 16
_PAGE = 4096


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

    def count(self, *, all_of: int, none_of: int = 0) -> int:
        """How many messages carry all marks of `all_of` and none of `none_of`."""
        wanted = [marks for marks in range(32) if marks & all_of == all_of and not marks & none_of]
        in_pages = sum(page.count(marks) for page in self._pages.values() for marks in wanted)
        return in_pages + sum(marks in wanted for marks in self._odd.values())
