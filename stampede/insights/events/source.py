"""Reads log events from JSON lines (plain, gzip or zstd), Parquet files, or Python dictionaries.

A Parquet file has the same columns as the JSON lines: `timestamp` (ms as BIGINT, or a TIMESTAMP in
UTC) and `message`, and optionally `logStream`, `log` and `ingestionTime`. A column `json:POINTER`
(RFC 6901) may hold the value at that place in the message, as JSON text, so that a query need not
parse the message; `parquet.export` writes such columns.
"""

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from stampede.insights.errors import EventsError
from stampede.insights.events.whole_files import check_gzip, check_zstd
from stampede.insights.values import EARLIEST_MS, LATEST_MS, sql_string

Events = str | Path | Iterable[str | Path] | Iterable[Mapping[str, Any]]

POINTER_COLUMN = "json:"
BAD_TIMESTAMP = (
    "log event without timestamp, or with one that is not in ms since 1970: each line needs one"
)
BAD_INGESTION_TIME = "ingestionTime is not a time in ms since 1970; correct it, or leave it out"
NO_MESSAGE = "log event without message: each line needs one"
NEEDS_LOOK = "a time of 0 or 1 needs a look"  # DuckDB reads false and true as 0 and 1
_BATCH = 20_000
_COLUMNS = (
    "{timestamp: 'BIGINT', message: 'VARCHAR', logStream: 'VARCHAR', log: 'VARCHAR', "
    "ingestionTime: 'BIGINT'}"
)
_OPTIONAL = {"logStream": str, "log": str, "ingestionTime": int}
_MAGIC = {b"PAR1": "parquet", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_INTEGERS = {"BIGINT", "INTEGER", "UBIGINT", "UINTEGER"}
# The longest line: a message of the service's maximum length (1 MiB) with every character escaped,
# and some more.
LONGEST_LINE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Source:
    """Stored events: SQL of a relation (event_ms, message, log_stream, log_group, ingestion_ms).

    `pointers` maps JSON pointers into the message to further columns that hold the JSON text there;
    `paths` are the files of the events. A time of 0 or 1 ms, which may be a misread boolean, fails
    with NEEDS_LOOK: `looks` holds a statement for each file that returns a row if it has such a
    boolean, and `after_look` is the relation to use if none has. Reading the type of every time
    would slow down every query.
    """

    relation: str
    pointers: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    looks: tuple[tuple[Path, str], ...] = ()
    after_look: str = ""


# DuckDB accepts it in some statements and not in others.
BYTE_ORDER_MARK = "{}: begins with a byte order mark; save it as UTF-8 without one"
UNREADABLE_PARQUET = "{} can't be read as Parquet; export the run again"


def open_events(events: Events, connection: duckdb.DuckDBPyConnection) -> Source:
    """The events as a Source that `connection` can read.

    `events` is a path, an iterable of paths, or an iterable of dictionaries; each event has
    `timestamp` (ms since the epoch) and `message`, and may have `logStream`, `log` (account:group)
    and `ingestionTime` (ms). Raises EventsError for a missing file, a file of another format, and a
    dictionary without timestamp or message.
    """
    if isinstance(events, str | Path):
        return _files([events], connection)
    iterator = iter(events)
    first = list(islice(iterator, 1))
    if first and isinstance(first[0], str | Path):
        return _files([*first, *iterator], connection)
    connection.execute(
        "CREATE TEMP TABLE events (event_ms BIGINT, message VARCHAR, log_stream VARCHAR, "
        "log_group VARCHAR, ingestion_ms BIGINT)"
    )
    _insert(first, 1, connection)
    number = 2
    while batch := list(islice(iterator, _BATCH)):
        _insert(batch, number, connection)
        number += len(batch)
    return Source("events")


def form(path: Path) -> str:
    """The format of a file of events, by its first bytes: parquet, gzip, zstd or none.
    Raises EventsError."""
    if not path.is_file():
        raise EventsError(f"{_no_file(path)}; give a file of log events, one JSON object per line")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise EventsError(f"can't read {path}: {error.strerror}") from None
    if start.startswith(codecs.BOM_UTF8):
        raise EventsError(BYTE_ORDER_MARK.format(path))
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "none")


