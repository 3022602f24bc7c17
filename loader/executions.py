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
from dataclasses import dataclass, field
from typing import Any

import botocore
from botocore.exceptions import ClientError

from loader.athena import PATIENT, Query, QueryFailure
from loader.flood import first_seq, sent_log
from loader.sqs.outcome import Accepted, Outcome
from stampede.errors import RunError
from stampede.experiment import Execution
from stampede.phrases import counted
from stampede.progress import bar, detail, say
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import RETRIES, Target

EXECUTIONS = "executions.jsonl"
LONGEST_ERROR_MESSAGE_CHARACTERS = 300
# The record's words for what Athena says in milliseconds (API reference, QueryExecutionStatistics).
TIMES = {
    "queue_seconds": "QueryQueueTimeInMillis",
    "planning_seconds": "QueryPlanningTimeInMillis",
    "engine_seconds": "EngineExecutionTimeInMillis",
    "service_seconds": "ServiceProcessingTimeInMillis",
}


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
    tell = detail if quiet else say
    how = f"one after the other, {counted(count, 'time')}"
    tell(f"running queries in workgroup {execution.workgroup}, {how}: {execution.sql}")
    sent = sent_log(folder, cell, warm_up=warm_up, round_number=round_number)
    queries = _Cell(target, folder, cell, order, {"round": round_number, "warm_up": int(warm_up)}, sent)
    # By the number of a query that a killed run began and sent nowhere, Athena would answer with that query.
    begun = (row["seq"] + 1 for row in folder.rows(EXECUTIONS) if row["cell"] == cell)
    first_number, started_s = max([first_seq(folder, cell), *begun]), clock()
    with bar() as progress:
        task = progress.add_task("queries", total=count, note="")
        for index in range(count):
            seq = first_number + index
            query = Query(target, execution, token_of(folder.run_id, cell, seq), clock, sleep)
            objects = share(first + index).get("objects") if share else None
            try:
                failure = queries.carry_out(seq, query, objects, lambda state: progress.update(task, note=state))
            finally:
                query.stop()
            progress.advance(task)
            if failure:
                say(f"query {index + 1} of {count}: {failure.error_type}: {failure}", style="yellow")
            else:
                tell(f"query {index + 1} of {count}: succeeded")
    return Outcome(sent=count, requests=count, seconds=clock() - started_s)


def stop_left_running(target: Target, folder: RunFolder, cell: str, execution: Execution) -> None:
    """Cancel the query of `cell` that may still be running because the run was killed in the midst of it."""
    rows = [row for row in folder.rows(EXECUTIONS) if row["cell"] == cell]
    if rows and rows[-1]["state"] != "ended":
        say(f"{cell}: cancelling the query that was running when the run was interrupted")
        token = token_of(folder.run_id, cell, rows[-1]["seq"])
        Query(target, execution, token, execution_id=rows[-1]["execution_id"]).stop()


def token_of(run_id: str, cell: str, seq: int) -> str:
    """The token by which Athena knows a message's query again, 64 characters (it takes 32 to 128)."""
    return hashlib.sha256(json.dumps([run_id, cell, seq]).encode()).hexdigest()


