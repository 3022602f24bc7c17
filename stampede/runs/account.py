"""What became of every message of a run: sent = succeeded + failed + dead-lettered + unanswered,
duplicates apart.

A message is identified by (cell, seq), not by SQS's id: a retry after an unknown outcome makes two
SQS messages of one work order, which must count as a duplicate and not as two successes. Each count
is a query over the run's store. Objects have an account too: planned = copied + already there +
failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stampede.errors import RunError
from stampede.experiment import FAILED_RUN
from stampede.phrases import counted
from stampede.runs.folder import ABANDONED, UNANSWERED_FILE, RunFolder
from stampede.runs.store import Store, open_store

# Sums of counts that never shrink during a run, and the file whose loss would make them smaller.
_GROWING = (
    ("sent.jsonl", ("sent",)),
    ("records.jsonl", ("succeeded",)),
    ("dead_letters.jsonl", ("succeeded", "dead_lettered")),
    ("records.jsonl", ("succeeded", "dead_lettered", "failed")),
    (UNANSWERED_FILE, ("succeeded", "dead_lettered", "failed", "unanswered")),
    ("records.jsonl", ("duplicates",)),
)

# A cell is given up after this many failed deliveries of this many messages without a success.
FAILED_DELIVERIES, FAILED_MESSAGES = 10, 5
OBJECT_COUNTS = ("planned", "copied", "already_there", "failed")


@dataclass(frozen=True)
class ObjectsAccount:
    """One cell's account, in objects.

    `listed`: failed objects with a row in failed_objects.jsonl. `unaccounted`: planned, but no
    record says what became of them, for example because the message became a dead letter half-way.
    `unknown`: messages (not objects) without a record of what they planned. `owing`: messages whose
    failed objects haven't all been listed.
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
        """Whether at least half of the objects failed: the cell's figures are then meaningless
        (docs/copy.md)."""
        return 0 < self.failed >= FAILED_RUN * self.planned

    def sentence(self) -> str:
        """The account as one line of text."""
        line = (
            f"{counted(self.planned, 'object')} planned = {self.copied:,} copied + "
            f"{self.already_there:,} already there + {self.failed:,} failed"
        )
        for count, word in (
            (self.unaccounted, "UNACCOUNTED"),
            (self.unknown, "messages WITHOUT A RECORD of what they planned"),
            (self.failed - self.listed, "failed WITHOUT A ROW in failed_objects.jsonl"),
        ):
            line += f"; {count:,} {word}" if count else ""
        return line


@dataclass(frozen=True)
class CellAccount:
    """One cell's account, in messages.

    `succeeded`: at least one ok record. `dead_lettered`: no ok record, and in the dead-letter
    queue. `failed`: only error records, and not (yet) in the dead-letter queue. `unaccounted`: sent
    and without a trace. `duplicates`: ok records (not messages) beyond the first of a message.
    `unexpected`: messages with a record whose sending was never confirmed. `foreign`: records (not
    messages) with settings other than the cell's; they are in no figure, though their messages are
    finished. `unanswered`: without a trace, and still in the queue or in flight when a drain ended
    early. `objects`: the account of objects, if the experiment has one. `without_record`:
    invocations (not messages) whose failure only Lambda logged, by kind. `error_records`: failed
    deliveries; `commonest_error` is the most frequent failure among them.
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
        """Whether a message or object of the cell can't be accounted for."""
        return bool(self.unaccounted or self.foreign or (self.objects and self.objects.is_open))

    def is_failing(self, at_once: int) -> bool:
        """Whether its first messages all failed, at least as many as run `at_once`: failures end
        before successes."""
        messages = self.failed + self.dead_lettered
        deliveries = self.error_records + self.dead_lettered
        is_enough = messages >= max(FAILED_MESSAGES, min(at_once, self.sent))
        return not self.succeeded and is_enough and deliveries >= FAILED_DELIVERIES

    @property
    def owing(self) -> int:
        """Messages whose log lines haven't all come."""
        return self.unaccounted + self.unanswered + (self.objects.owing if self.objects else 0)

    def as_dict(self) -> dict[str, Any]:
        """The account as in accounting.json."""
        optional, left_out = ("objects", "without_record"), ("error_records", "commonest_error")
        row = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {name: value for name, value in row.items() if value or name not in optional}

    def as_row(self, *, objects: bool) -> dict[str, Any]:
        """The account as a row without nesting; `objects` includes theirs."""
        row = self.as_dict()
        of_objects = row.pop("objects", {})
        if self.without_record:
            row["without_record"] = self._kinds()
        return row | {f"objects_{name}": value for name, value in of_objects.items() if objects}

    def sentence(self) -> str:
        """The account as one line of text."""
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
        if self.without_record:
            line += f"; invocations without a record, as Lambda logged them: {self._kinds()}"
        return line + (f"; {self.objects.sentence()}" if self.objects else "")

    def _kinds(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.without_record.items())


