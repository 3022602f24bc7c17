"""Accounting: for every cell, sent = succeeded + failed + in the dead-letter queue + unanswered; duplicates apart.

A message is identified by (cell, seq), not by SQS's message id: a retry after an unknown outcome makes two SQS
messages out of one work order, and that must show as a duplicate and not as two successes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from experiments import of_run
from stampede.errors import RunError
from stampede.phrases import counted
from stampede.runs.cell_settings import CellSettings
from stampede.runs.failed_objects import FAILED_OBJECTS
from stampede.runs.folder import ABANDONED, UNANSWERED_FILE, RunFolder
from stampede.runs.message_marks import DEAD, ERRED, OK, SENT, UNANSWERED, CellMarks, counts
from stampede.runs.objects_account import ObjectsAccount, ObjectsLedger

# Sums of counts that only grow while a run goes on, and the file of lines without which they are smaller.
_GROWING = (
    ("sent.jsonl", ("sent",)),
    ("records.jsonl", ("succeeded",)),
    ("dead_letters.jsonl", ("succeeded", "dead_lettered")),
    ("records.jsonl", ("succeeded", "dead_lettered", "failed")),
    (UNANSWERED_FILE, ("succeeded", "dead_lettered", "failed", "unanswered")),
    ("records.jsonl", ("duplicates",)),
)

# A cell is given up after so many failed deliveries, of so many messages, before any has succeeded.
FAILED_DELIVERIES, FAILED_MESSAGES = 10, 5


@dataclass(frozen=True)
class CellAccount:
    """One cell's account, in messages.

    `succeeded`: at least one ok record. `dead_lettered`: no ok record and in the dead-letter queue. `failed`: error
    records only, and not (yet) in the dead-letter queue. `unaccounted`: sent, and no trace since. `duplicates`: ok
    records beyond the first of a message (not messages). `unexpected`: messages that left a record but whose
    sending was never confirmed. `foreign`: records whose own settings aren't the cell's (not messages); they are in no
    figure, though their messages have come to their end. `unanswered`: no trace when a drain ended early, and still in
    the queue or in flight. `objects`: where records account for objects too. `without_record`: invocations, not
    messages, of which only Lambda logged how they failed, by kind. `error_records`: deliveries that failed, and
    `commonest_error` what most of them say.
    """

    cell: str
    sent: int
    succeeded: int
    failed: int
    dead_lettered: int
    unaccounted: int
    duplicates: int
    unexpected: int
    foreign: int = 0
    unanswered: int = 0
    objects: ObjectsAccount | None = None
    without_record: Mapping[str, int] = field(default_factory=dict)
    error_records: int = 0
    commonest_error: str = ""

    @property
    def is_open(self) -> bool:
        """Whether something of the cell can't be accounted for."""
        return bool(self.unaccounted or self.foreign or (self.objects and self.objects.is_open))

    def is_failing(self, at_once: int) -> bool:
        """Whether its first messages all failed, and as many as run `at_once`: failures end before successes."""
        messages = self.failed + self.dead_lettered
        is_enough = messages >= max(FAILED_MESSAGES, min(at_once, self.sent))
        return not self.succeeded and is_enough and self.error_records + self.dead_lettered >= FAILED_DELIVERIES

    @property
    def owing(self) -> int:
        """Messages whose log lines haven't all come."""
        return self.unaccounted + self.unanswered + (self.objects.owing if self.objects else 0)

    def as_dict(self) -> dict[str, Any]:
        """The account as it stands in accounting.json."""
        optional, left_out = ("objects", "without_record"), ("error_records", "commonest_error")
        row = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {name: value for name, value in row.items() if value or name not in optional}

    def as_row(self, *, objects: bool) -> dict[str, Any]:
        """The account as a row without nesting, with that of `objects` or without."""
        row = self.as_dict()
        of_objects = row.pop("objects", {})
        if self.without_record:
            row["without_record"] = self._kinds()
        return row | {f"objects_{name}": value for name, value in of_objects.items() if objects}

    def sentence(self) -> str:
        """The account as one line of words."""
        line = (
            f"{self.cell}: {self.sent} sent = {self.succeeded} succeeded + {self.failed} failed + "
            f"{self.dead_lettered} dead-lettered"
        )
        line += f" + {self.unanswered} unanswered" if self.unanswered else ""
        unconfirmed = "messages that were never confirmed as sent"
        foreign = "with settings other than the cell's, LEFT OUT of the figures"
        for count, one, many in (
            (self.unaccounted, "UNACCOUNTED", "UNACCOUNTED"),
            (self.duplicates, "duplicate record", "duplicate records"),
            (self.unexpected, f"record of {unconfirmed}", f"records of {unconfirmed}"),
            (self.foreign, f"record {foreign}", f"records {foreign}"),
        ):
            line += f"; {counted(count, one, many)}" if count else ""
        line += f"; invocations without a record, as Lambda logged them: {self._kinds()}" if self.without_record else ""
        return line + (f"; {self.objects.sentence()}" if self.objects else "")

    def _kinds(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.without_record.items())


