"""What S3 itself saw of the run, from its server access logs, beside what the records say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stampede.phrases import NOTHING
from stampede.report.grid import Column, Entry, Grid, Row, number, single_lines, words
from stampede.report.sections.environment import moment
from stampede.report.sections.page import Block, Page
from stampede.runs import stored_json
from stampede.runs.run import Run

FILE = "server_side.json"
# The query that gave the rows; a copy leaves a line at its source too, which is no request of its own.
OF_A_SOURCE = "_GET"
# S3's answer where it is asked too often, SlowDown.
THROTTLED, FIRST_ERROR = 503, 400
# So few different requests among the lines aren't for want of precision: lines came twice.
REPEATED_BELOW = 0.95


@dataclass(frozen=True)
class Count:
    """Requests, bytes that were moved, requests that S3 refused or failed, and those of them that it throttled; None
    where nobody tells."""

    requests: int | None
    moved: int | None
    errors: int | None
    throttled: int | None


def render(page: Page) -> Block | None:
    """Nothing where S3's access logs weren't asked for, or have told nothing."""
    run = page.run
    told = stored_json.value_or_warning(run.directory / FILE, dict, run.warnings, is_optional=True)
    stored = told.get("rows") if told else None
    rows = [_whole(row) for row in stored if isinstance(row, dict)] if isinstance(stored, list) else []
    rows = [row for row in rows if _is_row(row)]
    if not rows:
        return None
    role = told.get("role")
    own = [row for row in rows if role and row.get("role") == role]
    return page.block(
        "server_side",
        "S3 access logs",
        beside=_beside(seen(own), _said(run)),
        operations=_operations(rows, role),
        asked_at=moment(told.get("asked_at")),
        spoke_of=_times(own),
        repeated=_repeated(rows),
        own=bool(own),
        file=FILE,
    )


def seen(rows: Iterable[Mapping[str, Any]]) -> Count:
    """What S3 saw, in rows of the saved query."""
    asked = [(row, row.get("status", 0)) for row in rows if not row["request"].endswith(OF_A_SOURCE)]
    return Count(
        sum(row["requests"] for row, _ in asked),
        sum(_moved(row) for row, status in asked if status < FIRST_ERROR),
        sum(row["requests"] for row, status in asked if status >= FIRST_ERROR),
        sum(row["requests"] for row, status in asked if status == THROTTLED),
    )


def _moved(row: Mapping[str, Any]) -> int:
    """Bytes sent, or of what was written the sizes: S3 sends nothing back for them."""
    wrote = any(word in row["request"] for word in (".PUT.", ".COPY."))
    return row.get("size_bytes" if wrote else "bytes_sent") or 0


def _said(run: Run) -> Count:
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
    rows = [[words(label), number(one), number(other), *_difference(one, other)] for label, one, other in named]
    columns = [Column("figure", words=True), Column("S3’s logs"), Column("records"), Column("difference"), Column("%")]
    return Grid("server-side-beside", "The run’s own requests, in S3’s logs and in the records", columns,
                single_lines(rows), heads=1)  # fmt: skip


def _difference(one: int | None, other: int | None) -> list[Entry]:
    if one is None or other is None:
        return [Entry(NOTHING)] * 2
    percent = (one - other) / other * 100 if other else None
    return [number(one - other, f"{one - other:+,}"), number(percent, None if percent is None else f"{percent:+.1f}")]


def _operations(rows: Sequence[Mapping[str, Any]], role: str | None) -> Grid:
    lines = [
        [
            words(row["request"]),
            words("the run’s" if role and row.get("role") == role else str(row.get("role") or "")),
            number(row.get("status"), str(row["status"]) if row.get("status") else None,
                   "bad" if row.get("status", 0) >= FIRST_ERROR else ""),
            words(str(row.get("error") or "")),
            *(number(row.get(name)) for name in ("requests", "bytes_sent", "size_bytes")),
        ]
        for row in rows
    ]  # fmt: skip
    columns = [Column("request", words=True), Column("role", words=True), Column("status"),
               Column("error", words=True), Column("requests"), Column("bytes sent"),
               Column("objects’ sizes", "bytes")]  # fmt: skip
    groups: list[list[Row]] = single_lines(lines)
    return Grid("server-side-operations", "All operations that S3 logged in that time", columns, groups, heads=2)


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with whole numbers as such: CloudWatch writes large ones with an exponent."""
    return {name: int(value) if type(value) is float and value.is_integer() else value for name, value in row.items()}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether it can be counted: what the query leaves out isn't there, and the rest is of its kind."""
    numbers = ("requests", "status", "bytes_sent", "size_bytes")
    whole = all(type(row.get(name, 0)) is int for name in numbers)
    return whole and "requests" in row and isinstance(row.get("request"), str)


def _times(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """When S3 got the first and the last of these requests."""
    first = [row["first_request"] for row in rows if isinstance(row.get("first_request"), str)]
    last = [row["last_request"] for row in rows if isinstance(row.get("last_request"), str)]
    return (moment(min(first)), moment(max(last))) if first and last else None


def _repeated(rows: Sequence[Mapping[str, Any]]) -> bool:
    known = [row for row in rows if type(row.get("request_ids")) is int]
    return sum(row["request_ids"] for row in known) < REPEATED_BELOW * sum(row["requests"] for row in known)
