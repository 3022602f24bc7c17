"""A run as S3 saw it: the answer of a saved query over S3's server access logs in CloudWatch Logs.

The lines have no run_id, so the query covers the run's time. S3 delivers them late, twice or not at
all (docs/server_side_proof.md), so missing lines are reported and fail no run; a stored answer is
replaced only by one with at least as many requests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict

from stampede.checkout import QUERIES
from stampede.errors import RunError, UsageError
from stampede.insights.backends import Answer, LinesGoneError, Service, time_range_ms
from stampede.interruption import signals
from stampede.phrases import counted, minutes
from stampede.planning.access_log import POLL_S, WAIT_S
from stampede.polling import looks
from stampede.progress import say
from stampede.runs import stored_json
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

FILE = "server_side.json"
# Queries in this folder read the log group that this output names, not the functions' own.
SAVED = QUERIES / "access_log"
LOG_GROUP = "access_log_group_name"


def ask(target: Target, folder: RunFolder, text: str) -> Answer:
    """The answer for the run's time. Raises LinesGoneError if the stack has no access logs, or no
    longer those stored with the run, and what `Service.ask` raises."""
    if not target.outputs.get(LOG_GROUP):
        raise LinesGoneError(
            "the applied stack doesn't log S3's own access logs: server_side_proof is false"
        )
    answer = Service(target, *time_range_ms(folder), LOG_GROUP).ask(text)
    if not answer.rows and stored(folder) is not None:
        raise LinesGoneError(
            f"the log group {target[LOG_GROUP]} has no line of that time: it was created later, or "
            "its lines have expired"
        )
    return answer


def store(target: Target, folder: RunFolder, answer: Answer) -> bool:
    """Store the rows with the run, unless there are none, or more requests are stored already:
    lines expire. Returns whether it did."""
    if not answer.rows or requests(answer.rows) < requests((stored(folder) or {}).get("rows", ())):
        return False
    asked = {
        "asked_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "log_group": target[LOG_GROUP],
        "role": target["worker_role_name"],
        **dict(zip(("from_ms", "to_ms"), time_range_ms(folder), strict=True)),
    }
    folder.write_json(FILE, {**asked, "columns": answer.columns, "rows": answer.rows})
    return True


class _Row(TypedDict):
    request: Any
    requests: int | float


class _Stored(TypedDict):
    asked_at: Any
    role: Any
    columns: list[Any]
    rows: list[_Row]


def stored(folder: RunFolder) -> dict[str, Any] | None:
    """What `store` has stored; None if there is nothing, or nothing valid."""
    answer = folder.read_json(FILE)
    try:
        stored_json.typed(answer, _Stored)
    except ValueError:
        return None
    return answer


def collect(
    target: Target,
    folder: RunFolder,
    *,
    kept: bool,
) -> None:
    """Query the logs at the end of a sweep, and store the answer; reports expected errors.

    Once if the stack is `kept`, as a later query is possible; else until S3 has logged as many
    requests as the records have, for at most WAIT_S. Ctrl-C ends the wait.
    """
    if not target.outputs.get(LOG_GROUP):
        return
    is_logged = target.experiment.is_logged
    expected = sum(
        record.get("requests") or 0 for record in folder.rows("records.jsonl") if is_logged(record)
    )
    wait_s = 0.0 if kept or not expected else WAIT_S
    if wait_s:
        say(
            f"waiting for S3's access logs, at most {minutes(wait_s)} (Ctrl-C continues without "
            "them)"
        )
    text = (SAVED / "server_side.cwli").read_text()
    try:
        for _ in looks(itertools.repeat(POLL_S), wait_s):
            answer = ask(target, folder, text)
            store(target, folder, answer)
            if requests(answer.rows, target["worker_role_name"]) >= expected:
                break
    except KeyboardInterrupt:
        if signals.first:
            raise
        say("stopped waiting", style="yellow")
    except (RunError, UsageError) as error:
        say(f"S3's access logs: {error}", style="yellow")
    logged = requests((stored(folder) or {}).get("rows", ()), target["worker_role_name"])
    if logged < expected:
        query = f"stampede query {FILE.partition('.')[0]} --run {folder.name}"
        later = f"`{query}` reads lines that arrive later, even after hours"
        gone = "lines that arrive later are lost with the stack (--keep leaves it)"
        so_far = f"S3 has logged {logged:,} of {counted(expected, 'request')} so far"
        say(f"{so_far}; {later if kept else gone}", style="yellow")


def requests(rows: Iterable[Mapping[str, Any]], role: str | None = None) -> int:
    """The number of requests in the rows of the saved query, of all roles or one. A copy counts
    once, at its destination."""
    return sum(
        row["requests"]
        for row in rows
        if not str(row["request"]).endswith("_GET") and (role is None or row.get("role") == role)
    )