class Ledger:
    """What is known of every message of a run, in one byte a message: a million take 1 MB. Rows are read once, in any
    order, and not kept."""

    def __init__(self, objects: ObjectsLedger | None = None) -> None:
        """With `objects` they are accounted for too."""
        self._objects = objects
        self._cells: dict[str, CellMarks] = {}
        self._foreign: Counter[str] = Counter()
        self._errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._examples: dict[str, str] = {}

    def sent(self, row: Mapping[str, Any]) -> None:
        """A row of sent.jsonl."""
        self._mark(row, SENT)
        if self._objects is not None:
            self._objects.sent(row)

    def record(self, row: Mapping[str, Any], *, is_foreign: bool = False) -> None:
        """A record: a success, or an error; `is_foreign` where its settings aren't those of its cell."""
        self._mark(row, OK if row["status"] == "ok" else ERRED)
        self._foreign[row["cell"]] += is_foreign
        if row["status"] == "error":
            kind = str(row.get("error_type"))
            self._errors[row["cell"]][kind] += 1
            self._examples.setdefault(f"{row['cell']} {kind}", str(row.get("error_message")))
        if self._objects is not None:
            self._objects.record(row)

    def dead_letter(self, row: Mapping[str, Any]) -> None:
        """A message that was seen in the dead-letter queue."""
        self._mark(row, DEAD)

    def unanswered(self, row: Mapping[str, Any]) -> None:
        """A message that was in flight without a record when a drain ended early."""
        self._mark(row, UNANSWERED)

    def marks(self, row: Mapping[str, Any]) -> int:
        """What is known of a message."""
        return self._cells[row["cell"]].of(row["seq"]) if row["cell"] in self._cells else 0

    def accounts(self, cells: Collection[str] = ()) -> list[CellAccount]:
        """One account a cell, or of `cells` only, in the order in which their first rows came."""
        accounts = (self._account(name) for name in self._cells if not cells or name in cells)
        return [account for account in accounts if account.sent or account.unexpected]

    def _account(self, cell: str) -> CellAccount:
        marks = self._cells[cell]
        return CellAccount(
            cell=cell,
            **counts(marks.by_marks()),
            duplicates=marks.repeated[OK],
            foreign=self._foreign[cell],
            objects=None if self._objects is None else self._objects.account(cell),
            error_records=self._errors[cell].total(),
            commonest_error=self._commonest_error(cell),
        )

    def _commonest_error(self, cell: str) -> str:
        errors = self._errors[cell]
        if not errors:
            return ""
        [(kind, count)] = errors.most_common(1)
        example = self._examples[f"{cell} {kind}"]
        return f"{cell}: {count:,} of {counted(errors.total(), 'error record')}: {kind}, for example {example}"

    def _mark(self, row: Mapping[str, Any], mark: int) -> None:
        cell = row["cell"]
        if cell not in self._cells:
            self._cells[cell] = CellMarks()
        self._cells[cell].add(row["seq"], mark)


def account(
    sent: Iterable[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    dead_letters: Iterable[Mapping[str, Any]],
    settings: CellSettings | None = None,
    failed_objects: Iterable[Mapping[str, Any]] | None = None,
    unanswered: Iterable[Mapping[str, Any]] = (),
) -> list[CellAccount]:
    """Set sent messages against records and dead letters of one run, and records against the settings of their cells;
    one account a cell, in order of sending. With `failed_objects` (rows, in any number) objects are accounted for."""
    objects = None if failed_objects is None else ObjectsLedger()
    ledger = Ledger(objects)
    for row in sent:
        ledger.sent(row)
    for row in records:
        ledger.record(row, is_foreign=settings is not None and settings.difference(row) is not None)
    for row in dead_letters:
        ledger.dead_letter(row)
    for row in unanswered:
        ledger.unanswered(row)
    for row in failed_objects or ():
        objects.failed_object(row)
    return ledger.accounts()


def stored_accounts(folder: RunFolder) -> list[CellAccount]:
    """The account of a whole run, counted again from what its folder holds."""
    files = (folder.rows(name) for name in ("sent.jsonl", "records.jsonl", "dead_letters.jsonl"))
    description = folder.read_json("run.json", {})
    failed = folder.rows(FAILED_OBJECTS) if of_run(description, folder.path / "run.json").shared_list else None
    return account(*files, CellSettings(description), failed, folder.rows(UNANSWERED_FILE))


def lost_lines(folder: RunFolder, accounts: Iterable[CellAccount]) -> str:
    """Which file has lost lines that accounting.json counted, as `accounts`, counted again, show; "" where none has.
    A cell of which an attempt was set aside has fewer messages by right."""
    added_up = {account.cell: account.as_dict() for account in accounts}
    aside = {row.get("cell") for row in folder.rows(ABANDONED)}
    for stored in folder.read_json("accounting.json", []):
        cell = stored.get("cell")
        for name, summed in _GROWING if cell not in aside else ():
            before, now = (sum(row.get(count, 0) for count in summed) for row in (stored, added_up.get(cell, {})))
            if now < before:
                path = folder.path / name
                how = "has lost lines" if path.exists() else "is missing"
                return (
                    f"{path} {how}: the stored account has {before:,} {' + '.join(summed)} in {cell}, and the files "
                    f"add up to {now:,}; restore that file from a copy"
                )
    return ""


def check(accounts: Iterable[CellAccount]) -> None:
    """Raise RunError naming the cells in which something can't be accounted for, nothing succeeded, or at least half of
    the objects failed."""
    accounts = list(accounts)
    open_cells = [account for account in accounts if account.is_open]
    if open_cells:
        if any(account.unaccounted for account in open_cells):
            what = "not every message is accounted for"
        elif any(account.foreign for account in open_cells):
            what = "some records ran under other settings than their cell's"
        else:
            what = "not every object is accounted for"
        raise RunError(f"{what}: " + "; ".join(account.sentence() for account in open_cells))
    if failed := [account for account in accounts if account.sent and not account.succeeded]:
        why = failed[0].commonest_error or failed[0].sentence()
        raise RunError(f"no message succeeded in {counted(len(failed), 'cell')}: {why}")
    if failed := [account for account in accounts if account.objects and account.objects.failed_most]:
        raise RunError(
            "half of the objects or more failed; failed_objects.jsonl has the reasons: "
            + "; ".join(account.sentence() for account in failed)
        )