# One row per message; `place` is the position of its first line, in the order of the tables.
_MESSAGES = """
CREATE OR REPLACE TEMP VIEW messages AS
SELECT cell, seq, min(place) AS place,
       bool_or(source = 'sent') AS is_sent, count(*) FILTER (source = 'ok') AS successes,
       bool_or(source = 'error') AS has_failed, bool_or(source = 'letter') AS is_dead,
       bool_or(source = 'unanswered') AS is_silent
FROM (
    SELECT cell, seq, 'sent' AS source, line AS place FROM sent
    UNION ALL SELECT cell, seq, CASE status WHEN 'ok' THEN 'ok' ELSE 'error' END, line + 1e12
        FROM records WHERE status IS NOT NULL
    UNION ALL SELECT cell, seq, 'letter', line + 2e12 FROM letters
    UNION ALL SELECT cell, seq, 'unanswered', line + 3e12 FROM unanswered
)
WHERE cell IS NOT NULL AND seq IS NOT NULL GROUP BY cell, seq
"""
# `unexpected`: has a record, but no confirmation that it was sent.
_COUNTS = """
SELECT cell, count(*) FILTER (is_sent) AS sent,
       count(*) FILTER (is_sent AND successes > 0) AS succeeded,
       count(*) FILTER (is_sent AND successes = 0 AND is_dead) AS dead_lettered,
       count(*) FILTER (is_sent AND successes = 0 AND NOT is_dead AND has_failed) AS failed,
       count(*) FILTER (is_sent AND successes = 0 AND NOT is_dead AND NOT has_failed AND is_silent)
           AS unanswered,
       count(*) FILTER (is_sent AND successes = 0 AND NOT is_dead AND NOT has_failed
           AND NOT is_silent) AS unaccounted,
       count(*) FILTER (NOT is_sent AND (successes > 0 OR has_failed)) AS unexpected,
       sum(greatest(successes - 1, 0)) AS duplicates
FROM messages GROUP BY cell HAVING sent + unexpected > 0 ORDER BY min(place)
"""
_ERRORS = """
SELECT cell, sum(count(*)) OVER (PARTITION BY cell)::BIGINT, coalesce(error_type, 'None') AS kind,
       count(*), arg_min(coalesce(error_message, 'None'), line)
FROM records WHERE status = 'error' GROUP BY cell, kind ORDER BY count(*) DESC, min(line)
"""
_FOREIGN = """
SELECT cell, count(*) FROM records JOIN combinations USING (combination)
WHERE is_foreign GROUP BY cell
"""
# One record of each message counts: the first success, else the last error. Warm-ups are left out.
_OBJECTS = """
WITH own AS (
    SELECT * FROM records WHERE coalesce(warm_up, 0) = 0
        AND (cell, seq) NOT IN (SELECT (cell, seq) FROM sent WHERE coalesce(warm_up, 0) <> 0)
), counting AS (
    SELECT cell, seq, coalesce(attempt, 0) AS attempt, planned, coalesce(copied, 0) AS copied,
           coalesce(already_there, 0) AS already_there, coalesce(failed, 0) AS failed
    FROM own QUALIFY row_number() OVER (PARTITION BY cell, seq ORDER BY status = 'ok' DESC,
        CASE WHEN status = 'ok' THEN coalesce(finished_at_ms, 0)
            ELSE -coalesce(finished_at_ms, 0) END,
        CASE WHEN status = 'ok' THEN coalesce(attempt, 0) ELSE -coalesce(attempt, 0) END,
        CASE WHEN status = 'ok' THEN line ELSE -line END) = 1
), failed_by_attempt AS (
    SELECT cell, seq, coalesce(attempt, 0) AS attempt, sum(coalesce(failed, 0)) AS failed_objects
        FROM own GROUP BY ALL
), listed_by_attempt AS (
    SELECT cell, seq, coalesce(attempt, 0) AS attempt, count(*) AS listed FROM failed_objects
    WHERE (cell, seq) NOT IN (SELECT (cell, seq) FROM sent WHERE coalesce(warm_up, 0) <> 0)
        GROUP BY ALL
), known AS (
    SELECT *, coalesce(failed_objects, 0) - coalesce(listed, 0) AS missing
    FROM counting LEFT JOIN failed_by_attempt USING (cell, seq, attempt)
    LEFT JOIN listed_by_attempt USING (cell, seq, attempt)
), silent AS (
    SELECT cell, count(*) AS messages FROM (
        SELECT DISTINCT cell, seq FROM sent WHERE coalesce(warm_up, 0) = 0
        EXCEPT SELECT cell, seq FROM known WHERE planned IS NOT NULL) GROUP BY cell
), summed AS (
    SELECT cell, sum(planned) AS planned, sum(copied) AS copied,
           sum(already_there) AS already_there, sum(failed) AS failed, sum(missing) AS missing,
           count(*) FILTER (missing > 0) AS owing
    FROM known WHERE planned IS NOT NULL GROUP BY cell
)
SELECT cell, planned, copied, already_there, failed, failed - missing AS listed,
       planned - copied - already_there - failed AS unaccounted, messages AS unknown, owing
FROM summed FULL JOIN silent USING (cell)
"""


