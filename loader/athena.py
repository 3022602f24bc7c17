"""One query on Athena: begun once, waited for with patience, cancelled at its limit, and its result checked."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import one_line
from stampede.experiment import Execution
from stampede.polling import growing, looks
from stampede.progress import say
from stampede.stacks.aws_errors import Kind, kind_of
from stampede.stacks.target import Target, is_gone

Answer = TypeVar("Answer")
Clock = Callable[[], float]
Sleep = Callable[[float], None]

# Between two looks at a query: the times in its record are Athena's own, so this decides nothing that is measured.
FIRST_POLL_S, LONGEST_POLL_S, SLOWER = 0.1, 5.0, 1.5
# For how long a call that isn't answered is made again where no query's limit says it; botocore tries 5 times each.
PATIENCE_S = 60.0
# The record's word for a call that failed; any other is QueryFailed.
_ERROR_TYPES = {
    Kind.DENIED: "AccessDenied",
    Kind.THROTTLED: "SlowDown",
    Kind.FAULT: "NoConnection",
    Kind.CREDENTIALS: "NoCredentials",
}
_SILENCE = ("SlowDown", "NoConnection")
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
        self._target, self._client = target, target.client("athena")
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
            answer = self._ask(self._start, PATIENCE_S)
        except QueryFailure as failure:
            self._is_over = failure.error_type != "NoConnection"  # it was refused; else its answer may be lost
            raise
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
        began_s, limit_s = self._clock(), self._execution.limit_s
        pauses_s = growing(FIRST_POLL_S, SLOWER, LONGEST_POLL_S)
        for _ in looks(pauses_s, began_s + limit_s, clock=self._clock, sleep=self._sleep):
            try:
                status = self._ask(self._look, began_s + limit_s - self._clock())
            except QueryFailure as failure:
                if failure.error_type not in _SILENCE:
                    raise
                waited_s = self._clock() - began_s
                raise QueryFailure(
                    "QueryTimedOut", f"no answer in {waited_s:.0f} s of {limit_s:g}: {failure}"
                ) from None
            note(f"{status['State']}, {self._clock() - began_s:.1f} s")
            if self._is_over:
                return _raise_unless_succeeded(status)
        raise QueryFailure("QueryTimedOut", f"{status['State']} at the limit of {limit_s:g} s, so it was cancelled")

    def _look(self) -> dict[str, Any]:
        answer = self._client.get_query_execution(QueryExecutionId=self.execution_id)["QueryExecution"]
        self.statistics = answer.get("Statistics") or {}
        self._is_over = answer["Status"]["State"] in ("SUCCEEDED", "FAILED", "CANCELLED")
        return answer["Status"]

    def _check_result(self) -> None:
        wanted = {"QueryExecutionId": self.execution_id, "MaxResults": 10}
        answer = self._ask(lambda: self._client.get_query_results(**wanted), PATIENCE_S)
        rows = [[value.get("VarCharValue") for value in row["Data"]] for row in answer["ResultSet"]["Rows"]]
        if rows[1:] != [list(self._execution.expected)]:  # the first row has the columns' names
            got = "; ".join(map(_words, rows[1:])) or "no row"
            why = f"expected {_words(self._execution.expected)}, got {got}; `stampede dataset` uploads what is missing"
            raise QueryFailure("WrongResult", why)

    def _ask(self, call: Callable[[], Answer], patience_s: float) -> Answer:
        """What a call answers. Raises QueryFailure, in the words that records have."""
        try:
            return patiently(call, self._target, self._clock() + patience_s, self._clock, self._sleep)
        except (BotoCoreError, ClientError) as error:
            raise QueryFailure(_ERROR_TYPES.get(kind_of(error), "QueryFailed"), one_line(error)) from None


def patiently(
    call: Callable[[], Answer],
    target: Target,
    until_s: float,
    clock: Clock = time.monotonic,
    sleep: Sleep = time.sleep,
) -> Answer:
    """What `call` answers, made again until `until_s` on the clock while its error may pass; raises the last one."""
    for number in looks(growing(0.5, 2, LONGEST_POLL_S), until_s, clock=clock, sleep=sleep):
        try:
            return call()
        except (BotoCoreError, ClientError) as error:
            if not kind_of(error).passes or is_gone(target):
                raise
            if number == 0:
                say(f"{one_line(error)}; trying again", style="yellow")
            last_error = error
    raise last_error


def _raise_unless_succeeded(status: Mapping[str, Any]) -> None:
    reason = " ".join((status.get("StateChangeReason") or "Athena gives no reason").split())
    if status["State"] == "CANCELLED":
        raise QueryFailure("QueryCancelled", reason)  # by somebody else, or by the workgroup's limit
    if status["State"] == "FAILED":
        raise QueryFailure("AccessDenied" if _DENIED_WORDS.search(reason) else "QueryFailed", reason)


def _words(row: Sequence[Any]) -> str:
    return ", ".join(map(str, row))
