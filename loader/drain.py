"""`stampede drain`: waits until every message sent is accounted for, and says what isn't.

Done means: the queue and its in-flight count are empty, and every message has an ok record or lies in the
dead-letter queue. What is still open when nothing moves any more, or at the deadline, is named.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader import target as targets
from loader.accounting import CellAccount, Ledger, check
from loader.arguments import seconds
from loader.errors import RunError
from loader.log_events import LOCAL_OVERLAP_MS, OVERLAP_MS, LogEvents, records
from loader.progress import bar, say
from loader.run_folder import RunFolder
from loader.sqs import dead_letters
from loader.tables import FORMATS, print_rows
from loader.target import Target
from loader.unfinished_cell import abandoned_keys

# CloudWatch Logs shows events within seconds as a rule; the emulator at once.
POLL_S = {"local": 0.5, "aws": 5.0}
SETTLE_S = {"local": 5.0, "aws": 90.0}
CLOCK_SKEW_MS = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    targets.add_options(parser)
    parser.add_argument("--run", metavar="RUN_ID", help="the run to wait for (default: the newest in --results-dir)")
    parser.add_argument(
        "--deadline-s",
        metavar="SECONDS",
        type=seconds,
        default=1800.0,
        help="give up after this many seconds and say what is stuck (default: %(default)s)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="how the account is printed (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Wait, store records, print one account a cell on stdout; exit status 1 if a message is unaccounted for."""
    folder = RunFolder.find(arguments.results_dir, arguments.run)
    target = targets.resolve(arguments)
    accounts = drain(target, folder, deadline_s=arguments.deadline_s)
    print_rows([one.as_dict() for one in accounts], arguments.format)
    check(accounts)
    return 0


