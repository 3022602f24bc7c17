"""Accounting for objects, as messages are accounted for: for every cell, planned = copied + already there + failed.

Of each message one record counts: the first that is ok, as in the report, else the last error. Every object that failed
in it has a row in failed_objects.jsonl. Attempts are told apart by their number; two of one number (SQS had the message
twice) are seen as one. Warm-ups are left out: what they copied is copied again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stampede.experiment.declaration import FAILED_RUN
from stampede.phrases import counted

COUNTS = ("planned", "copied", "already_there", "failed")


@dataclass(frozen=True)
class ObjectsAccount:
    """One cell's account, in objects.

    `listed`: failed ones that have their row. `unaccounted`: planned, and no record says what became of them; a message
    that ended in the dead-letter queue half-way leaves some. `unknown`: messages (not objects) of which no record says
    what was planned. `owing`: messages whose failed objects haven't all been listed.
    """

    planned: int
    copied: int
    already_there: int
    failed: int
    listed: int
    unaccounted: int
    unknown: int
    owing: int

    @property
    def is_open(self) -> bool:
        """Whether something can't be accounted for."""
        return bool(self.unaccounted or self.unknown or self.listed != self.failed)

    @property
    def failed_most(self) -> bool:
        """Whether half of the objects or more failed: then the cell's figures say nothing (docs/copy.md)."""
        return 0 < self.failed >= FAILED_RUN * self.planned

    def sentence(self) -> str:
        """The account as one line of words."""
        line = (
            f"{counted(self.planned, 'object')} planned = {self.copied:,} copied + {self.already_there:,} already "
            f"there + {self.failed:,} failed"
        )
        for count, word in (
            (self.unaccounted, "UNACCOUNTED"),
            (self.unknown, "messages WITHOUT A RECORD of what they planned"),
            (self.failed - self.listed, "failed WITHOUT A ROW in failed_objects.jsonl"),
        ):
            line += f"; {count:,} {word}" if count else ""
        return line


class _Message:
    """What is known of one message: whether it was sent, the counts of the record that counts, and by attempt how many
    objects failed and how many were listed, where that is not none."""

    __slots__ = ("attempt", "counts", "failed", "listed", "rank", "sent")

    def __init__(self) -> None:
        self.sent = False
        self.rank: tuple[bool, int, int] | None = None
        self.attempt: int | None = None
        self.counts: tuple[int | None, ...] = ()
        self.failed: Counter[int] | None = None
        self.listed: Counter[int] | None = None

    def record(self, row: Mapping[str, Any]) -> None:
        attempt = row.get("attempt") or 0
        if failed := row.get("failed") or 0:
            self.failed = self.failed or Counter()
            self.failed[attempt] += failed
        is_ok = row["status"] == "ok"
        sign = -1 if is_ok else 1
        rank = (is_ok, sign * (row.get("finished_at_ms") or 0), sign * attempt)
        if self.rank is None or rank > self.rank or (rank == self.rank and not is_ok):
            planned, *done = (row.get(name) for name in COUNTS)
            self.rank, self.attempt, self.counts = rank, attempt, (planned, *(count or 0 for count in done))

    def list(self, attempt: int) -> None:
        self.listed = self.listed or Counter()
        self.listed[attempt] += 1

    @property
    def missing(self) -> int:
        """Failed objects of the attempt that counts without a row; below 0 for rows of objects that didn't fail."""
        if self.rank is None:
            return 0
        return (self.failed or Counter())[self.attempt] - (self.listed or Counter())[self.attempt]


class ObjectsLedger:
    """What is known of the objects of a run: a few numbers a message, whatever the number of objects. Records and rows
    come in any order and are not kept."""

    def __init__(self) -> None:
        self._messages: dict[str, dict[Any, _Message]] = {}
        self._warm_ups: set[tuple[str, Any]] = set()

    def sent(self, row: Mapping[str, Any]) -> None:
        """A row of sent.jsonl."""
        if row.get("warm_up"):
            self._warm_ups.add((row["cell"], row["seq"]))
        else:
            self._of(row).sent = True

    def record(self, row: Mapping[str, Any]) -> None:
        """A record."""
        if not (row.get("warm_up") or (row["cell"], row["seq"]) in self._warm_ups):
            self._of(row).record(row)

    def failed_object(self, row: Mapping[str, Any]) -> None:
        """A row of failed_objects.jsonl."""
        if (row["cell"], row["seq"]) not in self._warm_ups:
            self._of(row).list(row["attempt"] or 0)

    def account(self, cell: str) -> ObjectsAccount:
        """The account of a cell as it stands."""
        sums, unknown, missing, owing = [0, 0, 0, 0], 0, 0, 0
        for message in self._messages.get(cell, {}).values():
            if message.rank is None or message.counts[0] is None:
                unknown += message.sent
                continue
            sums = [total + count for total, count in zip(sums, message.counts, strict=True)]
            missing += message.missing
            owing += message.missing > 0
        planned, copied, already_there, failed = sums
        return ObjectsAccount(
            planned=planned,
            copied=copied,
            already_there=already_there,
            failed=failed,
            listed=failed - missing,
            unaccounted=planned - copied - already_there - failed,
            unknown=unknown,
            owing=owing,
        )

    def _of(self, row: Mapping[str, Any]) -> _Message:
        return self._messages.setdefault(row["cell"], {}).setdefault(row["seq"], _Message())
