"""What S3's server access logs say of a run, next to its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stampede.report.render import Detail
from stampede.report.run import Run
from stampede.runs import stored_json
from stampede.tables import Field, Row, Table

FILE = "server_side.json"
# A copy also logs a line for its source, which isn't a request of its own.
OF_A_SOURCE = "_GET"
# S3's status for SlowDown, and the lowest status of an error.
THROTTLED, FIRST_ERROR = 503, 400
# A share of distinct requests below this isn't imprecision: lines arrived more than once.
REPEATED_BELOW = 0.95
LABELS = {
    "requests": "requests",
    "bytes": "bytes transferred",
    "retries": "errors, and retried requests",
    "slowdowns": "503 SlowDown",
}


def detail(run: Run) -> Detail | None:
    """The section, or None if S3's access logs weren't queried or had no lines."""
    stored = stored_json.value_or_warning(
        run.directory / FILE, dict, run.warnings, is_optional=True
    )
    rows = stored.get("rows") if stored else None
    rows = [_whole(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    rows = [row for row in rows if _is_row(row)]
    if not rows:
        return None
    role = stored.get("role")
    own = [row for row in rows if role and row.get("role") == role]
    sentences = [
        "AWS delivers these logs on a best-effort basis: late, twice or never. A difference alone "
        "proves nothing."
    ]
    if not own:
        sentences.append("No line comes from the run’s own role.")
    ids = [row for row in rows if type(row.get("request_ids")) is int]
    distinct = sum(row["request_ids"] for row in ids)
    if distinct < REPEATED_BELOW * sum(row["requests"] for row in ids):
        sentences.append("Some lines arrived more than once, so the counts are too high.")
    tables = [_beside(seen(own), _recorded(run)), _every(rows, role)]
    return Detail("server_side", "S3 access logs", sentences, tables=tables)


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with whole numbers as integers: CloudWatch writes large ones with an exponent."""
    return {
        name: int(value) if type(value) is float and value.is_integer() else value
        for name, value in row.items()
    }


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether the row can be counted: fields may be missing, but the others have their types."""
    numbers = ("requests", "status", "bytes_sent", "size_bytes")
    is_whole = all(type(row.get(name, 0)) is int for name in numbers)
    return is_whole and "requests" in row and isinstance(row.get("request"), str)


def seen(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What S3 saw, from rows of the saved query, by LABELS."""
    sums = dict.fromkeys(LABELS, 0)
    for row in rows:
        if row["request"].endswith(OF_A_SOURCE):
            continue
        status, count = row.get("status", 0), row["requests"]
        # For writes, the sizes of the objects: S3 sends no bytes back.
        is_written = any(word in row["request"] for word in (".PUT.", ".COPY."))
        sums["requests"] += count
        if status < FIRST_ERROR:
            sums["bytes"] += row.get("size_bytes" if is_written else "bytes_sent") or 0
        else:
            sums["retries"] += count
        sums["slowdowns"] += count if status == THROTTLED else 0
    return sums


def _recorded(run: Run) -> dict[str, int | None]:
    """What the records say of requests that S3 logs, including warm-ups and failures."""
    is_file = "records" in run.store.files
    sums: dict[str, int | None] = dict.fromkeys(LABELS)
    for _, row in stored_json.rows(run.directory / "records.jsonl", []) if is_file else ():
        if run.experiment.is_logged(row):
            for name in sums:
                if type(row.get(name)) is int:
                    sums[name] = (sums[name] or 0) + row[name]
    return sums


def _beside(logs: Mapping[str, int], records: Mapping[str, int | None]) -> Table:
    rows = []
    for name, label in LABELS.items():
        recorded = records[name]
        difference = None if recorded is None else logs[name] - recorded
        rows.append(
            {"figure": label, "logs": logs[name], "records": recorded, "difference": difference}
        )
    numbers = [
        Field(name, heading, show="{:,}".format, rank=1)
        for name, heading in (("logs", "S3’s logs"), ("records", "records"))
    ]
    difference = Field("difference", "difference", show="{:+,}".format, rank=1)
    fields = [Field("figure", "figure", is_text=True), *numbers, difference]
    return Table("server-side-beside", "The run’s own requests", fields, rows)


def _every(rows: Iterable[Row], role: object) -> Table:
    fields = [
        Field("request", "request", is_text=True),
        Field("role", "role", is_text=True, rank=1),
        Field(
            "status",
            "status",
            show=str,
            rank=1,
            look=lambda row: "bad" if row.get("status", 0) >= FIRST_ERROR else "",
        ),
        Field("error", "error", is_text=True, rank=1),
        Field("requests", "requests", show="{:,}".format, rank=1),
        Field("bytes_sent", "bytes sent", show="{:,}".format, rank=1),
        Field("size_bytes", "objects’ sizes", "bytes", "{:,}".format, rank=1),
    ]
    lines = []
    for row in rows:
        whose = "the run’s" if role and row.get("role") == role else str(row.get("role") or "")
        lines.append({**row, "role": whose, "error": str(row.get("error") or "")})
    return Table(
        "server-side-operations", "All operations that S3 logged in that time", fields, lines
    )