def _no_file(path: Path) -> str:
    """Why `path` isn't a file that can be read twice, in words."""
    if path.is_dir():
        return f"{path} is a folder"
    return f"{path} is a pipe or a device" if path.exists() else f"there is no file {path}"


def _files(files: list[str | Path], connection: duckdb.DuckDBPyConnection) -> Source:
    paths = tuple(Path(path) for path in files)
    by_form: dict[str, list[Path]] = {}
    for path in paths:
        by_form.setdefault(form(path), []).append(path)
    for path in by_form.get("gzip", []):
        check_gzip(path)
    for path in by_form.get("zstd", []):
        check_zstd(path)
    parquet = by_form.pop("parquet", [])
    columns = [_parquet_columns(path, connection) for path in parquet]
    shared = set.intersection(*map(set, columns)) if parquet and not by_form else set()
    pointers = {
        name.removeprefix(POINTER_COLUMN) for name in shared if name.startswith(POINTER_COLUMN)
    }
    pointer_columns = {
        pointer: f"at_{number}" for number, pointer in enumerate(sorted(pointers), start=1)
    }
    further = [
        _parquet(path, types, pointer_columns) for path, types in zip(parquet, columns, strict=True)
    ]
    looks, before, after = [], [], []
    for compression, lines in by_form.items():
        looks += [(path, _booleans(path, compression)) for path in lines]
        before.append(_json_lines(lines, compression, False))
        after.append(_json_lines(lines, compression, True))
    relation = " UNION ALL ".join([*before, *further])
    after_look = " UNION ALL ".join([*after, *further])
    return Source(f"({relation})", pointer_columns, paths, tuple(looks), f"({after_look})")


def _checks(milliseconds: str, *, looked: bool = True) -> str:
    """A condition that fails the statement for a bad event; after `looked`, times of 0 and 1
    are good."""
    doubtful = f"{milliseconds} IN (0, 1)"
    good = f"{milliseconds} BETWEEN {EARLIEST_MS} AND {LATEST_MS} AND message IS NOT NULL"
    good += "" if looked else f" AND NOT {doubtful}"
    look = "" if looked else f" WHEN {doubtful} THEN error('{NEEDS_LOOK}')"
    return (
        f"({good}) OR CASE WHEN message IS NULL THEN error('{NO_MESSAGE}'){look} ELSE "
        f"error('{BAD_TIMESTAMP}') END"
    )


def _json_lines(paths: list[Path], compression: str, looked: bool) -> str:
    ingestion = "insights_time(ingestionTime)"
    if not looked:
        ingestion = (
            f"CASE WHEN ingestionTime IN (0, 1) THEN error('{NEEDS_LOOK}') ELSE {ingestion} END"
        )
    return (
        "SELECT timestamp AS event_ms, message, logStream AS log_stream, log AS log_group, "
        f"{ingestion} AS ingestion_ms FROM {_read_json(paths, compression, _COLUMNS)} WHERE "
        f"{_checks('timestamp', looked=looked)}"
    )


def _booleans(path: Path, compression: str) -> str:
    """A statement that returns a row if a time in the file is true or false."""
    read = _read_json([path], compression, "{timestamp: 'JSON', ingestionTime: 'JSON'}")
    return (
        f"SELECT 1 FROM {read} WHERE 'BOOLEAN' IN (json_type(timestamp), json_type(ingestionTime)) "
        "LIMIT 1"
    )


def _read_json(paths: list[Path], compression: str, columns: str) -> str:
    names = ", ".join(sql_string(literal_path(str(path))) for path in paths)
    return (
        f"read_json([{names}], format = 'newline_delimited', auto_detect = false, columns = "
        f"{columns}, compression = '{compression}', maximum_object_size = {LONGEST_LINE_BYTES})"
    )


