"""Accounting: for every cell, sent = succeeded + failed + in the dead-letter queue; duplicates apart.

A message is identified by (cell, seq), not by SQS's message id: a retry after an unknown outcome makes two SQS
messages out of one work order, and that must show as a duplicate and not as two successes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loader.errors import RunError
from loader.message_marks import DEAD, ERRED, OK, SENT, CellMarks


@dataclass(frozen=True)
class CellAccount:
    """One cell's account, in messages.

    `succeeded`: at least one ok record. `dead_lettered`: no ok record and in the dead-letter queue. `failed`: error
    records only, and not (yet) in the dead-letter queue. `unaccounted`: sent, and no trace since. `duplicates`: ok
    records beyond the first of a message (not messages). `unexpected`: messages that left a record but whose
    sending was never confirmed.
    """

    cell: str
    sent: int
    succeeded: int
    failed: int
    dead_lettered: int
    unaccounted: int
    duplicates: int
    unexpected: int

    def as_dict(self) -> dict[str, Any]:
        """The account as it stands in accounting.json."""
        return asdict(self)

    def sentence(self) -> str:
        """The account as one line of words."""
        line = (
            f"{self.cell}: {self.sent} sent = {self.succeeded} succeeded + {self.failed} failed + "
            f"{self.dead_lettered} dead-lettered"
        )
        for count, word in (
            (self.unaccounted, "UNACCOUNTED"),
            (self.duplicates, "duplicate records"),
            (self.unexpected, "records of messages never confirmed as sent"),
        ):
            line += f"; {count} {word}" if count else ""
        return line


class Ledger:
    """What is known of every message of a run, in one byte a message: a million take 1 MB. Rows are read once, in any
    order, and not kept."""

    def __init__(self) -> None:
        self._cells: dict[str, CellMarks] = {}

    def sent(self, row: Mapping[str, Any]) -> None:
        """A row of sent.jsonl."""
        self._mark(row, SENT)

    def record(self, row: Mapping[str, Any]) -> None:
        """A record: a success, or an error."""
        self._mark(row, OK if row["status"] == "ok" else ERRED)

    def dead_letters(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """All messages in the dead-letter queue at this moment, instead of those told before."""
        for marks in self._cells.values():
            marks.clear(DEAD)
        for row in rows:
            self._mark(row, DEAD)

    def accounts(self, cell: str | None = None) -> list[CellAccount]:
        """One account a cell, or of `cell` only, in the order in which their first rows came."""
        names = self._cells if cell is None else {cell} & self._cells.keys()
        accounts = (_cell_account(name, self._cells[name]) for name in names)
        return [one for one in accounts if one.sent or one.unexpected]

    def _mark(self, row: Mapping[str, Any], mark: int) -> None:
        cell = row["cell"]
        if cell not in self._cells:
            self._cells[cell] = CellMarks()
        self._cells[cell].add(row["seq"], mark)


def account(
    sent: Iterable[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    dead_letters: Iterable[Mapping[str, Any]],
) -> list[CellAccount]:
    """Set sent messages against records and dead letters of one run; one account a cell, in order of sending."""
    ledger = Ledger()
    for row in sent:
        ledger.sent(row)
    for row in records:
        ledger.record(row)
    ledger.dead_letters(dead_letters)
    return ledger.accounts()


def _cell_account(cell: str, marks: CellMarks) -> CellAccount:
    return CellAccount(
        cell=cell,
        sent=marks.count(all_of=SENT),
        succeeded=marks.count(all_of=SENT | OK),
        failed=marks.count(all_of=SENT | ERRED, none_of=OK | DEAD),
        dead_lettered=marks.count(all_of=SENT | DEAD, none_of=OK),
        unaccounted=marks.count(all_of=SENT, none_of=OK | ERRED | DEAD),
        duplicates=marks.repeated[OK],
        unexpected=marks.count(all_of=OK, none_of=SENT) + marks.count(all_of=ERRED, none_of=SENT | OK),
    )


def check(accounts: Iterable[CellAccount]) -> None:
    """Raise RunError naming the cells in which messages can't be accounted for."""
    open_cells = [one for one in accounts if one.unaccounted]
    if open_cells:
        raise RunError("not every message is accounted for: " + "; ".join(one.sentence() for one in open_cells))