@dataclass
class _Cell:
    """The queries of a cell; `place` is what their records say of round and warm-up."""

    target: Target
    folder: RunFolder
    cell: str
    order: Mapping[str, Any]
    place: Mapping[str, int]
    sent: Callable[[list[Accepted]], None]
    sandbox_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def carry_out(
        self, seq: int, query: Query, objects: int | None, note: Callable[[str], None]
    ) -> QueryFailure | None:
        """One message over `objects`, which is written down in an order that survives a kill anywhere; gives why it
        failed. Raises RunError where its record can't be stored, and KeyboardInterrupt when it is."""

        def remember(state: str) -> None:
            row = {"cell": self.cell, "seq": seq, "state": state, "execution_id": query.execution_id}
            self.folder.append(EXECUTIONS, [row])

        remember("beginning")
        started_at_ms = now_ms()
        failure = query.attempt(query.begin)
        message_id = query.execution_id or str(uuid.uuid4())
        remember("begun")
        self.sent([Accepted(seq, message_id, now_ms(), 0)])
        failure = failure or query.attempt(lambda: query.finish(note))
        message = {"seq": seq, "message_id": message_id, "started_at_ms": started_at_ms}
        self._put(self._record(message, query, objects, failure))
        remember("ended")
        if query.is_interrupted:
            raise KeyboardInterrupt
        return failure

    def _record(
        self, message: Mapping[str, Any], query: Query, objects: int | None, failure: QueryFailure | None
    ) -> dict[str, Any]:
        """First what every record has, in this order (functions/agreed/record.json); then the axes by their record's
        word, in the experiment's order; then what the query gave. What Athena doesn't tell is null."""
        target, statistics = self.target, query.statistics
        seconds = {name: _seconds(statistics, key) for name, key in TIMES.items()}
        elapsed_s = None if failure else _seconds(statistics, "TotalExecutionTimeInMillis")
        scanned_bytes = statistics.get("DataScannedInBytes")
        first = {"concurrency_limit": target["concurrency_value"]}
        common = {
            **({} if failure else {target.experiment.time_field: elapsed_s}),
            "memory_size": target["memory_size"],
            "experiment_tag": target["experiment_tag"],
            "run_id": self.folder.run_id,
            "cell": self.cell,
            "seq": message["seq"],
            "message_id": message["message_id"],
            "request_id": query.request_id or str(uuid.uuid4()),
            "sandbox_id": self.sandbox_id,
            "cold_start": 0,
            "attempt": 1,
            "started_at_ms": message["started_at_ms"],
            "finished_at_ms": now_ms() if elapsed_s is None else message["started_at_ms"] + round(elapsed_s * 1000),
            "bytes": scanned_bytes,
            "method": "athena",
            "status": "error" if failure else "ok",
            **self.place,
        }
        axes = {name: value for name, value in self._axes().items() if name not in first | common}
        own = {
            "objects": objects,
            "objects_per_s": round(objects / elapsed_s, 3) if objects and elapsed_s else None,
            "set_seconds": elapsed_s,
            **seconds,
            "scanned_bytes": scanned_bytes,
            "execution_id": query.execution_id or None,
            "retry_mode": RETRIES["mode"],
            "retry_attempts": RETRIES["total_max_attempts"],
            "sdk": f"botocore {botocore.__version__}",
            "experiment": target["experiment"],
        }
        cut = str(failure)[:LONGEST_ERROR_MESSAGE_CHARACTERS]
        error = {"error_type": failure.error_type, "error_message": cut} if failure else {}
        return first | common | axes | own | error

    def _axes(self) -> dict[str, Any]:
        """Every axis of the cell by its record's word: as the work order says, else the stack, else by default."""
        settings, fields = {**self.target.outputs, **self.order}, {}
        for axis in self.target.experiment.axes:
            value = settings.get(axis.variable)
            fields[axis.record_field] = axis.default_of(list(fields.values())) if value is None else value
        return fields

    def _put(self, record: Mapping[str, Any]) -> None:
        """Write a record into the stack's log group as functions write theirs. Raises RunError where that can't be."""
        logs, group = self.target.client("logs", **PATIENT), self.target["log_group_name"]
        place = {"logGroupName": group, "logStreamName": f"stampede/{self.folder.run_id}"}
        event = {"timestamp": now_ms(), "message": json.dumps(record, ensure_ascii=False)}
        with targets.explained(f"writing a record to {group}", self.target):
            try:
                logs.create_log_stream(**place)
            except ClientError as error:
                if code_of(error) != "ResourceAlreadyExistsException":
                    raise
            answer = logs.put_log_events(**place, logEvents=[event])
        if answer.get("rejectedLogEventsInfo"):  # with status 200: too old or too new, by CloudWatch's clock
            raise RunError(
                f"{group}: CloudWatch Logs rejected a record because of its timestamp; set this machine's clock"
            )


def now_ms() -> int:
    """Milliseconds since the epoch, as records and sent.jsonl have them."""
    return time.time_ns() // 1_000_000


def _seconds(statistics: Mapping[str, Any], name: str) -> float | None:
    """A time of Athena's, which says milliseconds; None where it doesn't say."""
    value = statistics.get(name)
    return None if value is None else value / 1000
