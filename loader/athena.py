"""One query on Athena: begun once, waited for with patience, cancelled at its limit, and its result checked."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import one_line
from stampede.experiment import Execution
from stampede.polling import growing, looks
from stampede.progress import say
from stampede.stacks.aws_errors import Kind, kind_of
from stampede.stacks.target import Target, is_gone

# Between two looks at a query: the times in its record are Athena's own, so this decides nothing that is measured.
FIRST_POLL_S, LONGEST_POLL_S, SLOWER = 0.1, 5.0, 1.5
# Of calls that aren't answered, or throttled: botocore makes them again for a minute or two.
PATIENT = {"retries": {"mode": "standard", "total_max_attempts": 10}}
# The record's word for a call that failed; any other is QueryFailed.
_ERROR_TYPES = {
    Kind.DENIED: "AccessDenied",
    Kind.THROTTLED: "SlowDown",
    Kind.FAULT: "NoConnection",
    Kind.CREDENTIALS: "NoCredentials",
}
# Athena gives a reason in words; S3's and Glue's refusals stand in it.
_DENIED_WORDS = re.compile(r"access ?denied|permission", re.I)


class QueryFailure(Exception):
    """A query that came to no good end; `error_type` is the record's word for it, the text says why in one line."""

    def __init__(self, error_type: str, why: str) -> None:
        super().__init__(why)
        self.error_type = error_type


@dataclass
class Query:
    """One execution of a query, known to Athena by `token`: however often it is begun, it runs once.

    `execution_id` and `request_id` are "" until it has begun; `statistics` are Athena's, as far as they are known.
    """

    target: Target
    execution: Execution
    token: str
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    execution_id: str = ""
    request_id: str = ""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    is_interrupted: bool = False
    _is_over: bool = False

    def __post_init__(self) -> None:
        self._client = self.target.client("athena", **PATIENT)

    def attempt(self, step: Callable[[], None]) -> QueryFailure | None:
        """Do `begin` or `finish`; gives why the query failed. None runs on then; `is_interrupted` says Ctrl-C."""
        try:
            return step()
        except QueryFailure as error:
            failure = error
        except (BotoCoreError, ClientError) as error:
            kind = kind_of(error)
            self._is_over = not self.execution_id and kind is not Kind.FAULT  # refused; a fault's answer may be lost
            failure = QueryFailure(_ERROR_TYPES.get(kind, "QueryFailed"), one_line(error))
        except KeyboardInterrupt:
            self.is_interrupted = True
            failure = QueryFailure("QueryCancelled", "interrupted: cancelled by Ctrl-C")
        self.stop()
        return failure

    def begin(self) -> None:
        """Begin it. Raises what boto3 raises."""
        answer = self._start()
        self.execution_id = answer["QueryExecutionId"]
        self.request_id = answer.get("ResponseMetadata", {}).get("RequestId", "")

    def finish(self, note: Callable[[str], None]) -> None:
        """Wait until its result is there and as expected; `note` is called with the state after every look. Raises
        QueryFailure, and what boto3 raises."""
        self._wait(note)
        answer = self._client.get_query_results(QueryExecutionId=self.execution_id, MaxResults=10)
        _, *rows = ([value.get("VarCharValue") for value in row["Data"]] for row in answer["ResultSet"]["Rows"])
        if rows != [list(self.execution.expected)]:  # the first row had the columns' names
            got = "; ".join(", ".join(map(str, row)) for row in rows) or "no row"
            expected = ", ".join(self.execution.expected)
            why = f"expected {expected}, got {got}; `stampede dataset` uploads what is missing"
            raise QueryFailure("WrongResult", why)

    def stop(self) -> None:
        """Cancel it unless it is over; one whose id was never told is asked for by its token. Says so where that can't
        be done."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self.execution_id = self.execution_id or self._start()["QueryExecutionId"]
            self._client.stop_query_execution(QueryExecutionId=self.execution_id)
        except (BotoCoreError, ClientError) as error:
            which = f"query {self.execution_id}".strip()
            say(f"{which} couldn't be cancelled, and may run to its end: {one_line(error)}", style="yellow")
            return
        with contextlib.suppress(BotoCoreError, ClientError):
            self._look()  # for its statistics

    def _start(self) -> dict[str, Any]:
        return self._client.start_query_execution(
            QueryString=self.execution.sql,
            ClientRequestToken=self.token,
            QueryExecutionContext={"Database": self.execution.database},
            WorkGroup=self.execution.workgroup,
            ResultReuseConfiguration={"ResultReuseByAgeConfiguration": {"Enabled": False}},
        )

    def _wait(self, note: Callable[[str], None]) -> None:
        limit_s, state = self.execution.limit_s, ""
        pauses_s, until_s = growing(FIRST_POLL_S, SLOWER, LONGEST_POLL_S), self.clock() + limit_s
        for _ in looks(pauses_s, until_s, clock=self.clock, sleep=self.sleep):
            try:
                status = self._look()
            except (BotoCoreError, ClientError) as error:
                if not kind_of(error).passes or is_gone(self.target):
                    raise
                state = f"no answer ({one_line(error)})"
                continue
            state = status["State"]
            note(state)
            reason = " ".join((status.get("StateChangeReason") or "Athena gives no reason").split())
            if state == "CANCELLED":
                raise QueryFailure("QueryCancelled", reason)  # by somebody else, or by the workgroup's limit
            if state == "FAILED":
                raise QueryFailure("AccessDenied" if _DENIED_WORDS.search(reason) else "QueryFailed", reason)
            if state == "SUCCEEDED":
                return
        raise QueryFailure("QueryTimedOut", f"{state} at the limit of {limit_s:g} s, so it was cancelled")

    def _look(self) -> dict[str, Any]:
        answer = self._client.get_query_execution(QueryExecutionId=self.execution_id)["QueryExecution"]
        self.statistics = answer.get("Statistics") or {}
        self._is_over = answer["Status"]["State"] in ("SUCCEEDED", "FAILED", "CANCELLED")
        return answer["Status"]
