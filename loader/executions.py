"""Carries the messages of a cell out as queries on Athena, one after the other, in the place of a flood.

A query leaves what a flood and a function leave of a message: a row in sent.jsonl, and one record as a line in the
stack's log group. So drain, account, saved queries and report need not know of it. executions.jsonl tells which query
may still be running when a run was killed.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from loader.athena import Query, QueryFailure
from loader.execution_records import ExecutionRecords, now_ms
from loader.flood import first_seq, sent_log
from loader.sqs.outcome import Accepted, Outcome
from stampede.experiment import Execution
from stampede.phrases import counted
from stampede.progress import bar, say
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

EXECUTIONS = "executions.jsonl"


def carry_out(
    target: Target,
    folder: RunFolder,
    cell: str,
    count: int,
    execution: Execution,
    *,
    order: Mapping[str, Any],
    share: Callable[[int], Mapping[str, Any]] | None = None,
    first: int = 0,
    round_number: int = 0,
    warm_up: bool = False,
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Have Athena carry out `execution` `count` times, as messages of `cell`, numbered after those already sent.

    `order`, `share(index)`, `first`, `round_number` and `quiet` are as for a flood. However a query ends, it counts as
    sent and has its record. Raises RunError where a record can't be stored, and KeyboardInterrupt once the query under
    way is cancelled and recorded.
    """
    if not quiet:
        how = f"one after the other, {counted(count, 'time')}"
        say(f"running queries in workgroup {execution.workgroup}, {how}: {execution.sql}")
    records = ExecutionRecords(target, folder.run_id, cell, order, int(warm_up), round_number)
    # By the number of a query that a killed run began and sent nowhere, Athena would answer with that query.
    begun = (row["seq"] + 1 for row in folder.rows(EXECUTIONS) if row["cell"] == cell)
    first_number, started_s = max([first_seq(folder, cell), *begun]), clock()
    with bar() as progress, sent_log(folder, cell, warm_up=warm_up, round_number=round_number) as sent:
        task = progress.add_task("queries", total=count, note="")

        def noted(words: str) -> None:
            progress.update(task, note=words)

        for index, seq in enumerate(range(first_number, first_number + count), start=first):
            query = Query(target, execution, token_of(folder.run_id, cell, seq), clock=clock, sleep=sleep)
            objects = share(index).get("objects") if share else None
            message = _Message(folder, cell, seq, query, sent)
            message.carry_out(noted, partial(records.store, objects=objects))
            progress.advance(task)
            say(
                f"query {seq - first_number + 1} of {count}: {message.words}",
                style="dim" if message.is_ok else "yellow",
            )
    return Outcome(sent=count, requests=count, seconds=clock() - started_s)


def stop_left_running(target: Target, folder: RunFolder, cell: str, execution: Execution) -> None:
    """Cancel the query of `cell` that may still be running because the run was killed in the midst of it."""
    rows = [row for row in folder.rows(EXECUTIONS) if row["cell"] == cell]
    if not rows or rows[-1]["state"] == "ended":
        return
    say(f"{cell}: cancelling the query that was running when the run was interrupted")
    query = Query(target, execution, token_of(folder.run_id, cell, rows[-1]["seq"]))
    query.execution_id = rows[-1]["execution_id"]
    query.stop()


def token_of(run_id: str, cell: str, seq: int) -> str:
    """The token by which Athena knows a message's query again, 64 characters (it takes 32 to 128)."""
    return hashlib.sha256(json.dumps([run_id, cell, seq]).encode()).hexdigest()


class _Message:
    """One message: its query, and what is written down of it, in an order that survives a kill anywhere."""

    def __init__(
        self,
        folder: RunFolder,
        cell: str,
        seq: int,
        query: Query,
        sent: Callable[[list[Accepted]], None],
    ) -> None:
        self._folder, self._cell, self._seq, self._query = folder, cell, seq, query
        self._sent, self._message_id = sent, ""
        self.words, self.is_ok = "", False

    def carry_out(self, note: Callable[[str], None], store: Callable[..., None]) -> None:
        """Until `store` has its record; raises KeyboardInterrupt then, where that ended it."""
        started_at_ms, interrupt, failure = now_ms(), None, None
        self._remember("beginning")
        try:
            self._query.carry_out(self._begun, note)
        except QueryFailure as error:
            failure = error
        except KeyboardInterrupt as error:
            interrupt, failure = error, QueryFailure("QueryCancelled", "interrupted: cancelled by Ctrl-C")
        if not self._message_id:
            self._begun()
        self.is_ok = failure is None
        self.words = self._query.words if failure is None else f"{failure.error_type}: {failure}"
        store(self._seq, self._message_id, self._query, started_at_ms, failure)
        self._remember("ended")
        if interrupt is not None:
            raise interrupt

    def _begun(self) -> None:
        """It is sent; one that never had an id of Athena's gets another."""
        self._message_id = self._query.execution_id or str(uuid.uuid4())
        self._remember("begun")
        self._sent([Accepted(self._seq, self._message_id, now_ms(), 0)])

    def _remember(self, state: str) -> None:
        row = {"cell": self._cell, "seq": self._seq, "state": state, "execution_id": self._query.execution_id}
        self._folder.append(EXECUTIONS, [row])