def drain(
    target: Target,
    folder: RunFolder,
    *,
    deadline_s: float,
    cell: str | None = None,
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[CellAccount]:
    """Wait for the run in `folder`, storing log events, records, dead letters and accounting.json as they arrive.

    With `cell` only that cell's messages are waited for (the account is still of the whole run); `quiet` says only what
    is wrong. Returns the accounts, open ones included, so that the caller can show them before it fails (`check`).
    Raises RunError when AWS doesn't answer.
    """
    waiting = _Waiting(target, folder, cell)
    started, quiet_since, last_state = clock(), clock(), None
    with bar() as progress:
        task = progress.add_task(f"drain {cell or folder.run_id}", total=waiting.sent_count, note="")
        while True:
            try:
                state = waiting.look()
            except (BotoCoreError, ClientError) as error:
                raise targets.explain(error, "draining the queue", target) from None
            progress.update(task, completed=state.finished, note=state.words())
            if state != last_state:
                quiet_since, last_state = clock(), state
            if state.is_done or _is_at_rest(state, clock() - quiet_since, target):
                break
            if clock() - started > deadline_s:
                say(
                    f"the deadline of {deadline_s:.0f} s (--deadline-s) has passed: {state.words()}",
                    style="red",
                )
                break
            sleep(POLL_S[target.kind])
    accounts = waiting.close()
    for one in accounts:
        if (one.cell == cell or cell is None) and (one.unaccounted or not quiet):
            say(one.sentence(), style="red" if one.unaccounted else None)
    return accounts


@dataclass(frozen=True)
class State:
    """What one look showed, in messages; `pending` and `in_flight` are SQS's approximate counts."""

    sent: int
    finished: int
    without_record: int
    pending: int
    in_flight: int
    dead: int

    @property
    def is_empty(self) -> bool:
        """Nothing visible, delayed or in flight."""
        return self.pending == 0 and self.in_flight == 0

    @property
    def is_done(self) -> bool:
        """Every message has succeeded or is dead-lettered, and the queue is empty."""
        return self.is_empty and self.finished >= self.sent

    def words(self) -> str:
        """The state in words, for the progress display."""
        return (
            f"{self.finished}/{self.sent} done, {self.pending} in the queue, {self.in_flight} in flight, "
            f"{self.without_record} without a record, {self.dead} in the dead-letter queue"
        )


def _is_at_rest(state: State, quiet_s: float, target: Target) -> bool:
    """The queue is empty and nothing has arrived for so long that nothing more will."""
    return state.is_empty and quiet_s > SETTLE_S[target.kind]


class _Waiting:
    """What has been sent, what has arrived, and where to look for more."""

    def __init__(self, target: Target, folder: RunFolder, cell: str | None) -> None:
        self._target, self._folder, self._cell = target, folder, cell
        self._sqs = target.client("sqs")
        self._ledger = Ledger()
        start_ms = self._read_sent() - CLOCK_SKEW_MS
        self._read_records()
        known = folder.rows("log_events.jsonl")
        overlap_ms = LOCAL_OVERLAP_MS if target.kind == "local" else OVERLAP_MS
        self._events = LogEvents(target.client("logs"), target["log_group_name"], start_ms, known, overlap_ms)
        self._abandoned = abandoned_keys(folder)
        self._strangers = 0
        self._dead: list[dict[str, Any]] = []
        self._dead_found = 0  # letters of other runs included

    @property
    def sent_count(self) -> int:
        return sum(one.sent for one in self._ledger.accounts(self._cell))

    def look(self) -> State:
        pending, in_flight = self._counts("queue_url")
        dead_count = sum(self._counts("dead_letter_queue_url"))
        self._store_new_events()
        if dead_count != self._dead_found:
            self._look_at_dead_letters()
        accounts = self._ledger.accounts(self._cell)
        return State(
            sent=sum(one.sent for one in accounts),
            finished=sum(one.succeeded + one.dead_lettered for one in accounts),
            without_record=sum(one.unaccounted for one in accounts),
            pending=pending,
            in_flight=in_flight,
            dead=len(self._dead),
        )

    def close(self) -> list[CellAccount]:
        """Fetch the last lines (REPORT follows the record), write the account, and return it."""
        self._store_new_events()
        accounts = self._ledger.accounts()
        self._folder.write_json("accounting.json", [one.as_dict() for one in accounts])
        self._folder.write_text("dead_letters.jsonl", _json_lines(self._dead))
        if self._strangers:
            say(f"{self._strangers} error records in this time carry no work order (their message bodies were none)")
        return accounts

    def _read_sent(self) -> int:
        """Enter the messages sent into the ledger; returns when the first was sent (epoch ms). Raises RunError."""
        first_ms = None
        for row in self._folder.rows("sent.jsonl"):
            self._ledger.sent(row)
            first_ms = row["sent_at_ms"] if first_ms is None else min(first_ms, row["sent_at_ms"])
        if first_ms is None:
            run_id = self._folder.run_id
            raise RunError(f"run {run_id} sent no messages; `stampede flood --run {run_id}` sends some")
        return first_ms

    def _read_records(self) -> None:
        """Enter the stored records into the ledger. Those whose events alone are stored are added: a drain was killed
        between the two appends of `_store`."""
        stored = 0
        for record in self._folder.rows("records.jsonl"):
            self._ledger.record(record)
            stored += 1
        self._add_records(itertools.islice(self._own(self._folder.rows("log_events.jsonl")), stored, None))

    def _own(self, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The records of this run among log events."""
        return (record for record in records(events) if record["run_id"] == self._folder.run_id)

    def _add_records(self, own: Iterable[dict[str, Any]]) -> None:
        new = list(own)
        self._folder.append("records.jsonl", new)
        for record in new:
            self._ledger.record(record)

    def _counts(self, url_name: str) -> tuple[int, int]:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
        answer = self._sqs.get_queue_attributes(
            QueueUrl=self._target[url_name],
            AttributeNames=[*names, "ApproximateNumberOfMessagesNotVisible"],
        )["Attributes"]
        visible = sum(int(answer[name]) for name in names)
        return visible, int(answer["ApproximateNumberOfMessagesNotVisible"])

    def _look_at_dead_letters(self) -> None:
        letters = dead_letters.look(self._sqs, self._target["dead_letter_queue_url"])
        self._dead_found = len(letters)
        self._dead = [letter for letter in letters if letter["run_id"] == self._folder.run_id]
        self._ledger.dead_letters(self._dead)

    def _is_abandoned(self, event: dict[str, Any]) -> bool:
        """Whether it is a late record of an attempt at a cell that was set aside."""
        return any(_key(record) in self._abandoned for record in self._own([event]))

    def _store_new_events(self) -> None:
        """Page by page: a drain that comes late finds millions of events."""
        for page in self._events.fetch():
            self._store(page)

    def _store(self, fresh: list[dict[str, Any]]) -> None:
        self._strangers += sum(record["run_id"] is None for record in records(fresh))
        fresh = [event for event in fresh if not self._is_abandoned(event)]
        self._folder.append("log_events.jsonl", fresh)
        self._add_records(self._own(fresh))


def _key(row: dict[str, Any]) -> tuple[str, int]:
    return row["cell"], row["seq"]


def _json_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
