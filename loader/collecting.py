"""What a run sent and what came of it so far: log events, records and dead letters, stored as they arrive."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from experiments import of_run
from loader import evidence
from loader.executions import EXECUTIONS
from loader.log_events import OVERLAP_MS, LogEvents, records
from loader.patience import State
from loader.sqs.dead_letters import MOST_LETTERS, DeadLetters
from loader.unfinished_cell import abandoned_keys
from stampede.errors import UsageError
from stampede.insights.unrecorded import with_unrecorded
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.accounting import CellAccount, Ledger
from stampede.runs.cell_settings import CellSettings
from stampede.runs.failed_objects import FAILED_OBJECTS, failed_lines, failed_rows
from stampede.runs.folder import UNANSWERED_FILE, RunFolder
from stampede.runs.message_marks import DEAD, ERRED, OK, UNANSWERED
from stampede.runs.objects_account import ObjectsLedger
from stampede.stacks.target import Target

CLOCK_SKEW_MS = 60_000


class Collecting:
    """One run's messages; with `cells` the state is of those only, the account always of the whole run."""

    def __init__(self, target: Target, folder: RunFolder, cells: Collection[str] = ()) -> None:
        """Take up what is stored. Raises UsageError when the run sent nothing, or without credentials."""
        self._target, self._folder, self._cells = target, folder, cells
        self._sqs = target.client("sqs")
        description = folder.read_json("run.json", {})
        experiment = of_run(description, folder.path / "run.json")
        self._settings = CellSettings(description)
        self._objects = ObjectsLedger() if experiment.shared_list else None
        self._ledger = Ledger(self._objects)
        self._abandoned = abandoned_keys(folder)
        self._executed = {row["cell"] for row in folder.rows(EXECUTIONS)}
        self._unattributed = self._record_count = 0
        self._is_full_said = False
        self._first_sent_ms: dict[str, int] = {}
        self._read_sent()
        self._read_records()
        self._read_failed_objects()
        for row in folder.rows(UNANSWERED_FILE):
            self._ledger.unanswered(row)
        known = folder.rows("log_events.jsonl")
        start_ms = min(self._first_sent_ms.values()) - CLOCK_SKEW_MS
        logs, group = target.client("logs"), target["log_group_name"]
        self._events = LogEvents(logs, group, start_ms, known, OVERLAP_MS[target.option])
        self._letters = self._take_up_dead_letters()

    @property
    def sent_count(self) -> int:
        """Messages to wait for."""
        return sum(account.sent for account in self._ledger.accounts(self._cells))

    def look(self) -> State:
        """Store what is new, and say how things stand. Raises what boto3 raises; what was stored before stays."""
        pending, in_flight = message_counts(self._sqs, self._target["queue_url"])
        dead_count = sum(message_counts(self._sqs, self._target["dead_letter_queue_url"]))
        for page in self._events.fetch():
            self._store(page)
        self._read_dead_letters(dead_count)
        accounts = self._ledger.accounts(self._cells)
        return State(
            sent=sum(account.sent for account in accounts),
            finished=sum(self._finished(account) for account in accounts),
            failed=sum(account.failed for account in accounts),
            without_record=sum(account.owing for account in accounts),
            pending=pending,
            in_flight=in_flight,
            dead=sum(account.dead_lettered for account in accounts),
            records=self._record_count,
        )

    def look_again(self) -> int:
        """Read all log lines again since the first message of the cells that owe some; returns how many were new.

        CloudWatch may show a line minutes after its time, where `look` doesn't ask any more. Raises what boto3 raises.
        """
        owing = [account.cell for account in self._ledger.accounts(self._cells) if account.owing]
        if not owing:
            return 0
        since_ms = min(self._first_sent_ms[cell] for cell in owing) - CLOCK_SKEW_MS
        count = 0
        for page in self._events.fetch_again(since_ms, self._folder.rows("log_events.jsonl")):
            self._store(page)
            count += len(page)
        return count

    def is_long_past(self, seconds: float) -> bool:
        """Whether the newest message and the newest record known are older than `seconds`."""
        return time.time() - self._newest_ms / 1000 > seconds

    def have_ended(self, messages: Iterable[dict[str, Any]]) -> bool:
        """Whether each of these has left a record, or is a dead letter; a failed one may be delivered again."""
        return all(self._ledger.marks(row) & (OK | ERRED | DEAD) for row in messages)

    def open_for_s(self) -> float:
        """Seconds since the first message was sent of those that haven't come to their end; 0 without one."""
        sent_ms = (row["sent_at_ms"] for row in self._waited_for() if not self._ledger.marks(row) & (OK | DEAD))
        first_ms = min(sent_ms, default=None)
        return 0.0 if first_ms is None else time.time() - first_ms / 1000

    def give_up(self, at_most: int) -> None:
        """Note the messages that left no trace as unanswered, and no more of them than are still on their way: the
        newest, as which it is nobody can see. What else has no trace stays unaccounted for."""
        silent = [row for row in self._waited_for() if not self._ledger.marks(row) & (OK | ERRED | DEAD)]
        newest = sorted(silent, key=lambda row: row["sent_at_ms"])[-at_most:]
        rows = [row for row in newest if not self._ledger.marks(row) & UNANSWERED]
        self._folder.append(UNANSWERED_FILE, rows)
        for row in rows:
            self._ledger.unanswered(row)

    def failing(self, at_once: int, since_s: float) -> str:
        """The first of the cells whose messages fail, of which so many run `at_once`, and the first was sent at least
        `since_s` ago; "" where none does."""
        for account in self._ledger.accounts(self._cells):
            sent_s = self._first_sent_ms.get(account.cell, 0) / 1000
            if account.is_failing(at_once) and time.time() - sent_s >= since_s:
                return account.cell
        return ""

    def accounts(self) -> list[CellAccount]:
        """The account of the whole run as it stands."""
        return self._ledger.accounts()

    def close(self) -> list[CellAccount]:
        """Write the account, show the dead letters again, and return it. Raises what boto3 raises, afterwards."""
        accounts = with_unrecorded(self._ledger.accounts(), self._folder.path)
        self._folder.write_json("accounting.json", [account.as_dict() for account in accounts])
        if self._unattributed:
            belong = "error record of this time belongs", "error records of this time belong"
            say(
                f"{counted(self._unattributed, *belong)} to no message of a run: the bodies of some messages weren't "
                "valid"
            )
        if self._target.option == "aws":
            evidence.note_lines(self._folder, self._events.seen)
        self._letters.show_again()
        return accounts

    def _finished(self, account: CellAccount) -> int:
        """Messages that nothing more becomes of; a query that failed isn't delivered again."""
        failed = account.failed if account.cell in self._executed else 0
        return account.succeeded + account.dead_lettered + failed

    def _waited_for(self) -> Iterator[dict[str, Any]]:
        """The messages that are waited for."""
        return (row for row in self._folder.rows("sent.jsonl") if not self._cells or row["cell"] in self._cells)

    def _read_sent(self) -> None:
        self._newest_ms = 0
        for row in self._folder.rows("sent.jsonl"):
            self._ledger.sent(row)
            cell, at_ms = row["cell"], row["sent_at_ms"]
            self._first_sent_ms[cell] = min(at_ms, self._first_sent_ms.get(cell, at_ms))
            self._newest_ms = max(self._newest_ms, at_ms)
        if not self._first_sent_ms:
            folder = self._folder
            if next(folder.rows("records.jsonl"), None):
                raise UsageError(
                    f"run {folder.name} has records, but no line in its sent.jsonl; restore it from a copy"
                )
            raise UsageError(
                f"run {folder.name} sent no messages; `stampede flood --run {folder.as_argument}` sends them"
            )

    def _read_records(self) -> None:
        """Enter the stored records. Those whose events alone are stored are added: a drain was killed between the two
        appends of `_store`."""
        stored = 0
        for record in self._folder.rows("records.jsonl"):
            self._enter(record)
            stored += 1
        self._add_records(itertools.islice(self._own(self._folder.rows("log_events.jsonl")), stored, None))

    def _read_failed_objects(self) -> None:
        """Enter the stored rows, and add those whose events alone are stored, as with records."""
        if self._objects is None:
            return
        self._folder.appending(FAILED_OBJECTS).close()  # an empty file says that none failed
        stored = 0
        for row in self._folder.rows(FAILED_OBJECTS):
            self._objects.failed_object(row)
            stored += 1
        lines = failed_lines(self._folder.rows("log_events.jsonl"))
        self._add_failed_objects(itertools.islice(failed_rows(self._of_this_run(lines)), stored, None))

    def _add_failed_objects(self, rows: Iterable[dict[str, Any]]) -> None:
        """Store and count rows one by one: there may be millions."""

        def counted() -> Iterator[dict[str, Any]]:
            for row in rows:
                yield row
                self._objects.failed_object(row)

        self._folder.append(FAILED_OBJECTS, counted())

    def _take_up_dead_letters(self) -> DeadLetters:
        self._folder.appending("dead_letters.jsonl").close()  # an empty file says that none were found
        known = []
        for letter in self._folder.rows("dead_letters.jsonl"):
            self._ledger.dead_letter(letter)
            known.append(letter["message_id"])
        return DeadLetters(self._sqs, self._target["dead_letter_queue_url"], known)

    def _read_dead_letters(self, count: int) -> None:
        for letters in self._letters.look(count):
            own = [row for row in letters if row["run_id"] == self._folder.run_id and not self._is_abandoned(row)]
            self._folder.append("dead_letters.jsonl", own)
            for letter in own:
                self._ledger.dead_letter(letter)
        if self._letters.is_full and not self._is_full_said:
            self._is_full_said = True
            say(
                f"only the first {MOST_LETTERS:,} messages in the dead-letter queue are read: SQS can hide no more at "
                "a time",
                style="yellow",
            )

    def _own(self, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The records of this run among log events."""
        return self._of_this_run(records(events))

    def _of_this_run(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (line for line in lines if line["run_id"] == self._folder.run_id)

    def _store(self, fresh: list[dict[str, Any]]) -> None:
        if self._target.option == "aws":
            self._events.seen.note(fresh)
        self._unattributed += sum(record["run_id"] is None for record in records(fresh))
        if self._abandoned:
            fresh = [event for event in fresh if not any(map(self._is_abandoned, self._lines_of(event)))]
        self._folder.append("log_events.jsonl", fresh)
        self._add_records(self._own(fresh))
        if self._objects is not None:
            self._add_failed_objects(failed_rows(self._of_this_run(failed_lines(fresh))))

    def _lines_of(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The event as a line of this run that belongs to a message, if it is one."""
        return self._of_this_run(itertools.chain(records([event]), failed_lines([event])))

    def _add_records(self, own: Iterable[dict[str, Any]]) -> None:
        new = list(own)
        self._folder.append("records.jsonl", new)
        for record in new:
            self._enter(record)

    def _enter(self, record: dict[str, Any]) -> None:
        self._record_count += 1
        ended_ms = record.get("finished_at_ms")
        if isinstance(ended_ms, int):  # and not in the future, whatever the line says
            self._newest_ms = max(self._newest_ms, min(ended_ms, time.time() * 1000))
        self._ledger.record(record, is_foreign=self._settings.difference(record) is not None)

    def _is_abandoned(self, row: dict[str, Any]) -> bool:
        """Whether it is of an attempt at a cell that was set aside, and came late."""
        return (row["cell"], row["seq"]) in self._abandoned


def message_counts(sqs: Any, queue_url: str) -> tuple[int, int]:
    """Messages that wait in a queue, and those in flight, as SQS counts them: approximately."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
    answer = sqs.get_queue_attributes(
        QueueUrl=queue_url, AttributeNames=[*names, "ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    return sum(int(answer[name]) for name in names), int(answer["ApproximateNumberOfMessagesNotVisible"])
