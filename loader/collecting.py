"""What a run sent and what came of it so far: log events, records and dead letters, stored as they arrive."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from loader import evidence
from loader.executions import EXECUTIONS
from loader.log_events import OVERLAP_MS, LogEvents, failed_lines, failed_rows, records, seen_in_lines, together
from loader.patience import State
from loader.sqs.dead_letters import DeadLetters
from loader.unfinished_cell import last_abandoned
from stampede.errors import UsageError
from stampede.insights.unrecorded import with_unrecorded
from stampede.runs.account import CellAccount, account
from stampede.runs.folder import FAILED_OBJECTS, UNANSWERED_FILE, RunFolder
from stampede.runs.store import open_store, quoted
from stampede.stacks.target import Target

CLOCK_SKEW_MS = 60_000
# Of messages named `sent`, those with neither a record nor a dead letter.
WITHOUT_TRACE = "ANTI JOIN (SELECT cell, seq FROM records UNION ALL SELECT cell, seq FROM letters) USING (cell, seq)"


class Collecting:
    """One run's messages; with `cells` the state is of those only, the account always of the whole run."""

    def __init__(self, target: Target, folder: RunFolder, cells: Collection[str] = ()) -> None:
        """Take up what is stored. Raises UsageError when the run sent nothing, or without credentials."""
        self._target, self._folder, self._cells = target, folder, cells
        self._sqs = target.client("sqs")
        self._store = open_store(folder, strict=True)
        self._counts_objects = bool(self._store.experiment.shared_list)
        self._abandoned = last_abandoned(folder)
        self._kept = set(self._store.rows("SELECT cell, seq FROM sent")) if self._abandoned else set()
        self._executed = {row["cell"] for row in folder.rows(EXECUTIONS)}
        self._counted: tuple[int, list[CellAccount]] | None = None
        self._first_sent_ms = self._sent()
        # A drain may have been killed between its appends: events were stored, and what is in them wasn't.
        [(record_count, object_count)] = self._store.rows(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM failed_objects)"
        )
        self._add(lambda: folder.rows("log_events.jsonl"), record_count, object_count)
        start_ms = min(self._first_sent_ms.values()) - CLOCK_SKEW_MS
        logs, group = target.client("logs"), target["log_group_name"]
        self._events = LogEvents(logs, group, start_ms, folder.rows("log_events.jsonl"), OVERLAP_MS[target.option])
        known_ids = [message_id for (message_id,) in self._store.rows("SELECT message_id FROM letters ORDER BY line")]
        self._letters = DeadLetters(self._sqs, target["dead_letter_queue_url"], known_ids)

    @property
    def sent_count(self) -> int:
        """Messages to wait for."""
        return sum(account.sent for account in self._accounts())

    def look(self) -> State:
        """Store what is new, and say how things stand. Raises what boto3 raises; what was stored before stays."""
        pending, in_flight = message_counts(self._sqs, self._target["queue_url"])
        dead_count = sum(message_counts(self._sqs, self._target["dead_letter_queue_url"]))
        for page in self._events.fetch():
            self._keep(page)
        for letters in self._letters.look(dead_count):
            own = [row for row in self._of_this_run(letters) if not self._is_abandoned(row)]
            self._append("letters", "dead_letters.jsonl", own)
        accounts = self._accounts()
        [(record_count,)] = self._store.rows("SELECT count(*) FROM records")
        return State(
            sent=sum(account.sent for account in accounts),
            finished=sum(self._finished(account) for account in accounts),
            failed=sum(account.failed for account in accounts),
            without_record=sum(account.owing for account in accounts),
            pending=pending,
            in_flight=in_flight,
            dead=sum(account.dead_lettered for account in accounts),
            records=record_count,
        )

    def look_again(self) -> int:
        """Read all log lines again since the first message of the cells that owe some; returns how many were new.

        CloudWatch may show a line minutes after its time, where `look` doesn't ask any more. Raises what boto3 raises.
        """
        owing = [account.cell for account in self._accounts() if account.owing]
        if not owing:
            return 0
        since_ms = min(self._first_sent_ms[cell] for cell in owing) - CLOCK_SKEW_MS
        count = 0
        for page in self._events.fetch_since(since_ms):
            self._keep(page)
            count += len(page)
        return count

    def is_long_past(self, seconds: float) -> bool:
        """Whether the newest message and the newest record known are older than `seconds`."""
        times = "SELECT sent_at_ms AS ms FROM sent UNION ALL SELECT finished_at_ms FROM records"
        now_ms = int(time.time() * 1000)  # a line may say anything of the future
        [(newest_ms,)] = self._store.rows(f"SELECT max(ms) FROM ({times}) WHERE ms <= ?", now_ms)
        return newest_ms is not None and now_ms - newest_ms > seconds * 1000

    def have_ended(self, cell: str, number: int) -> bool:
        """Whether each message of a cell's round has left a record, or is a dead letter; a failed one may be delivered
        again."""
        of_round = "(SELECT cell, seq FROM sent WHERE cell = ? AND round = ?)"
        return not self._store.rows(f"SELECT * FROM {of_round} AS sent {WITHOUT_TRACE} LIMIT 1", cell, number)

    def open_for_s(self) -> float:
        """Seconds since the first message was sent of those that haven't come to their end; 0 without one."""
        succeeded_or_dead = (
            "(SELECT cell, seq FROM records WHERE status = 'ok' UNION ALL SELECT cell, seq FROM letters)"
        )
        [(first_ms,)] = self._store.rows(
            f"SELECT min(sent_at_ms) FROM {self._waited_for()} AS sent ANTI JOIN {succeeded_or_dead} USING (cell, seq)"
        )
        return 0.0 if first_ms is None else time.time() - first_ms / 1000

    def give_up(self, at_most: int) -> None:
        """Note the messages that left no trace as unanswered, and no more of them than are still on their way: the
        newest, as which it is nobody can see. What else has no trace stays unaccounted for."""
        silent = self._store.rows(
            f"""SELECT cell, seq FROM (
                    SELECT * FROM {self._waited_for()} AS sent {WITHOUT_TRACE}
                    ORDER BY sent_at_ms DESC, line DESC LIMIT {at_most}
                ) ANTI JOIN unanswered USING (cell, seq)"""
        )
        named = set(silent)
        rows = (row for row in self._folder.rows("sent.jsonl") if (row["cell"], row["seq"]) in named)
        self._append("unanswered", UNANSWERED_FILE, rows)

    def failing(self, at_once: int, since_s: float) -> str:
        """The first of the cells whose messages fail, of which so many run `at_once`, and the first was sent at least
        `since_s` ago; "" where none does."""
        for one_cell in self._accounts():
            sent_s = self._first_sent_ms.get(one_cell.cell, 0) / 1000
            if one_cell.is_failing(at_once) and time.time() - sent_s >= since_s:
                return one_cell.cell
        return ""

    def accounts(self) -> list[CellAccount]:
        """The account of the whole run as it stands, counted again where anything has come."""
        if self._counted is None or self._counted[0] != self._store.changes:
            self._counted = self._store.changes, account(self._store)
        return self._counted[1]

    def close(self) -> list[CellAccount]:
        """Write the account, show the dead letters again, and return it. Raises what boto3 raises, afterwards."""
        accounts = with_unrecorded(self.accounts(), self._folder.path)
        self._folder.write_json("accounting.json", [account.as_dict() for account in accounts])
        if self._target.option == "aws":
            evidence.note_lines(self._folder, self._events.seen)
        self._letters.show_again()
        return accounts

    def _finished(self, account: CellAccount) -> int:
        """Messages that nothing more becomes of; a query that failed isn't delivered again."""
        failed = account.failed if account.cell in self._executed else 0
        return account.succeeded + account.dead_lettered + failed

    def _accounts(self) -> list[CellAccount]:
        """Those of the cells that are waited for."""
        return [counts for counts in self.accounts() if not self._cells or counts.cell in self._cells]

    def _waited_for(self) -> str:
        """The messages that are waited for, as a query."""
        if not self._cells:
            return "sent"
        cells = ", ".join(map(quoted, self._cells))
        return f"(SELECT * FROM sent WHERE cell IN ({cells}))"

    def _sent(self) -> dict[str, int]:
        """When each cell's first message was sent, in epoch ms. Raises UsageError where none was."""
        first = dict(self._store.rows("SELECT cell, min(sent_at_ms) FROM sent GROUP BY cell"))
        if not first:
            folder = self._folder
            if self._store.rows("SELECT 1 FROM records LIMIT 1"):
                raise UsageError(
                    f"run {folder.name} has records, but no line in its sent.jsonl; restore it from a copy"
                )
            raise UsageError(
                f"run {folder.name} sent no messages; `stampede flood --run {folder.as_argument}` sends them"
            )
        return first

    def _keep(self, fresh: list[dict[str, Any]]) -> None:
        """Store events, and of them this run's records and failed objects."""
        if self._target.option == "aws":
            self._events.seen = together(self._events.seen, seen_in_lines(fresh))
        if self._abandoned:
            fresh = [event for event in fresh if not any(map(self._is_abandoned, self._lines_of(event)))]
        self._folder.append("log_events.jsonl", fresh)
        self._add(lambda: fresh)

    def _add(
        self, events: Callable[[], Iterable[dict[str, Any]]], records_left_out: int = 0, rows_left_out: int = 0
    ) -> None:
        """Store what `events` hold of this run, but for so many records and failed objects, which are stored."""
        own = itertools.islice(self._of_this_run(records(events())), records_left_out, None)
        self._append("records", "records.jsonl", own)
        if self._counts_objects:
            rows = failed_rows(self._of_this_run(failed_lines(events())))
            self._append("failed_objects", FAILED_OBJECTS, itertools.islice(rows, rows_left_out, None))

    def _append(self, table: str, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Store rows in their file and count them, one by one: there may be millions."""
        rows = iter(rows)
        if (first := next(rows, None)) is not None:
            self._store.add(table, self._folder.appended(name, itertools.chain([first], rows)))

    def _lines_of(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The event as a line of this run that belongs to a message, if it is one."""
        return self._of_this_run(itertools.chain(records([event]), failed_lines([event])))

    def _of_this_run(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (line for line in lines if line["run_id"] == self._folder.run_id)

    def _is_abandoned(self, row: dict[str, Any]) -> bool:
        """Whether it is of an attempt at a cell that was set aside, and came late."""
        cell, seq = row["cell"], row["seq"]
        is_old = seq is not None and seq <= self._abandoned.get(cell, -1)
        return is_old and (cell, seq) not in self._kept


def message_counts(sqs: Any, queue_url: str) -> tuple[int, int]:
    """Messages that wait in a queue, and those in flight, as SQS counts them: approximately."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
    answer = sqs.get_queue_attributes(
        QueueUrl=queue_url, AttributeNames=[*names, "ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    return sum(int(answer[name]) for name in names), int(answer["ApproximateNumberOfMessagesNotVisible"])
