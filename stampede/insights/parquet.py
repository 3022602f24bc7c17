"""Writes log events as Parquet, in the columns that `events` reads."""

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import duckdb

from stampede.insights.errors import EventsError
from stampede.insights.evaluation import connect
from stampede.insights.events import bad_line
from stampede.insights.events.discovery import REREAD, first_fragment, pointer_texts
from stampede.insights.events.source import POINTER_COLUMN, Events, literal_path, open_events
from stampede.insights.expressions.functions.python_functions import register
from stampede.insights.values import pointer, sql_string

# events whose JSON keys become columns; keys first seen later are read from the message
_LOOKED_AT = 2_000
_MOST_COLUMNS = 200  # as many fields as the service discovers in an event
# One thread and row groups a third of DuckDB's default: 0.3 GiB for a million records instead of
# 1.3 GiB with two threads and the default, a fifth less CPU, and queries as fast.
_THREADS = 1
_EVENTS_IN_A_GROUP = 40_960


def export(events: Events, path: Path, notes: Mapping[str, str] | None = None) -> int:
    """Writes the events to a Parquet file (zstd), in order, and returns their number.

    Besides the five columns of an event there is one for each key with a string, number or boolean
    in the JSON of the first events, so that a query reads only the fields that it names. `notes`
    are stored in the file, for `read_notes`. An existing file is replaced completely or not at all.
    Raises EventsError for events that can't be read, a path that can't be written, and an existing
    path that isn't a file (a device would be replaced by one).
    """
    if path.exists() and not path.is_file():
        raise EventsError(f"{path} can't be written: it isn't a file")
    beside = path.with_name(f".{path.name}.part")
    kept = ", ".join(f"{_quoted(name)}: {sql_string(text)}" for name, text in (notes or {}).items())
    with connect() as connection:
        connection.execute(f"SET threads = {_THREADS}")
        source = bad_line.looked_at(open_events(events, connection), connection)
        register(REREAD, connection)
        try:
            sample = connection.execute(
                f"SELECT message FROM {source.relation} LIMIT {_LOOKED_AT}"
            ).fetchall()
            pointers = [pointer([key]) for key in _scalar_keys([message for (message,) in sample])]
            columns = "event_ms AS timestamp, message, log_stream AS logStream, log_group AS log"
            for number, place in enumerate(pointers, start=1):
                columns += f", elements[{number}] AS {_quoted(POINTER_COLUMN + place)}"
            elements = pointer_texts(pointers) if pointers else "NULL"
            count = connection.execute(
                f"COPY (SELECT {columns}, ingestion_ms AS ingestionTime FROM (SELECT *, {elements} "
                f"AS elements FROM {source.relation})) TO {sql_string(str(beside))} (FORMAT "
                "parquet, COMPRESSION zstd, USE_TMP_FILE false, ROW_GROUP_SIZE "
                f"{_EVENTS_IN_A_GROUP}{f', KV_METADATA {{{kept}}}' if kept else ''})"
            ).fetchone()[0]
            beside.replace(path)
        except (duckdb.Error, OSError) as error:
            reason = str(error).splitlines()[0]
            # DuckDB's message may be JSON inside the text
            if inner := re.search(r'"exception_message":("(?:[^"\\]|\\.)*")', reason):
                reason = json.loads(inner[1])
            raise bad_line.locate(source.paths) or EventsError(
                f"{path} can't be written: {reason}"
            ) from None
        finally:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
    return count


def read_notes(path: Path) -> dict[str, str]:
    """The notes that `export` stored in the file; empty for a missing file or
    incomplete Parquet."""
    if not path.is_file():
        return {}
    with duckdb.connect(":memory:") as connection:
        try:
            rows = connection.execute(
                "SELECT key, value FROM parquet_kv_metadata($1)", [literal_path(str(path))]
            )
            return {bytes(key).decode(): bytes(value).decode() for key, value in rows.fetchall()}
        except (duckdb.Error, UnicodeDecodeError):
            return {}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _scalar_keys(messages: list[str]) -> list[str]:
    """The keys of the messages' JSON objects that never hold a map or list, in order of appearance.

    Of keys that differ only in case, only the first: DuckDB would rename the second column, perhaps
    to the name of a third.
    """
    scalar: dict[str, bool] = {}
    for message in messages:
        fragment = first_fragment(message)
        for key, value in json.loads(fragment, parse_int=str).items() if fragment else ():
            scalar[key] = scalar.get(key, True) and not isinstance(value, dict | list)
    keys: dict[str, str] = {}
    for key, is_scalar in scalar.items():
        if is_scalar and key.isprintable():
            keys.setdefault(key.casefold(), key)
    return list(keys.values())[:_MOST_COLUMNS]
