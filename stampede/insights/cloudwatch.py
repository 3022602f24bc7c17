"""Runs a query on the real service: StartQuery, then polls until it is Complete; any other end is
an error."""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import RunError, UsageError
from stampede.polling import looks

POLL_S = 1.0
# The service ends queries after 60 minutes.
PATIENCE_S = 3600
RESULT_LIMIT = 10_000  # rows of a query without `limit`; GetQueryResults
_ENDED = {
    "Failed": "run it again; if it fails again, shorten it or its time range",
    "Timeout": "CloudWatch stops queries after 60 minutes; narrow its time range",
    "Cancelled": "someone stopped it; run it again",
}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(E-?[0-9]+)?")


@dataclass(frozen=True)
class ServiceResult:
    """The answer of GetQueryResults: columns in order of appearance, rows of strings, and the
    service's statistics."""

    columns: list[str]
    rows: list[dict[str, str]]
    statistics: dict[str, float]

    def typed_rows(self) -> list[dict[str, Any]]:
        """The rows, with every value that the service writes as a number converted to one."""
        return [{name: typed(value) for name, value in row.items()} for row in self.rows]


def run_on_service(
    logs_client: Any,
    log_group_name: str,
    text: str,
    start_ms: int,
    end_ms: int,
    row_limit: int | None = None,
) -> ServiceResult:
    """Runs `text` on the log group between two epoch milliseconds (rounded outwards to seconds).

    `row_limit` is the query's own limit; without one, reaching RESULT_LIMIT rows raises UsageError,
    since some may be missing. Raises RunError when the query ends in any status but Complete;
    boto3's exceptions pass through. An unfinished query is stopped, also after Ctrl-C.
    """
    query_id = logs_client.start_query(
        logGroupName=log_group_name,
        startTime=start_ms // 1000,
        endTime=-(-end_ms // 1000),
        queryString=text,
        limit=row_limit or RESULT_LIMIT,
    )["queryId"]
    try:
        answer = _completed(logs_client, query_id)
    except BaseException as error:
        if not isinstance(error, RunError):
            with contextlib.suppress(ClientError, BotoCoreError):
                logs_client.stop_query(queryId=query_id)
        raise
    events = list(answer["results"])
    page = answer
    while token := page.get("nextToken"):
        page = logs_client.get_query_results(queryId=query_id, nextToken=token)
        events += page["results"]
    if row_limit is None and len(events) >= RESULT_LIMIT:
        raise UsageError(too_many_rows())
    rows = [
        {field["field"]: field["value"] for field in event if field["field"] != "@ptr"}
        for event in events
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return ServiceResult(columns, rows, answer.get("statistics", {}))


def typed(value: str) -> Any:
    """An int or float if `value` is written as the service writes numbers; 007, nan and 1e5
    stay text."""
    if not _NUMBER.fullmatch(value):
        return value
    return int(value) if value.lstrip("-").isdigit() else float(value)


def _completed(logs_client: Any, query_id: str) -> dict[str, Any]:
    for _ in looks(itertools.repeat(POLL_S), PATIENCE_S):
        answer = logs_client.get_query_results(queryId=query_id)
        status = answer["status"]
        if status == "Complete":
            return answer
        if status not in ("Scheduled", "Running"):
            fix = _ENDED.get(status, "run it again")
            raise RunError(f"CloudWatch returned status {status} for query {query_id}; {fix}")
    with contextlib.suppress(ClientError, BotoCoreError):
        logs_client.stop_query(queryId=query_id)
    raise RunError(
        f"CloudWatch didn't complete query {query_id} within {PATIENCE_S} s; narrow its time range"
    )


def too_many_rows() -> str:
    """The error message for a result that may lack rows."""
    return (
        f"the result has {RESULT_LIMIT:,} rows or more, and a query without a limit returns no "
        "more than that; aggregate, or end the query with `| limit N` (up to 100000)"
    )