def _parquet_columns(path: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Names and types of a Parquet file's columns. Raises EventsError if it doesn't hold
    log events."""
    try:
        rows = connection.execute(f"DESCRIBE SELECT * FROM {read_parquet(path)}").fetchall()
    except duckdb.Error:
        raise EventsError(UNREADABLE_PARQUET.format(path)) from None
    types = {row[0]: row[1] for row in rows}
    for name in ("timestamp", "ingestionTime"):
        kind = types.get(name, "BIGINT")
        if kind not in _INTEGERS and not kind.startswith("TIMESTAMP"):
            raise EventsError(
                f"{path}: the column {name} is {kind}; it must be ms as BIGINT, or a TIMESTAMP"
            )
    for name in ("timestamp", "message"):
        if name not in types:
            raise EventsError(f"{path} has no column {name}; log events need timestamp and message")
    pointers = (name for name in types if name.startswith(POINTER_COLUMN))
    for name in ("message", "logStream", "log", *pointers):
        if types.get(name, "VARCHAR") != "VARCHAR":
            raise EventsError(f"{path}: the column {name} is {types[name]}; it must be VARCHAR")
    return types


def _parquet(path: Path, types: dict[str, str], pointer_columns: Mapping[str, str]) -> str:
    def milliseconds(name: str) -> str:
        if name not in types:
            return "CAST(NULL AS BIGINT)"
        if types[name].startswith("TIMESTAMP"):
            return f"epoch_ms({name})"
        return f"CAST({name} AS BIGINT)"

    logs = [name if name in types else "CAST(NULL AS VARCHAR)" for name in ("logStream", "log")]
    further = "".join(
        f', "{POINTER_COLUMN}{_quoted(pointer)}" AS {column}'
        for pointer, column in pointer_columns.items()
    )
    time = milliseconds("timestamp")
    return (
        f"SELECT {time} AS event_ms, message, {logs[0]} AS log_stream, {logs[1]} AS log_group,"
        f" insights_time({milliseconds('ingestionTime')}) AS ingestion_ms{further}"
        f" FROM {read_parquet(path)} WHERE {_checks(time)}"
    )


def read_parquet(path: Path) -> str:
    """The SQL of a relation with the file's columns."""
    return f"read_parquet([{sql_string(literal_path(str(path)))}])"


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def literal_path(path: str) -> str:
    """The path with DuckDB's glob characters escaped."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def _insert(batch: list[Any], number: int, connection: duckdb.DuckDBPyConnection) -> None:
    """Appends dictionaries after checking them; `number` is that of the first, from 1."""
    if not batch:
        return
    columns: list[list[Any]] = [[], [], [], [], []]
    for offset, event in enumerate(batch):
        for column, value in zip(columns, _checked(event, number + offset), strict=True):
            column.append(value)
    try:
        connection.execute(
            "INSERT INTO events SELECT unnest($1::BIGINT[]), unnest($2::VARCHAR[]), "
            "unnest($3::VARCHAR[]), unnest($4::VARCHAR[]), insights_time(unnest($5::BIGINT[]))",
            columns,
        )
    except (duckdb.Error, UnicodeEncodeError, OverflowError) as error:
        raise EventsError(
            f"events {number} to {number + len(batch) - 1} can't be stored: {error}"
        ) from None


def _checked(event: Any, number: int) -> tuple[Any, ...]:
    if not isinstance(event, Mapping):
        raise EventsError(
            f"event {number} is a {type(event).__name__}; an event must be a dictionary or a path"
        )
    for name, kind in (("timestamp", int), ("message", str)):
        if not _is_of(event.get(name), kind):
            raise EventsError(
                f"event {number} has no {name}; it needs timestamp (ms, a whole number) and message"
            )
    if not EARLIEST_MS <= event["timestamp"] <= LATEST_MS:
        raise EventsError(
            f"event {number}: the timestamp {event['timestamp']} is not in ms since 1970"
        )
    for name, kind in _OPTIONAL.items():
        if event.get(name) is not None and not _is_of(event[name], kind):
            raise EventsError(f"event {number}: {name} is not of type {kind.__name__}")
    return (
        event["timestamp"],
        event["message"],
        event.get("logStream"),
        event.get("log"),
        event.get("ingestionTime"),
    )


def _is_of(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
