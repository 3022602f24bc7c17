"""One query on Athena: begun once, waited for with patience, cancelled at its limit, and its result checked."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import one_line
from stampede.experiment import Execution
from stampede.polling import growing, looks
from stampede.progress import say
from stampede.stacks.aws_errors import Kind, kind_of
from stampede.stacks.target import Target, is_gone

Clock = Callable[[], float]
Sleep = Callable[[float], None]

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


class Query:
    """One execution of a query, known to Athena by `token`: however often it is begun, it runs once.

    `execution_id` and `request_id` are "" until it has begun; `statistics` are Athena's, as far as they are known.
    """

    def __init__(
        self,
        target: Target,
        execution: Execution,
        token: str,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._target, self._client = target, target.client("athena", **PATIENT)
        self._execution, self._token = execution, token
        self._clock, self._sleep = clock, sleep
        self._is_over = False
        self.execution_id = self.request_id = ""
        self.statistics: Mapping[str, Any] = {}

    def carry_out(self, begun: Callable[[], None], note: Callable[[str], None]) -> None:
        """Begin it and wait until its result is there and as expected; raises QueryFailure, and what interrupts.

        `begun` is called as soon as the id is known, `note` with the state in words after every look. Whatever ends the
        waiting, no query is left running.
        """
        try:
            self._begin()
            begun()
            self._wait(note)
            self._check_result()
        except BaseException:
            if not self._is_over:
                self.stop()
            raise

    def stop(self) -> None:
        """Cancel it; one whose id was never told is asked for by its token. Says so where that can't be done."""
        try:
            self.execution_id = self.execution_id or self._start()["QueryExecutionId"]
            self._client.stop_query_execution(QueryExecutionId=self.execution_id)
        except (BotoCoreError, ClientError) as error:
            which = f"query {self.execution_id}".strip()
            say(f"{which} couldn't be cancelled, and may run to its end: {one_line(error)}", style="yellow")
            return
        with contextlib.suppress(BotoCoreError, ClientError):
            self._look()  # for its statistics

    def _begin(self) -> None:
        try:
            answer = self._start()
        except (BotoCoreError, ClientError) as error:
            self._is_over = kind_of(error) is not Kind.FAULT  # it was refused; else its answer may be lost
            raise failure_of(error) from None
        self.execution_id = answer["QueryExecutionId"]
        self.request_id = answer.get("ResponseMetadata", {}).get("RequestId", "")

    def _start(self) -> dict[str, Any]:
        return self._client.start_query_execution(
            QueryString=self._execution.sql,
            ClientRequestToken=self._token,
            QueryExecutionContext={"Database": self._execution.database},
            WorkGroup=self._execution.workgroup,
            ResultReuseConfiguration={"ResultReuseByAgeConfiguration": {"Enabled": False}},
        )

    def _wait(self, note: Callable[[str], None]) -> None:
        began_s, limit_s, words = self._clock(), self._execution.limit_s, "no answer"
        pauses_s = growing(FIRST_POLL_S, SLOWER, LONGEST_POLL_S)
        for _ in looks(pauses_s, began_s + limit_s, clock=self._clock, sleep=self._sleep):
            try:
                status = self._look()
            except (BotoCoreError, ClientError) as error:
                if not kind_of(error).passes or is_gone(self._target):
                    raise failure_of(error) from None
                words = f"no answer ({one_line(error)})"
                continue
            words = status["State"]
            note(f"{words}, {self._clock() - began_s:.1f} s")
            if self._is_over:
                return _raise_unless_succeeded(status)
        raise QueryFailure("QueryTimedOut", f"{words} at the limit of {limit_s:g} s, so it was cancelled")

    def _look(self) -> dict[str, Any]:
        answer = self._client.get_query_execution(QueryExecutionId=self.execution_id)["QueryExecution"]
        self.statistics = answer.get("Statistics") or {}
        self._is_over = answer["Status"]["State"] in ("SUCCEEDED", "FAILED", "CANCELLED")
        return answer["Status"]

    def _check_result(self) -> None:
        try:
            answer = self._client.get_query_results(QueryExecutionId=self.execution_id, MaxResults=10)
        except (BotoCoreError, ClientError) as error:
            raise failure_of(error) from None
        rows = [[value.get("VarCharValue") for value in row["Data"]] for row in answer["ResultSet"]["Rows"]]
        if rows[1:] != [list(self._execution.expected)]:  # the first row has the columns' names
            got = "; ".join(map(_words, rows[1:])) or "no row"
            why = f"expected {_words(self._execution.expected)}, got {got}; `stampede dataset` uploads what is missing"
            raise QueryFailure("WrongResult", why)


def failure_of(error: BotoCoreError | ClientError) -> QueryFailure:
    """A call's error as the failure of the query, in the words that records have."""
    return QueryFailure(_ERROR_TYPES.get(kind_of(error), "QueryFailed"), one_line(error))


def _raise_unless_succeeded(status: Mapping[str, Any]) -> None:
    reason = " ".join((status.get("StateChangeReason") or "Athena gives no reason").split())
    if status["State"] == "CANCELLED":
        raise QueryFailure("QueryCancelled", reason)  # by somebody else, or by the workgroup's limit
    if status["State"] == "FAILED":
        raise QueryFailure("AccessDenied" if _DENIED_WORDS.search(reason) else "QueryFailed", reason)


def _words(row: Sequence[Any]) -> str:
    return ", ".join(map(str, row))
