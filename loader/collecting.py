"""Stores a run's log events, records and dead letters as they arrive, and counts its messages."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader.executions import EXECUTIONS
from loader.log_events import OVERLAP_MS, LogEvents, failed_lines, failed_rows, records
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
"""
# The moments from which a drain counts, in epoch ms; NULL without one.
FIRST_SENT = "SELECT min(sent_at_ms) FROM waited_for"
FIRST_OPEN = f"{FIRST_SENT} ANTI JOIN ends USING (cell, seq)"
NEWEST = "SELECT greatest((SELECT max(sent_at_ms) FROM sent), max(finished_at_ms)) FROM records"
# Messages without a trace, at most as many as are still on their way. Nothing shows which those
# are, so the newest are taken; the others stay unaccounted for.
_SILENT = """
SELECT cell, seq, sent_at_ms FROM (
    FROM waited_for ANTI JOIN traces USING (cell, seq) ORDER BY sent_at_ms DESC, line DESC LIMIT $1
) ANTI JOIN unanswered USING (cell, seq)
"""


@dataclass(frozen=True)
class State:
    """What one poll showed: the accounts of the cells that are waited for, how many messages are
    finished (have succeeded, are dead letters, or are queries that failed), and SQS's approximate
    counts, which may flicker."""

    accounts: Sequence[CellAccount] = ()
    finished: int = 0
    pending: int = 0
    in_flight: int = 0

    def total(self, count: str) -> int:
        """The sum of this count of the accounts."""
        return sum(getattr(account, count) for account in self.accounts)

    @property
    def without_record(self) -> int:
        """Messages that have left no trace, or lack the lines that list their failed objects."""
        return self.total("owing")

    @property
    def is_empty(self) -> bool:
        """Nothing visible, delayed or in flight."""
        return self.pending == self.in_flight == 0

    @property
    def is_done(self) -> bool:
        """Every message is finished, and the queue is empty."""
        return self.is_empty and self.finished >= self.total("sent") and not self.without_record

    def words(self) -> str:
        """The state in words, for the progress display."""
        return (
            f"{self.finished}/{self.total('sent')} done, {self.pending} in the queue, "
            f"{self.in_flight} in flight, {self.without_record} without a record, "
            f"{self.total('dead_lettered')} in the dead-letter queue"
        )


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
        [(self._first_ms,)] = rows(FIRST_SENT)
        if self._first_ms is None:
            raise UsageError(
                f"run {folder.name} sent no messages",
                f"`stampede flood --run {folder.as_argument}` sends some",
            )
        self._is_abandoned = abandoned(folder)
        self._executed = {row["cell"] for row in folder.rows(EXECUTIONS)}
        self._accounts: list[CellAccount] = []
        # A drain killed between its appends has stored log events, and not yet what is in them.
        [stored] = rows(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM failed_objects)"
        )
        self._add(lambda: folder.rows("log_events.jsonl"), *stored)
        self._events = LogEvents(
            target.client("logs"),
            target["log_group_name"],
            self._first_ms - CLOCK_SKEW_MS,
            folder.rows("log_events.jsonl"),
            OVERLAP_MS[target.option],
        )
        read = [message_id for (message_id,) in rows("SELECT message_id FROM letters")]
        self._letters = DeadLetters(self._sqs, target["dead_letter_queue_url"], read)

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
        accounts = [
            counts for counts in self.accounts() if not self._cells or counts.cell in self._cells
        ]
        return State(accounts, sum(map(self._finished, accounts)), pending, in_flight)

    def age_s(self, moment: str) -> float:
        """Seconds since one of the moments above; 0 without one."""
        [(at_ms,)] = self._store.rows(moment)
        return 0.0 if at_ms is None else time.time() - at_ms / 1000

    def have_ended(self, number: int) -> bool:
        """Whether each message of a round has left a record, or is a dead letter; a failed one may
        be delivered again."""
        of_round = "FROM waited_for ANTI JOIN traces USING (cell, seq) WHERE round = ? LIMIT 1"
        return not self._store.rows(of_round, number)

    def give_up(self, at_most: int) -> None:
        """Store the messages without a trace as unanswered, at most as many as are still on their
        way."""
        names = ("cell", "seq", "sent_at_ms")
        silent = [dict(zip(names, row, strict=True)) for row in self._store.rows(_SILENT, at_most)]
        self._append("unanswered", UNANSWERED_FILE, silent)

    def accounts(self) -> list[CellAccount]:
        """The current account of the whole run."""
        self._accounts = self._accounts or account(self._store)
        return self._accounts

    @property
    def latest_ms(self) -> int:
        """The longest delay of a line that was read here, -1 without one."""
        return self._events.latest_ms

    def close(self) -> list[CellAccount]:
        """Write and return the account, and make the dead letters visible again."""
        accounts = with_unrecorded(self.accounts(), self._folder.path)
        self._folder.write_json("accounting.json", [counts.as_dict() for counts in accounts])
        # they become visible again by themselves, too
        with contextlib.suppress(BotoCoreError, ClientError):
            self._letters.show_again()
        return accounts

    def _finished(self, counts: CellAccount) -> int:
        """Messages at their end; a query that failed isn't delivered again."""
        failed = counts.failed if counts.cell in self._executed else 0
        return counts.succeeded + counts.dead_lettered + failed

    def _keep(self, events: list[dict[str, Any]]) -> None:
        """Store events with this run's records and failed objects in them, except those that come
        late from an attempt that was set aside."""
        kept = [event for event in events if not self._is_abandoned(event)]
        self._folder.append("log_events.jsonl", kept)
        self._add(lambda: kept)

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


def message_counts(sqs: Any, queue_url: str) -> tuple[int, int]:
    """SQS's approximate counts of the messages waiting in a queue, and of those in flight."""
    names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
    visible, delayed, in_flight = (int(answer[name]) for name in names)
    return visible + delayed, in_flight
