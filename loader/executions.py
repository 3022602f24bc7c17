"""Carries out the messages of a cell as Athena queries, one after the other, instead of a flood.

A query leaves what a flood and a function leave of a message: a row in sent.jsonl, and one record
as a line in the stack's log group. So drain, account, saved queries and report treat it like any
other message. executions.jsonl shows which query may still be running after a run was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import botocore
from botocore.exceptions import BotoCoreError, ClientError

from loader.flood import Share, first_seq, sent_log
from loader.sqs.message import Accepted, Outcome
from stampede.cell import Cell
from stampede.errors import RunError, one_line
from stampede.experiment import Execution
from stampede.phrases import counted
from stampede.polling import growing, looks
from stampede.progress import bar, detail, say
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import Kind, kind_of
from stampede.stacks.target import RETRIES, Target, is_gone

EXECUTIONS = "executions.jsonl"
LONGEST_ERROR_MESSAGE_CHARACTERS = 300
# The record's fields for Athena's times in milliseconds (API reference, QueryExecutionStatistics).
TIMES = {
    "set_seconds": "TotalExecutionTimeInMillis",
    "queue_seconds": "QueryQueueTimeInMillis",
    "planning_seconds": "QueryPlanningTimeInMillis",
    "engine_seconds": "EngineExecutionTimeInMillis",
    "service_seconds": "ServiceProcessingTimeInMillis",
}
# Between two polls of a query. They affect no measurement: the times in its record are Athena's.
FIRST_POLL_S, LONGEST_POLL_S, SLOWER = 0.1, 5.0, 1.5
# botocore retries unanswered and throttled calls for a minute or two.
PATIENT = {"retries": {"mode": "standard", "total_max_attempts": 10}}
# The record's error_type for a failed call; any other is QueryFailed.
_ERROR_TYPES = {
    Kind.DENIED: "AccessDenied",
    Kind.THROTTLED: "SlowDown",
    Kind.FAULT: "NoConnection",
    Kind.CREDENTIALS: "NoCredentials",
}
# Athena gives its reason in prose, which quotes the refusals of S3 and Glue.
_DENIED_WORDS = re.compile(r"access ?denied|permission", re.I)


def carry_out(
    target: Target,
    folder: RunFolder,
    cell: str,
    indices: range,
    execution: Execution,
    order: Mapping[str, Any],
    share: Share = lambda index: {},
    *,
    quiet: bool = False,
) -> Outcome:
    """Run `execution` on Athena for each of `indices`, as messages of `cell`, numbered after those
    already sent.

    `order`, `share(index)` and `quiet` are as for a flood. However a query ends, it counts as sent
    and has a record. Raises RunError when a record can't be stored, and KeyboardInterrupt once the
    current query is cancelled and recorded.
    """
    queries = counted(len(indices), "query", "queries")
    (detail if quiet else say)(f"{queries} in workgroup {execution.workgroup}: {execution.sql}")
    sent, sandbox_id = sent_log(folder, cell, order), str(uuid.uuid4())
    # A number isn't used again even if a killed run began its query and never noted it as sent:
    # Athena would answer with that query.
    begun = [row["seq"] + 1 for row in _begun(folder, cell)]
    first_number, started_s = max([first_seq(folder, cell), *begun]), time.monotonic()
    with bar() as progress:
        task = progress.add_task("queries", total=len(indices), note="")
        for seq, index in enumerate(indices, first_number):
            message = {"run_id": folder.run_id, "cell": cell, "seq": seq, "sandbox_id": sandbox_id}
            query = Query(target, execution, token_of(folder.run_id, cell, seq))
            failure = _carry_out(query, folder, {**order, **share(index), **message}, sent)
            progress.advance(task)
            if failure:
                say(f"a query failed: {failure.error_type}: {failure}", style="yellow")
    return Outcome(sent=len(indices), requests=len(indices), seconds=time.monotonic() - started_s)


def stop_left_running(target: Target, folder: RunFolder, cell: str, execution: Execution) -> None:
    """Cancel the query of `cell` that a killed run may have left running."""
    for row in _begun(folder, cell)[-1:]:
        if row["state"] != "ended":
            say(f"{cell}: cancelling the query of the interrupted run")
            token = token_of(folder.run_id, cell, row["seq"])
            Query(target, execution, token, execution_id=row["execution_id"]).stop()


def _begun(folder: RunFolder, cell: str) -> list[dict[str, Any]]:
    return [row for row in folder.rows(EXECUTIONS) if row["cell"] == cell]


def token_of(run_id: str, cell: str, seq: int) -> str:
    """The token by which Athena recognizes a message's query: 64 characters (32 to 128 are
    allowed)."""
    return hashlib.sha256(json.dumps([run_id, cell, seq]).encode()).hexdigest()


def _carry_out(
    query: Query,
    folder: RunFolder,
    message: Mapping[str, Any],
    sent: Callable[[list[Accepted]], None],
) -> QueryFailure | None:
    """Carry out one message, by its work order, noting its steps in an order that survives a kill
    at any point; returns why it failed. Raises RunError when its record can't be stored, and
    KeyboardInterrupt after an interruption."""

    def remember(state: str) -> None:
        place = {name: message[name] for name in ("cell", "seq")}
        row = {**place, "state": state, "execution_id": query.execution_id}
        folder.append(EXECUTIONS, [row])

    def begun() -> None:
        sent([Accepted(message["seq"], query.message_id, now_ms(), 0)])
        remember("begun")

    def end(failure: QueryFailure | None) -> None:
        _put(query.target, _record(query, message, failure))
        remember("ended")

    remember("beginning")
    try:
        failure = query.run(begun)
    except KeyboardInterrupt:
        end(QueryFailure("QueryCancelled", "interrupted: cancelled by Ctrl-C"))
        raise
    end(failure)
    return failure


def _record(
    query: Query, message: Mapping[str, Any], failure: QueryFailure | None
) -> dict[str, Any]:
    """The record: the fields that every record has, in this order (functions/agreed/record.json),
    then the axes in the experiment's order, then the query's own. What Athena doesn't report is
    null."""
    target, statistics, objects = query.target, query.statistics, message.get("objects")
    seconds = {
        name: statistics[key] / 1000 if key in statistics else None for name, key in TIMES.items()
    }
    if failure:
        seconds["set_seconds"] = None
    elapsed_s = seconds["set_seconds"]
    ended_ms = now_ms() if elapsed_s is None else query.began_ms + round(elapsed_s * 1000)
    record = {"concurrency_limit": target["concurrency_value"]}
    if not failure:
        record[target.experiment.time_field] = elapsed_s
    record |= dict(
        memory_size=target["memory_size"],
        experiment_tag=target["experiment_tag"],
        **{name: message[name] for name in ("run_id", "cell", "seq")},
        message_id=query.message_id,
        request_id=query.request_id or query.token,
        sandbox_id=message["sandbox_id"],
        cold_start=0,
        attempt=1,
        started_at_ms=query.began_ms,
        finished_at_ms=ended_ms,
        bytes=statistics.get("DataScannedInBytes"),
        method="athena",
        status="error" if failure else "ok",
        **{name: message.get(name, 0) for name in ("round", "warm_up")},
    )
    axes = target.experiment.axes
    cell = Cell("", {**target.outputs, **message}, tuple(axes))
    record |= {axis.record_field: cell[axis.name] for axis in axes}
    record |= {
        "objects": objects,
        "objects_per_s": round(objects / elapsed_s, 3) if objects and elapsed_s else None,
        **seconds,
        "scanned_bytes": record["bytes"],
        "execution_id": query.execution_id or None,
        "retry_mode": RETRIES["mode"],
        "retry_attempts": RETRIES["total_max_attempts"],
        "sdk": f"botocore {botocore.__version__}",
        "experiment": target["experiment"],
    }
    if failure:
        cut = str(failure)[:LONGEST_ERROR_MESSAGE_CHARACTERS]
        record |= {"error_type": failure.error_type, "error_message": cut}
    return record


def _put(target: Target, record: Mapping[str, Any]) -> None:
    """Write a record into the stack's log group, as functions do. Raises RunError when it is
    refused."""
    logs, group = target.client("logs", **PATIENT), target["log_group_name"]
    place = {"logGroupName": group, "logStreamName": f"stampede/{record['run_id']}"}
    event = {"timestamp": now_ms(), "message": json.dumps(record, ensure_ascii=False)}
    with targets.explained(f"writing a record to {group}", target):
        with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(**place)
        answer = logs.put_log_events(**place, logEvents=[event])
    # A timestamp too old or too new by CloudWatch's clock is rejected with status 200.
    if answer.get("rejectedLogEventsInfo"):
        raise RunError(f"{group} rejected a record's timestamp; set this machine's clock")


class QueryFailure(Exception):
    """A query failed; `error_type` is the record's, the text says why in one line."""

    def __init__(self, error_type: str, why: str) -> None:
        super().__init__(why)
        self.error_type = error_type


