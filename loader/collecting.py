"""What a run sent and what came of it so far: log events, records and dead letters, stored as they
arrive."""

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
# Messages that left no trace, and no more of them than are still on their way: the newest, as which
# it is nobody can see. What else has no trace stays unaccounted for.
_SILENT = """
SELECT cell, seq, sent_at_ms FROM (
    FROM waited_for ANTI JOIN traces USING (cell, seq) ORDER BY sent_at_ms DESC, line DESC LIMIT $1
) ANTI JOIN unanswered USING (cell, seq)
"""


class Collecting:
    """One run's messages; with `cells` the state is of those only, the account always of the whole
    run."""

    def __init__(self, target: Target, folder: RunFolder, cells: Collection[str] = ()) -> None:
        """Take up what is stored. Raises UsageError when the run sent nothing, or without
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
        # A drain may have been killed between its appends: events were stored, and what is in them
        # wasn't.
        stored = [
            rows(f"SELECT count(*) FROM {table}")[0][0] for table in ("records", "failed_objects")
        ]
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
        """Store what is new, and say how things stand. Raises what boto3 raises; what was stored
        before stays.

        `again` reads all log lines since the first message that is waited for: CloudWatch may show
        one minutes after its time, when nobody asks for that time any more.
        """
        pending, in_flight = message_counts(self._sqs, self._target["queue_url"])
        dead_count = sum(message_counts(self._sqs, self._target["dead_letter_queue_url"]))
        for page in self._events.fetch(self._first_ms - CLOCK_SKEW_MS if again else None):
            self._keep(page)
        for letters in self._letters.look(dead_count):
            own = [row for row in self._of_this_run(letters) if not self._is_abandoned(row)]
            self._append("letters", "dead_letters.jsonl", own)
        accounts = self._waited_for()
        [(record_count,)] = self._store.rows("SELECT count(*) FROM records")
        return State(
            sent=sum(counts.sent for counts in accounts),
            finished=sum(map(self._finished, accounts)),
            failed=sum(counts.failed for counts in accounts),
            without_record=sum(counts.owing for counts in accounts),
            pending=pending,
            in_flight=in_flight,
            dead=sum(counts.dead_lettered for counts in accounts),
            records=record_count,
        )

    def is_long_past(self, seconds: float) -> bool:
        """Whether the newest message and the newest record known are older than `seconds`."""
        now_ms = int(time.time() * 1000)  # a line may say anything of the future
        [(newest_ms,)] = self._store.rows("SELECT max(ms) FROM times WHERE ms <= ?", now_ms)
        return newest_ms is not None and now_ms - newest_ms > seconds * 1000

    def have_ended(self, number: int) -> bool:
        """Whether each message of a round has left a record, or is a dead letter; a failed one may
        be delivered again."""
        query = (
            "SELECT 1 FROM (FROM waited_for WHERE round = ?) ANTI JOIN traces USING (cell, seq) "
            "LIMIT 1"
        )
        return not self._store.rows(query, number)

    def open_for_s(self) -> float:
        """Seconds since the first message was sent of those that haven't come to their end; 0
        without one."""
        [(first_ms,)] = self._store.rows(
            "SELECT min(sent_at_ms) FROM waited_for ANTI JOIN ends USING (cell, seq)"
        )
        return 0.0 if first_ms is None else time.time() - first_ms / 1000

    def give_up(self, at_most: int) -> None:
        """Note the messages that left no trace as unanswered, but no more of them than are still on
        their way."""
        names = ("cell", "seq", "sent_at_ms")
        silent = [dict(zip(names, row, strict=True)) for row in self._store.rows(_SILENT, at_most)]
        self._append("unanswered", UNANSWERED_FILE, silent)

    def failing(self, at_once: int, since_s: float) -> str:
        """The first of the cells whose messages fail, of which so many run `at_once`, once the
        first message was sent at least `since_s` ago; "" where none does."""
        if time.time() - self._first_ms / 1000 < since_s:
            return ""
        failing = [counts.cell for counts in self._waited_for() if counts.is_failing(at_once)]
        return "".join(failing[:1])

    def accounts(self) -> list[CellAccount]:
        """The account of the whole run as it stands, counted again where anything has come."""
        self._accounts = self._accounts or account(self._store)
        return self._accounts

    def close(self) -> list[CellAccount]:
        """Write the account, show the dead letters again, and return it."""
        accounts = with_unrecorded(self.accounts(), self._folder.path)
        self._folder.write_json("accounting.json", [counts.as_dict() for counts in accounts])
        if self._target.option == "aws":
            evidence.note_latest(self._folder, self._events.latest_ms)
        # the letters show again by themselves
        with contextlib.suppress(BotoCoreError, ClientError):
            self._letters.show_again()
        return accounts

    def _finished(self, counts: CellAccount) -> int:
        """Messages that nothing more becomes of; a query that failed isn't delivered again."""
        return (
            counts.succeeded
            + counts.dead_lettered
            + (counts.failed if counts.cell in self._executed else 0)
        )

    def _waited_for(self) -> list[CellAccount]:
        """The accounts of the cells that are waited for."""
        return [
            counts for counts in self.accounts() if not self._cells or counts.cell in self._cells
        ]

    def _keep(self, events: list[dict[str, Any]]) -> None:
        """Store events, and of them this run's records and failed objects; but for what came late
        of an attempt that was set aside."""

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
        """Store what `events` hold of this run, but for so many records and failed objects, which
        are stored."""
        own = self._of_this_run(records(events()))
        self._append("records", "records.jsonl", itertools.islice(own, skipped_records, None))
        rows = failed_rows(self._of_this_run(failed_lines(events())))
        self._append("failed_objects", FAILED_OBJECTS, itertools.islice(rows, skipped_rows, None))

    def _append(self, table: str, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Store rows in their file and count them, one by one: there may be millions."""
        rows = iter(rows)
        if (first := next(rows, None)) is not None:
            self._store.add(table, self._folder.appended(name, itertools.chain([first], rows)))
            self._accounts = []

    def _of_this_run(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (line for line in lines if line["run_id"] == self._folder.run_id)

    def _is_abandoned(self, row: dict[str, Any]) -> bool:
        """Whether it is of an attempt at a cell that was set aside, and came late."""
        return any(row["seq"] in numbers for numbers in self._abandoned.get(row["cell"], ()))


def message_counts(sqs: Any, queue_url: str) -> tuple[int, int]:
    """Messages that wait in a queue, and those in flight, as SQS counts them: approximately."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
    answer = sqs.get_queue_attributes(
        QueueUrl=queue_url, AttributeNames=[*names, "ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    return sum(int(answer[name]) for name in names), int(
        answer["ApproximateNumberOfMessagesNotVisible"]
    )
