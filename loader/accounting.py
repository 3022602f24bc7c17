"""Accounting: for every cell, sent = succeeded + failed + in the dead-letter queue; duplicates apart.

A message is identified by (cell, seq), not by SQS's message id: a retry after an unknown outcome makes two SQS
messages out of one work order, and that must show as a duplicate and not as two successes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loader.errors import RunError

Key = tuple[str, int]


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


def account(
    sent: Iterable[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    dead_letters: Iterable[Mapping[str, Any]],
) -> list[CellAccount]:
    """Set sent messages against records and dead letters of one run; one account a cell, in order of sending."""
    sent_keys: dict[Key, None] = {_key(row): None for row in sent}
    ok: Counter[Key] = Counter()
    erred: set[Key] = set()
    for record in records:
        if record["status"] == "ok":
            ok[_key(record)] += 1
        else:
            erred.add(_key(record))
    dead = {_key(row) for row in dead_letters}
    cells = dict.fromkeys(cell for cell, _ in [*sent_keys, *ok, *erred])
    return [_cell_account(cell, sent_keys, ok, erred, dead) for cell in cells]


def _cell_account(cell: str, sent: Mapping[Key, None], ok: Counter[Key], erred: set[Key], dead: set[Key]):
    mine = {key for key in sent if key[0] == cell}
    succeeded = {key for key in mine if ok[key]}
    dead_lettered = (mine - succeeded) & dead
    failed = (mine - succeeded - dead_lettered) & erred
    recorded = {key for key in (*ok, *erred) if key[0] == cell}
    return CellAccount(
        cell=cell,
        sent=len(mine),
        succeeded=len(succeeded),
        failed=len(failed),
        dead_lettered=len(dead_lettered),
        unaccounted=len(mine - succeeded - dead_lettered - failed),
        duplicates=sum(count - 1 for key, count in ok.items() if key[0] == cell and count > 1),
        unexpected=len(recorded - mine),
    )


def check(accounts: Iterable[CellAccount]) -> None:
    """Raise RunError naming the cells in which messages can't be accounted for."""
    open_cells = [one for one in accounts if one.unaccounted]
    if open_cells:
        raise RunError("not every message is accounted for: " + "; ".join(one.sentence() for one in open_cells))


def _key(row: Mapping[str, Any]) -> Key:
    return row["cell"], row["seq"]
