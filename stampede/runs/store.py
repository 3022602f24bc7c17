"""A run's folder as tables: what was sent, what came of it, and which lines of its files are no rows.

DuckDB reads the lines. Where one of a file isn't as it must be, the file is read again line by line, which names what
is refused.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from experiments import Experiment, of_run
from stampede.runs import needed, stored_json
from stampede.runs.cell_settings import CellSettings
from stampede.runs.failed_objects import FAILED_OBJECTS
from stampede.runs.folder import UNANSWERED_FILE, RunFolder, damage_refused

# The kinds of JSON, as json_type names them, that a column takes. What is of another kind isn't known: "1" is no 1.
_TAKES = {"VARCHAR": ("VARCHAR",), "BIGINT": ("BIGINT", "UBIGINT")}
_LARGEST = 2**63 - 1
_LONGEST_LINE_BYTES = 16 * 2**20
_MEMORY = "400MB"

_MESSAGE = {"cell": "VARCHAR", "seq": "BIGINT"}
_SENT = {**_MESSAGE, "sent_at_ms": "BIGINT"}
_OBJECTS = dict.fromkeys(("attempt", "planned", "copied", "already_there", "failed"), "BIGINT")
_RECORD = {"status": "VARCHAR", "warm_up": "BIGINT", "finished_at_ms": "BIGINT", **_OBJECTS}
_ERROR = {"error_type": "VARCHAR", "error_message": "VARCHAR"}


@dataclass(frozen=True)
class _File:
    """A file of lines: its name, the columns of its table, those without which a line is no row, and those that whoever
    goes on with the run needs as well."""

    name: str
    columns: Mapping[str, str]
    required: tuple[str, ...]
    to_go_on: tuple[str, ...] = ()


_FILES = {
    "sent": _File("sent.jsonl", {**_SENT, "warm_up": "BIGINT", "round": "BIGINT"}, tuple(_MESSAGE), ("sent_at_ms",)),
    "records": _File("records.jsonl", {**_MESSAGE, **_RECORD, **_ERROR}, ("cell", "seq", "status")),
    # A letter that isn't a work order has no coordinates.
    "letters": _File("dead_letters.jsonl", {**_MESSAGE, "message_id": "VARCHAR"}, (), ("message_id",)),
    "unanswered": _File(UNANSWERED_FILE, _SENT, tuple(_MESSAGE), ("sent_at_ms",)),
    "failed_objects": _File(FAILED_OBJECTS, {**_MESSAGE, "attempt": "BIGINT"}, ("cell", "seq")),
}


@dataclass
class Store:
    """The tables sent, records, letters, unanswered and failed_objects of a run. `line` is the number of a row's line;
    a record is foreign where its settings aren't those of its cell. `refused` names the lines that are no rows.
    """

    connection: duckdb.DuckDBPyConnection
    experiment: Experiment
    settings: CellSettings
    refused: list[str] = field(default_factory=list)
    changes: int = 0

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.execute(query, parameters).fetchall()

    def add(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows that have just been appended to the table's file; `changes` counts these calls."""
        self.changes += 1
        [(last,)] = self.rows(f"SELECT coalesce(max(line), 0) FROM {table}")
        _fill(self, table, enumerate(rows, last + 1))
        if table == "records":
            _mark_foreign(self, last)

    def columns(self, table: str) -> dict[str, str]:
        """The columns of a table, with their types, but those that are said of its rows."""
        fields = self.experiment.record_fields.values() if table == "records" else ()
        return {**_FILES[table].columns, **{name: "JSON" for name in fields if name not in _MESSAGE}}


def open_store(folder: RunFolder, description: Mapping[str, Any] | None = None, *, strict: bool = False) -> Store:
    """Read a run's folder, in which any file may be missing; `description` is its run.json, for who has read it.

    Raises UsageError for a damaged run.json, for what isn't a file in the place of one and, where it is `strict`, for a
    line that is no row; a torn last one is none anywhere.
    """
    if description is None:
        description = folder.read_json("run.json", {})
    experiment = of_run(description, folder.path / "run.json")
    connection = duckdb.connect(config={"memory_limit": _MEMORY})
    store = Store(connection, experiment, CellSettings(description))
    for table, file in _FILES.items():
        declared = ", ".join(f'"{name}" {kind}' for name, kind in store.columns(table).items())
        foreign = ", is_foreign BOOLEAN DEFAULT false" if table == "records" else ""
        connection.execute(f"CREATE TABLE {table} (line BIGINT, {declared}, is_row BOOLEAN{foreign})")
        path = folder.path / file.name
        with damage_refused(path), contextlib.suppress(FileNotFoundError):
            stored_json.opened(path).close()
            if not _read_at_once(store, table, path, strict):
                _fill(store, table, stored_json.rows(path, None if strict else store.refused, _fault_of(table, strict)))
    _mark_foreign(store, 0)
    return store