@dataclass
class Query:
    """One execution of a query. Athena knows it by `token`: however often it is started, it runs
    once.

    `execution_id` and `request_id` are "" until it has started; `statistics` are Athena's latest.
    """

    target: Target
    execution: Execution
    token: str
    execution_id: str = ""
    request_id: str = ""
    began_ms: int = 0
    statistics: Mapping[str, Any] = field(default_factory=dict)
    _is_over: bool = False

    def __post_init__(self) -> None:
        self._client = self.target.client("athena", **PATIENT)

    @property
    def message_id(self) -> str:
        """The id of its message."""
        return self.execution_id or self.token

    def run(self, begun: Callable[[], None]) -> QueryFailure | None:
        """Run it, calling `begun` once its start has succeeded or failed; returns why it failed.
        However this ends, Athena works on it no more."""
        try:
            try:
                self._begin()
            finally:
                begun()
            self._wait()
            self._check_result()
        except QueryFailure as failure:
            return failure
        except (BotoCoreError, ClientError) as error:
            kind = kind_of(error)
            # A refused start needs no cancelling; after a fault the answer may have been lost.
            self._is_over |= not self.execution_id and kind is not Kind.FAULT
            return QueryFailure(_ERROR_TYPES.get(kind, "QueryFailed"), one_line(error))
        finally:
            self.stop()

    def stop(self) -> None:
        """Cancel it unless it is over; an id that was never received is asked for by the token.
        Reports a query that can't be cancelled."""
        if self._is_over:
            return
        try:
            self.execution_id = self.execution_id or self._start()["QueryExecutionId"]
            self._client.stop_query_execution(QueryExecutionId=self.execution_id)
        except (BotoCoreError, ClientError) as error:
            why = f"couldn't be cancelled, and may run to its end: {one_line(error)}"
            say(f"query {self.execution_id} {why}", style="yellow")

    def _begin(self) -> None:
        self.began_ms = now_ms()
        answer = self._start()
        self.execution_id = answer["QueryExecutionId"]
        self.request_id = answer["ResponseMetadata"].get("RequestId", "")

    def _start(self) -> dict[str, Any]:
        return self._client.start_query_execution(
            QueryString=self.execution.sql,
            ClientRequestToken=self.token,
            QueryExecutionContext={"Database": self.execution.database},
            WorkGroup=self.execution.workgroup,
            ResultReuseConfiguration={"ResultReuseByAgeConfiguration": {"Enabled": False}},
        )

    def _wait(self) -> None:
        """Wait until it has succeeded."""
        limit_s, state = self.execution.limit_s, ""
        pauses_s = growing(FIRST_POLL_S, SLOWER, LONGEST_POLL_S)
        for _ in looks(pauses_s, limit_s):
            try:
                answer = self._client.get_query_execution(QueryExecutionId=self.execution_id)
            except (BotoCoreError, ClientError) as error:
                if not kind_of(error).passes or is_gone(self.target):
                    raise
                state = f"no answer ({one_line(error)})"
                continue
            query = answer["QueryExecution"]
            self.statistics, state = query.get("Statistics") or {}, query["Status"]["State"]
            self._is_over = state in ("SUCCEEDED", "FAILED", "CANCELLED")
            if self._is_over:
                break
        else:
            why = f"{state} at the limit of {limit_s:g} s, so it was cancelled"
            raise QueryFailure("QueryTimedOut", why)
        if state != "SUCCEEDED":
            reason = query["Status"].get("StateChangeReason") or "Athena gives no reason"
            # CANCELLED by another user, or by the workgroup's limit
            error_type = "QueryCancelled" if state == "CANCELLED" else "QueryFailed"
            if _DENIED_WORDS.search(reason):
                error_type = "AccessDenied"
            raise QueryFailure(error_type, " ".join(reason.split()))

    def _check_result(self) -> None:
        answer = self._client.get_query_results(QueryExecutionId=self.execution_id, MaxResults=10)
        rows = answer["ResultSet"]["Rows"][1:]  # the first is the header
        got = [str(value.get("VarCharValue")) for row in rows for value in row["Data"]]
        if got != list(self.execution.expected):
            expected = ", ".join(self.execution.expected)
            why = f"expected {expected}, got {', '.join(got) or 'no row'}"
            raise QueryFailure("WrongResult", f"{why}; `stampede dataset` uploads what is missing")


def now_ms() -> int:
    """Milliseconds since the epoch, as in records and sent.jsonl."""
    return int(time.time() * 1000)
