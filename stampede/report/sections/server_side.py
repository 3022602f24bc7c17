"""What S3 itself logged of the run, in its server access logs, beside what the records say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stampede.phrases import NOTHING, signed
from stampede.report.grid import Column, Entry, Grid, number, single_lines, words
from stampede.report.run import Run
from stampede.report.sections.about import moment
from stampede.report.sections.page import Block, Page
from stampede.runs import stored_json

FILE = "server_side.json"
# The query that gave the rows; a copy leaves a line at its source too, which is no request of its own.
OF_A_SOURCE = "_GET"
# S3's answer where it is asked too often, SlowDown.
THROTTLED, FIRST_ERROR = 503, 400
# So few different requests among the lines aren't a lack of precision: lines came twice.
REPEATED_BELOW = 0.95


@dataclass(frozen=True)
class Count:
    """Requests, bytes that were transferred, requests that S3 refused or failed, and those of them that it throttled;
    None where it isn't known."""

    requests: int | None
    moved: int | None
    errors: int | None
    throttled: int | None


def server_side(page: Page) -> Block | None:
    """None where S3's access logs weren't asked for, or had no line."""
    run = page.run
    stored = stored_json.value_or_warning(run.directory / FILE, dict, run.warnings, is_optional=True)
    rows = stored.get("rows") if stored else None
    rows = [_whole(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    rows = [row for row in rows if _is_row(row)]
    if not rows:
        return None
    role = stored.get("role")
    own = [row for row in rows if role and row.get("role") == role]
    first = [row["first_request"] for row in own if isinstance(row.get("first_request"), str)]
    last = [row["last_request"] for row in own if isinstance(row.get("last_request"), str)]
    counted = [row for row in rows if type(row.get("request_ids")) is int]
    ids, requests = (sum(row[name] for row in counted) for name in ("request_ids", "requests"))
    return page.block(
        "server_side",
        "S3 access logs",
        beside=_beside(seen(own), _recorded(run)),
        logged=_logged(rows, role),
        asked_at=moment(stored.get("asked_at")),
        spoke_of=(moment(min(first)), moment(max(last))) if first and last else None,
        repeated=ids < REPEATED_BELOW * requests,
        own=bool(own),
        file=FILE,
    )


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with whole numbers as such: CloudWatch writes large ones with an exponent."""
    return {name: int(value) if type(value) is float and value.is_integer() else value for name, value in row.items()}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether it can be counted: what the query leaves out isn't there, and the rest is of its kind."""
    numbers = ("requests", "status", "bytes_sent", "size_bytes")
    whole = all(type(row.get(name, 0)) is int for name in numbers)
    return whole and "requests" in row and isinstance(row.get("request"), str)


def seen(rows: Iterable[Mapping[str, Any]]) -> Count:
    """What S3 saw, in rows of the saved query."""
    requests = moved = errors = throttled = 0
    for row in rows:
        if row["request"].endswith(OF_A_SOURCE):
            continue
        status, count = row.get("status", 0), row["requests"]
        # Of what was written the sizes: S3 sends nothing back for them.
        is_written = any(word in row["request"] for word in (".PUT.", ".COPY."))
        requests += count
        moved += 0 if status >= FIRST_ERROR else row.get("size_bytes" if is_written else "bytes_sent") or 0
        errors += count if status >= FIRST_ERROR else 0
        throttled += count if status == THROTTLED else 0
    return Count(requests, moved, errors, throttled)


def _recorded(run: Run) -> Count:
    """What all records say whose requests S3 logs: warm-ups and failures asked S3 too. Of requests sent again, how many
    S3 had refused; a connection that broke is among them."""
    path = run.directory / "records.jsonl"
    sums: dict[str, int | None] = dict.fromkeys(("requests", "bytes", "retries", "slowdowns"))
    for _, row in stored_json.rows(path, []) if path.exists() else ():
        if run.experiment.is_logged(row):
            for name in sums:
                if type(value := row.get(name)) is int:
                    sums[name] = (sums[name] or 0) + value
    return Count(*sums.values())


def _beside(s3: Count, records: Count) -> Grid:
    named = (
        ("requests", s3.requests, records.requests),
        ("bytes transferred", s3.moved, records.moved),
        ("errors, and retried requests", s3.errors, records.errors),
        ("503 SlowDown", s3.throttled, records.throttled),
    )
    rows = []
    for label, ours, theirs in named:
        entries = [words(label), number(ours), number(theirs)]
        if ours is None or theirs is None:
            rows.append([*entries, Entry(NOTHING), Entry(NOTHING)])
            continue
        percent = (ours - theirs) / theirs * 100 if theirs else None
        entries.append(number(ours - theirs, signed(ours - theirs, 0)))
        rows.append([*entries, number(percent, None if percent is None else signed(percent, 1))])
    columns = [Column("figure", words=True), *map(Column, ("S3’s logs", "records", "difference", "%"))]
    caption = "The run’s own requests, in S3’s logs and in the records"
    return Grid("server-side-beside", caption, columns, single_lines(rows), heads=1)


def _logged(rows: Sequence[Mapping[str, Any]], role: str | None) -> Grid:
    lines = []
    for row in rows:
        status = row.get("status")
        lines.append(
            [
                words(row["request"]),
                words("the run’s" if role and row.get("role") == role else str(row.get("role") or "")),
                number(status, str(status) if status else None, "bad" if (status or 0) >= FIRST_ERROR else ""),
                words(str(row.get("error") or "")),
                *(number(row.get(name)) for name in ("requests", "bytes_sent", "size_bytes")),
            ]
        )
    columns = [
        Column("request", words=True),
        Column("role", words=True),
        Column("status"),
        Column("error", words=True),
        Column("requests"),
        Column("bytes sent"),
        Column("objects’ sizes", "bytes"),
    ]
    caption = "All operations that S3 logged in that time"
    return Grid("server-side-operations", caption, columns, single_lines(lines), heads=2)