def _read_at_once(store: Store, table: str, path: Path, strict: bool) -> bool:
    """Fill a table from a file, and return whether all lines are as they must be; else it stays empty."""
    try:
        _insert(store, table, path, "row_number() OVER ()", strict)
        [(faults,)] = store.rows(f"SELECT count(*) FROM {table} WHERE NOT is_row")
    except duckdb.Error:
        faults = 1
    if faults:
        store.connection.execute(f"DELETE FROM {table}")
    return not faults


def _fill(store: Store, table: str, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
    """Fill a table from rows with the numbers of their lines."""
    columns = store.columns(table)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for number, row in rows:
            kept = {name: row[name] for name in columns if name in row and _is_json(row[name])}
            lines.write(json.dumps({"line": number, **kept}) + "\n")
        lines.flush()
        _insert(store, table, Path(lines.name), "line::BIGINT")


def _insert(store: Store, table: str, path: Path, line: str, strict: bool = False) -> None:
    """Read lines into a table. Raises duckdb.Error for a line that isn't a JSON object."""
    columns, file = store.columns(table), _FILES[table]
    types = ", ".join(f"{quoted(name)}: 'JSON'" for name in ("line", *columns))
    values = ", ".join(_value(name, kind) for name, kind in columns.items())
    needs = [*file.required, *(file.to_go_on if strict else ())]
    required = " AND ".join(["true", *(f"coalesce({_is(name, columns[name])}, false)" for name in needs)])
    names = ", ".join(f'"{name}"' for name in columns)
    store.connection.execute(
        f"INSERT INTO {table} (line, {names}, is_row) SELECT {line}, {values}, {required} FROM read_json(?, "
        f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {_LONGEST_LINE_BYTES})",
        [str(path)],
    )


def _value(name: str, kind: str) -> str:
    column = f'"{name}"'
    if kind == "JSON":
        return column
    cast = f"({column} ->> '$')" if kind == "VARCHAR" else f"TRY_CAST({column} AS {kind})"
    return f"CASE WHEN {_is(name, kind)} THEN {cast} END"


def _is(name: str, kind: str) -> str:
    """Whether a column's JSON is of its kind; a text has no NUL, at which programs in C end it."""
    is_kind = f'json_type("{name}") IN {(*_TAKES[kind], "")}'
    return f"""{is_kind} AND NOT contains("{name}", '\\u0000')""" if kind == "VARCHAR" else is_kind


def _fault_of(table: str, strict: bool) -> Callable[[Mapping[str, Any]], str]:
    """What finds the fault in a row, "" where there is none: whoever goes on with a run needs more of it."""
    file, types = _FILES[table], {"VARCHAR": str, "BIGINT": int}
    kinds = {name: (types[file.columns[name]],) for name in file.required}
    fault_of = needed.fault_of(file.name) if strict else needed.Line(**kinds).fault if kinds else lambda row: ""

    def fault(row: Mapping[str, Any]) -> str:
        if found := fault_of(row):
            return found
        for name in file.required:
            value = row[name]
            if not _is_json(value) or (isinstance(value, str) and "\0" in value):
                return f"{name} can't be {str(value)[:60]!a}"
        return ""

    return fault


def _is_json(value: Any) -> bool:
    """Whether DuckDB takes a value: no half of a surrogate pair, no integer beyond 64 bits, no NaN."""
    if type(value) is int:
        return abs(value) <= _LARGEST
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _mark_foreign(store: Store, after_line: int) -> None:
    """Say which records are foreign: each combination of a cell and settings is compared once."""
    fields = [name for name, kind in store.columns("records").items() if kind == "JSON"]
    names = ["cell", *fields]
    listed = ", ".join(f'"{name}"' for name in names)
    for cell, *values in store.rows(f"SELECT DISTINCT {listed} FROM records WHERE line > ?", after_line):
        own = {name: None if value is None else json.loads(value) for name, value in zip(fields, values, strict=True)}
        if store.settings.difference({"cell": cell, **own}) is not None:
            same = " AND ".join(f'"{name}" IS NOT DISTINCT FROM ?' for name in names)
            store.rows(f"UPDATE records SET is_foreign = true WHERE {same}", cell, *values)
