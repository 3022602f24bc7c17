"""The records of queries that Athena carried out, written to the stack's log group as functions write theirs."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

import botocore
from botocore.exceptions import ClientError

from loader.athena import PATIENCE_S, Query, QueryFailure, patiently
from stampede.errors import RunError
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import RETRIES, Target

LONGEST_ERROR_MESSAGE_CHARACTERS = 300
# The record's words for what Athena says in milliseconds (API reference, QueryExecutionStatistics).
TIMES = {
    "queue_seconds": "QueryQueueTimeInMillis",
    "planning_seconds": "QueryPlanningTimeInMillis",
    "engine_seconds": "EngineExecutionTimeInMillis",
    "service_seconds": "ServiceProcessingTimeInMillis",
}


class ExecutionRecords:
    """The records of a cell's queries, as lines in a stream of the stack's log group.

    Their keys: those that all records begin with; `warm_up`; the axes by their record's word, in the order in which the
    experiment declares them, but for those that stand before; what the query gave; `retry_mode`, `retry_attempts`,
    `sdk`, `experiment`; the error. What Athena doesn't tell is null.
    """

    def __init__(
        self, target: Target, run_id: str, cell: str, order: Mapping[str, Any], warm_up: int, round_number: int = 0
    ) -> None:
        """`order` is what the cell's work orders would say."""
        self._target, self._run_id, self._cell = target, run_id, cell
        self._warm_up, self._round = warm_up, round_number
        self._axes = _axes(target, order)
        self._logs = target.client("logs")
        self._place = {"logGroupName": target["log_group_name"], "logStreamName": f"stampede/{run_id}"}
        self._has_stream = False
        self._sandbox_id = str(uuid.uuid4())

    def store(
        self,
        seq: int,
        message_id: str,
        query: Query,
        started_at_ms: int,
        failure: QueryFailure | None,
        *,
        objects: int | None,
    ) -> None:
        """Write the record of one message, its query being over `objects`. Raises RunError where it can't be.

        What stands before `warm_up`, every record has, in this order (functions/agreed/record.json).
        """
        elapsed_s = None if failure else _seconds(query.statistics, "TotalExecutionTimeInMillis")
        elapsed = {} if failure else {self._target.experiment.time_field: elapsed_s}
        common = dict(  # noqa: C408 - as a text, one would name an experiment's variable
            memory_size=self._target["memory_size"],
            experiment_tag=self._target["experiment_tag"],
            run_id=self._run_id,
            cell=self._cell,
            seq=seq,
            message_id=message_id,
            request_id=query.request_id or str(uuid.uuid4()),
            sandbox_id=self._sandbox_id,
            cold_start=0,
            attempt=1,
            started_at_ms=started_at_ms,
            finished_at_ms=now_ms() if elapsed_s is None else started_at_ms + round(elapsed_s * 1000),
            bytes=query.statistics.get("DataScannedInBytes"),
            method="athena",
            status="error" if failure else "ok",
            round=self._round,
            warm_up=self._warm_up,
        )
        record = {"concurrency_limit": self._target["concurrency_value"], **elapsed, **common}
        record |= {name: value for name, value in self._axes.items() if name not in record}
        record |= self._own(query, elapsed_s, objects)
        if failure is not None:
            message = str(failure)[:LONGEST_ERROR_MESSAGE_CHARACTERS]
            record |= {"error_type": failure.error_type, "error_message": message}
        event = {"timestamp": now_ms(), "message": json.dumps(record, ensure_ascii=False)}
        with targets.explained(f"writing a record to {self._place['logGroupName']}", self._target):
            patiently(lambda: self._put(event), self._target, time.monotonic() + PATIENCE_S)

    def _own(self, query: Query, elapsed_s: float | None, objects: int | None) -> dict[str, Any]:
        return {
            "objects": objects,
            "objects_per_s": round(objects / elapsed_s, 3) if objects and elapsed_s else None,
            "set_seconds": elapsed_s,
            **{name: _seconds(query.statistics, key) for name, key in TIMES.items()},
            "scanned_bytes": query.statistics.get("DataScannedInBytes"),
            "execution_id": query.execution_id or None,
            "retry_mode": RETRIES["mode"],
            "retry_attempts": RETRIES["total_max_attempts"],
            "sdk": f"botocore {botocore.__version__}",
            "experiment": self._target["experiment"],
        }

    def _put(self, event: dict[str, Any]) -> None:
        if not self._has_stream:
            try:
                self._logs.create_log_stream(**self._place)
            except ClientError as error:
                if code_of(error) != "ResourceAlreadyExistsException":
                    raise
            self._has_stream = True
        answer = self._logs.put_log_events(**self._place, logEvents=[event])
        if answer.get("rejectedLogEventsInfo"):  # with status 200: too old or too new, by CloudWatch's clock
            raise RunError(
                f"{self._place['logGroupName']}: CloudWatch Logs rejected a record because of its timestamp; set this "
                "machine's clock"
            )


def now_ms() -> int:
    """Milliseconds since the epoch, as records and sent.jsonl have them."""
    return time.time_ns() // 1_000_000


def _axes(target: Target, order: Mapping[str, Any]) -> dict[str, Any]:
    """Every axis of the cell by its record's word: as the work order says, else the stack, else by default."""
    settings, values, fields = {**target.outputs, **order}, [], {}
    for axis in target.experiment.axes:
        value = settings.get(axis.variable)
        values.append(axis.default_of(values) if value is None else value)
        fields[axis.record_field] = values[-1]
    return fields


def _seconds(statistics: Mapping[str, Any], name: str) -> float | None:
    """A time of Athena's, which says milliseconds; None where it doesn't say."""
    value = statistics.get(name)
    return None if value is None else value / 1000
