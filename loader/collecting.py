"""Stores a run's log events, records and dead letters as they arrive, and counts its messages."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader import evidence
from loader.executions import EXECUTIONS
from loader.log_events import OVERLAP_MS, LogEvents, failed_lines, failed_rows, records
from loader.patience import State
from loader.sqs.dead_letters import DeadLetters
from loader.unfinished_cell import abandoned
from stampede.errors import UsageError
from stampede.insights.unrecorded import with_unrecorded
from stampede.runs.account import CellAccount, account
from stampede.runs.folder import FAILED_OBJECTS, UNANSWERED_FILE, RunFolder
from stampede.runs.store import open_store
from stampede.stacks.target import Target

CLOCK_SKEW_MS = 60_000
_VIEWS = """
CREATE VIEW traces AS SELECT cell, seq FROM records UNION ALL SELECT cell, seq FROM letters;
CREATE VIEW ends AS SELECT cell, seq FROM records WHERE status = 'ok' UNION ALL SELECT cell, seq
    FROM letters;
CREATE VIEW times AS SELECT sent_at_ms AS ms FROM sent UNION ALL SELECT finished_at_ms FROM records;
"""
# Messages without a trace, at most as many as are still on their way. Nothing shows which those
# are, so the newest are taken; the others stay unaccounted for.
_SILENT = """
SELECT cell, seq, sent_at_ms FROM (
    FROM waited_for ANTI JOIN traces USING (cell, seq) ORDER BY sent_at_ms DESC, line DESC LIMIT $1
) ANTI JOIN unanswered USING (cell, seq)
"""


class Collecting:
    """One run's messages. `cells` limits the state to theirs; the account is always of the whole
    run."""

    def __init__(self, target: Target, folder: RunFolder, cells: Collection[str] = ()) -> None:
        """Read what is stored. Raises UsageError when the run sent nothing, or without
        credentials."""
        self._target, self._folder, self._cells = target, folder, cells
        self._sqs, self._store = target.client("sqs"), open_store(folder, strict=True)
        rows = self._store.rows
        rows(_VIEWS)
        rows(
            "CREATE TABLE waited_for AS FROM sent WHERE len($1) = 0 OR list_contains($1, cell)",
            list(cells),
        )
        [(first_ms, self._first_ms)] = rows(
            "SELECT (SELECT min(sent_at_ms) FROM sent), min(sent_at_ms) FROM waited_for"
        )
        if first_ms is None:
            raise UsageError(
                f"run {folder.name} sent no messages",
                f"`stampede flood --run {folder.as_argument}` sends some",
            )
        self._abandoned = abandoned(folder)
        self._executed = {row["cell"] for row in folder.rows(EXECUTIONS)}
        self._accounts: list[CellAccount] = []
        # A drain killed between its appends has stored log events, and not yet what is in them.
        stored = self._count("records"), self._count("failed_objects")
        self._add(lambda: folder.rows("log_events.jsonl"), *stored)
        self._events = LogEvents(
            target.client("logs"),
            target["log_group_name"],
            first_ms - CLOCK_SKEW_MS,
            folder.rows("log_events.jsonl"),
            OVERLAP_MS[target.option],
        )
        read = [message_id for (message_id,) in rows("SELECT message_id FROM letters")]
        self._letters = DeadLetters(self._sqs, target["dead_letter_queue_url"], read)

    @property
    def sent_count(self) -> int:
        """Messages to wait for."""
        return sum(counts.sent for counts in self._waited_for())

    def look(self, *, again: bool = False) -> State:
        """Store what is new, and return the state. Raises boto3's errors; what is stored by then
        stays.

        `again` reads all log lines since the first message that is waited for: CloudWatch may show
        a line minutes after its time, which an ordinary poll no longer covers.
        """
        pending, in_flight = message_counts(self._sqs, self._target["queue_url"])
        dead_count = sum(message_counts(self._sqs, self._target["dead_letter_queue_url"]))
        for page in self._events.fetch(self._first_ms - CLOCK_SKEW_MS if again else None):
            self._keep(page)
        for letters in self._letters.look(dead_count):
            own = [row for row in self._of_this_run(letters) if not self._is_abandoned(row)]
            self._append("letters", "dead_letters.jsonl", own)
        accounts = self._waited_for()
        return State(
            sent=sum(counts.sent for counts in accounts),
            finished=sum(map(self._finished, accounts)),
            failed=sum(counts.failed for counts in accounts),
            without_record=sum(counts.owing for counts in accounts),
            pending=pending,
            in_flight=in_flight,
            dead=sum(counts.dead_lettered for counts in accounts),
            records=self._count("records"),
        )

    def is_long_past(self, seconds: float) -> bool:
        """Whether the newest message and the newest record are older than `seconds`."""
        now_ms = int(time.time() * 1000)  # ignores times in the future, which any line may contain
        [(newest_ms,)] = self._store.rows("SELECT max(ms) FROM times WHERE ms <= ?", now_ms)
        return newest_ms is not None and now_ms - newest_ms > seconds * 1000

    def have_ended(self, number: int) -> bool:
        """Whether each message of a round has left a record, or is a dead letter; a failed one may
        be delivered again."""
        of_round = "FROM waited_for ANTI JOIN traces USING (cell, seq) WHERE round = ? LIMIT 1"
        return not self._store.rows(of_round, number)

    def open_for_s(self) -> float:
        """Seconds since the first unfinished message was sent; 0 without one."""
        [(first_ms,)] = self._store.rows(
            "SELECT min(sent_at_ms) FROM waited_for ANTI JOIN ends USING (cell, seq)"
        )
        return 0.0 if first_ms is None else time.time() - first_ms / 1000

    def give_up(self, at_most: int) -> None:
        """Store the messages without a trace as unanswered, at most as many as are still on their
        way."""
        names = ("cell", "seq", "sent_at_ms")
        silent = [dict(zip(names, row, strict=True)) for row in self._store.rows(_SILENT, at_most)]
        self._append("unanswered", UNANSWERED_FILE, silent)

    def failing(self, at_once: int, since_s: float) -> str:
        """The first cell whose messages all fail, with `at_once` of them running; "" if none does,
        or if the first message was sent less than `since_s` seconds ago."""
        if time.time() - self._first_ms / 1000 < since_s:
            return ""
        failing = (counts.cell for counts in self._waited_for() if counts.is_failing(at_once))
        return next(failing, "")

    def accounts(self) -> list[CellAccount]:
        """The current account of the whole run."""
        self._accounts = self._accounts or account(self._store)
        return self._accounts

    def close(self) -> list[CellAccount]:
        """Write and return the account, and make the dead letters visible again."""
        accounts = with_unrecorded(self.accounts(), self._folder.path)
        self._folder.write_json("accounting.json", [counts.as_dict() for counts in accounts])
        if self._target.option == "aws":
            evidence.note_latest(self._folder, self._events.latest_ms)
        # they become visible again by themselves, too
        with contextlib.suppress(BotoCoreError, ClientError):
            self._letters.show_again()
        return accounts

    def _finished(self, counts: CellAccount) -> int:
        """Messages at their end; a query that failed isn't delivered again."""
        failed = counts.failed if counts.cell in self._executed else 0
        return counts.succeeded + counts.dead_lettered + failed

    def _waited_for(self) -> list[CellAccount]:
        accounts = self.accounts()
        return [counts for counts in accounts if not self._cells or counts.cell in self._cells]

    def _count(self, table: str) -> int:
        [(count,)] = self._store.rows(f"SELECT count(*) FROM {table}")
        return count

    def _keep(self, events: list[dict[str, Any]]) -> None:
        """Store events with this run's records and failed objects in them, except those that come
        late from an attempt that was set aside."""

        def is_abandoned(event: dict[str, Any]) -> bool:
            lines = self._of_this_run(itertools.chain(records([event]), failed_lines([event])))
            return any(map(self._is_abandoned, lines))

        if self._abandoned:
            events = [event for event in events if not is_abandoned(event)]
        self._folder.append("log_events.jsonl", events)
        self._add(lambda: events)

    def _add(
        self,
        events: Callable[[], Iterable[dict[str, Any]]],
        skipped_records: int = 0,
        skipped_rows: int = 0,
    ):
        """Store this run's records and failed objects in `events`, skipping those already
        stored."""
        own = self._of_this_run(records(events()))
        self._append("records", "records.jsonl", itertools.islice(own, skipped_records, None))
        rows = failed_rows(self._of_this_run(failed_lines(events())))
        self._append("failed_objects", FAILED_OBJECTS, itertools.islice(rows, skipped_rows, None))

    def _append(self, table: str, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Store rows in their file and table, one by one: there may be millions."""
        rows = iter(rows)
        if (first := next(rows, None)) is not None:
            self._store.add(table, self._folder.appended(name, itertools.chain([first], rows)))
            self._accounts = []

    def _of_this_run(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (line for line in lines if line["run_id"] == self._folder.run_id)

    def _is_abandoned(self, row: dict[str, Any]) -> bool:
        """Whether it comes late from an attempt at a cell that was set aside."""
        return any(row["seq"] in numbers for numbers in self._abandoned.get(row["cell"], ()))


def message_counts(sqs: Any, queue_url: str) -> tuple[int, int]:
    """SQS's approximate counts of the messages waiting in a queue, and of those in flight."""
    names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
    visible, delayed, in_flight = (int(answer[name]) for name in names)
    return visible + delayed, in_flight