def account(store: Store) -> list[CellAccount]:
    """One account per cell, in the order of their first messages."""
    store.connection.execute(_MESSAGES)
    errors, foreign = _errors(store), dict(store.rows(_FOREIGN))
    objects = _objects(store) if store.experiment.shared_list else {}
    none = ObjectsAccount(*[0] * 8) if store.experiment.shared_list else None
    return [
        CellAccount(
            **counts,
            **errors.get(counts["cell"], {}),
            foreign=foreign.get(counts["cell"], 0),
            objects=objects.get(counts["cell"], none),
        )
        for counts in _counts(store, _COUNTS)
    ]


def _counts(store: Store, query: str) -> list[dict[str, Any]]:
    """The rows of a query as dicts: a cell, and whole numbers."""
    rows = store.connection.execute(query)
    names = [name for name, *_ in rows.description]
    return [
        {
            name: value if name == "cell" else int(value or 0)
            for name, value in zip(names, row, strict=True)
        }
        for row in rows.fetchall()
    ]


def _errors(store: Store) -> dict[str, dict[str, Any]]:
    """By cell, the number of error records, and the most frequent failure in words."""
    errors: dict[str, dict[str, Any]] = {}
    for cell, total, kind, count, example in store.rows(_ERRORS):
        of_all = f"{count:,} of {counted(total, 'error record')}"
        commonest = f"{cell}: {of_all}: {kind}, for example {example}"
        errors.setdefault(cell, {"error_records": total, "commonest_error": commonest})
    return errors


def _objects(store: Store) -> dict[str, ObjectsAccount]:
    return {row.pop("cell"): ObjectsAccount(**row) for row in _counts(store, _OBJECTS)}


def stored_accounts(folder: RunFolder) -> list[CellAccount]:
    """The account of a whole run, counted again from its files. Raises UsageError for a damaged
    one."""
    return account(open_store(folder, strict=True))


def lost_lines(folder: RunFolder, accounts: Iterable[CellAccount]) -> str:
    """Which file has lost lines since accounting.json was written, judged by `accounts`, counted
    again; "" if none has. A cell with an attempt that was set aside may have fewer messages."""
    added_up = {account.cell: account.as_dict() for account in accounts}
    aside = {row.get("cell") for row in folder.rows(ABANDONED)}
    for stored in folder.read_json("accounting.json", []):
        cell = stored.get("cell")
        for name, summed in _GROWING if cell not in aside else ():
            before, now = (
                sum(row.get(count, 0) for count in summed)
                for row in (stored, added_up.get(cell, {}))
            )
            if now < before:
                path = folder.path / name
                how = "has lost lines" if path.exists() else "is missing"
                return (
                    f"{path} {how}: the stored account has {before:,} {' + '.join(summed)} in "
                    f"{cell}, and the files add up to {now:,}; restore that file from a copy"
                )
    return ""


def check(accounts: Iterable[CellAccount]) -> None:
    """Raise RunError naming the cells with an open account, without a success, or with at least
    half of their objects failed."""
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
    if failed := [
        account for account in accounts if account.objects and account.objects.failed_most
    ]:
        raise RunError(
            "half of the objects or more failed; failed_objects.jsonl has the reasons: "
            + "; ".join(account.sentence() for account in failed)
        )
