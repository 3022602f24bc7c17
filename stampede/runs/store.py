"""A run's folder as tables: what was sent, what came of it, and which lines were refused.

DuckDB reads each file. If a line isn't valid, the file is read again line by line, which names the
refused lines.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from experiments import Experiment, of_run
from stampede.cell import LARGEST_WHOLE, MOST_CELLS, Cell, Difference, as_emulated, cells_of
from stampede.errors import UsageError
from stampede.runs import stored_json
from stampede.runs.folder import FAILED_OBJECTS, UNANSWERED_FILE, RunFolder, damage_refused

# A time of more than 30 years is refused. Records hold nine digits; a shorter time than that can't
# be divided by, and counts as none.
SHORTEST_S, LONGEST_S = 1e-9, 1e9
LATEST_MS = 253_402_300_799_999  # the end of the year 9999
_LONGEST_LINE_BYTES = 16 * 2**20
_MEMORY = "400MB"

# How each kind of column reads a line's JSON. Anything else is NULL: "1" isn't 1, nor is true.
# DuckDB writes a whole number as digits only. A text with a NUL is refused: C programs would cut it
# there.
_KINDS = rf"""
CREATE MACRO text_of(j) AS CASE WHEN starts_with(j, '"') AND NOT contains(j, '\u0000')
    THEN j ->> '$' END;
CREATE MACRO whole_of(j) AS
    CASE WHEN regexp_full_match(j, '-?[0-9]+') THEN TRY_CAST(CAST(j AS VARCHAR) AS BIGINT) END;
CREATE MACRO count_of(j) AS CASE WHEN whole_of(j) BETWEEN 0 AND {LARGEST_WHOLE - 1}
    THEN whole_of(j) END;
CREATE MACRO up_to(most, j) AS
    CASE WHEN TRY_CAST(CAST(j AS VARCHAR) AS DOUBLE) BETWEEN 0 AND most
        THEN CAST(CAST(j AS VARCHAR) AS DOUBLE) END;
CREATE MACRO number_of(j) AS up_to({LARGEST_WHOLE - 1}, j);
CREATE MACRO seconds_of(j) AS
    CASE WHEN up_to({LONGEST_S}, j) < {SHORTEST_S} THEN 0.0 ELSE up_to({LONGEST_S}, j) END;
CREATE MACRO moment_of(j) AS CASE WHEN count_of(j) <= {LATEST_MS} THEN count_of(j) END;
CREATE MACRO nameless_of(cell, seq, j) AS CASE WHEN text_of(cell) IS NULL OR whole_of(seq) IS NULL
    THEN text_of(j) END;
CREATE MACRO is_operation(status, seconds, place_at, is_foreign) AS coalesce(
    is_foreign OR status = 'error' OR (status = 'ok' AND seconds IS NOT NULL
        AND place_at IS NOT NULL), false);
CREATE MACRO value_of(j) AS CASE WHEN NOT (starts_with(j, '[') OR starts_with(j, '{{')) THEN j END;
CREATE TABLE combinations (combination UBIGINT, cell_at BIGINT, place_at BIGINT,
    is_foreign BOOLEAN);
CREATE TABLE repeated (line BIGINT);
"""
_MESSAGE = {"cell": "text", "seq": "whole"}
_RECORD = {
    **_MESSAGE,
    "status": "text",
    "warm_up": "whole",
    "attempt": "count",
    "finished_at_ms": "moment",
}
_ERROR = dict.fromkeys(("error_type", "error_message"), "text")
_OBJECTS = dict.fromkeys(("planned", "copied", "already_there", "failed"), "count")
# The columns of a record that only a report needs.
_FIGURES = {
    "started_at_ms": "moment",
    **dict.fromkeys(("bytes", "cold_start", "round", "batch_index"), "count"),
    "sdk": "text",
}
# The first message of a batch stands for its operation: all its messages have the same times.
IS_ONE = "coalesce(batch_index, 0) = 0"
# By table: the file and its columns.
_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "records": ("records.jsonl", {**_RECORD, **_ERROR}),
    "sent": ("sent.jsonl", {**_MESSAGE, "warm_up": "whole"}),
    "letters": ("dead_letters.jsonl", {**_MESSAGE, "message_id": "text", "body": "text"}),
    "unanswered": (UNANSWERED_FILE, _MESSAGE),
    "failed_objects": (FAILED_OBJECTS, {**_MESSAGE, "attempt": "count"}),
}
# The columns of a message that only a run that goes on needs.
_TIMES = {"sent": ("sent_at_ms", "round"), "unanswered": ("sent_at_ms",)}
_OPERATIONS = """
CREATE VIEW operations AS
SELECT records.*, cell_at, place_at, is_foreign, coalesce(warm_up = 1, false) AS is_warm_up,
       coalesce(seq || ' of ' || cell, message_id) AS message,
       status = 'ok' AND NOT is_foreign AND NOT is_warm_up AND line NOT IN (FROM repeated)
           AS is_first_success
FROM records JOIN combinations USING (combination)
    WHERE is_operation(status, seconds, place_at, is_foreign)
"""
_REPEATED = """
WITH successes AS (
    SELECT line, coalesce(cell_at, -1) AS cell_at, coalesce(seq, -1) AS seq,
        coalesce(message_id, '') AS message_id
    FROM operations WHERE is_first_success AND message IS NOT NULL)
INSERT INTO repeated
SELECT line FROM successes JOIN (
    SELECT cell_at, seq, message_id, min(line) AS first FROM successes
        GROUP BY ALL HAVING count(*) > 1
) USING (cell_at, seq, message_id) WHERE line > first
"""


@dataclass
class Store:
    """The tables sent, records, letters, unanswered and failed_objects of a run; `line` is the line
    number of a row.

    `planned` are the cells of run.json, by name. A store that isn't strict has the view
    `operations`: the records from which figures can be computed; rows added later don't update
    their is_first_success. `place_at` is the index of a record's coordinates in `places`, `cell_at`
    of its cell in `cells`; `numbers` maps both to their index. A record is foreign if its settings
    aren't its cell's; `differences` has the details. `refused` names the refused lines, `files` the
    tables with a file.
    """

    connection: duckdb.DuckDBPyConnection
    experiment: Experiment
    planned: dict[str, Cell]
    is_strict: bool
    places: list[Cell] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.execute(query, parameters).fetchall()

    def arrays(self, query: str, *parameters: Any) -> dict[str, np.ndarray]:
        """The columns of a query; NULL is -1 in whole numbers, and NaN in others."""
        columns = self.connection.execute(query, parameters).fetchnumpy()
        return {
            name: np.ma.filled(column, math.nan if column.dtype.kind == "f" else -1)
            for name, column in columns.items()
        }

    def add(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows that have just been appended to the table's file."""
        [(last,)] = self.rows(f"SELECT coalesce(max(line), 0) FROM {table}")
        _fill(self, table, enumerate(rows, last + 1))

    def fields(self, table: str) -> dict[str, tuple[str, str]]:
        """The columns of a table, each with its kind and the field of a line that it reads."""
        kinds, time = dict(_TABLES[table][1]), {}
        if self.is_strict:
            kinds |= dict.fromkeys(_TIMES.get(table, ()), "whole")
        if table == "records":
            if self.experiment.shared_list:
                kinds |= _OBJECTS
            if not self.is_strict:
                time_field, *figures = dict.fromkeys(
                    metric.field for metric in self.experiment.metrics
                )
                kinds = dict.fromkeys(figures, "number") | kinds | _FIGURES
                time = {"seconds": ("seconds", time_field)}
            kinds |= {axis.record_field: "value" for axis in self.experiment.axes}
        return {name: (kind, name) for name, kind in kinds.items()} | time


def open_store(
    folder: RunFolder, description: Mapping[str, Any] | None = None, *, strict: bool = False
) -> Store:
    """Read a run's folder, in which any file may be missing; `description` is its run.json, if it
    has been read already.

    `strict` is for a run that goes on: it raises UsageError for a damaged run.json, for anything
    but a regular file, and for an invalid line, except a torn last one. Records of more than
    MOST_CELLS cells, which take minutes to count, always raise it.
    """
    if description is None:
        description = folder.read_json("run.json", {})
    experiment = of_run(description, folder.path / "run.json")
    if description.get("target") == "local":
        experiment = as_emulated(experiment)
    store = Store(
        duckdb.connect(config={"memory_limit": _MEMORY}),
        experiment,
        cells_of(description, experiment),
        strict,
    )
    store.connection.execute(_KINDS)
    for table in _TABLES:
        names = dict.fromkeys(["message_id", *(name for _, name in store.fields(table).values())])
        nothing = ", ".join(f'NULL::JSON AS "{name}"' for name in names)
        selected = _selected(store, table, "0::BIGINT")
        store.connection.execute(
            f"CREATE TABLE {table} AS SELECT {selected} FROM (SELECT {nothing}) LIMIT 0"
        )
    if not strict:
        store.connection.execute(_OPERATIONS)
    for table, (name, _) in _TABLES.items():
        path = folder.path / name
        try:
            with damage_refused(path) if strict else contextlib.nullcontext():
                stored_json.opened(path).close()
                _read(store, table, path)
                store.files.add(table)
        except FileNotFoundError:
            pass
        except (OSError, stored_json.NotAFile) as error:
            if strict:
                raise
            store.refused.append(f"{name} can't be read: {error}")
    if not strict:
        store.connection.execute(_REPEATED)
    return store


def _read(store: Store, table: str, path: Path) -> None:
    """Fill a table from a file: at once, or line by line if a line is invalid, for which a strict
    store raises ValueError."""
    with contextlib.suppress(duckdb.Error):
        _insert(store, table, path, "row_number() OVER ()")
        if not _faults(store, table):
            return
    store.connection.execute(f"DELETE FROM {table}")
    _fill(store, table, stored_json.rows(path, None if store.is_strict else store.refused))
    for line, fault in _faults(store, table):
        if store.is_strict:
            raise ValueError(f"line {line}: {fault}")
        store.refused.append(f"{path.name}, line {line}: {fault}; left out.")
    store.connection.execute(f"DELETE FROM {table} WHERE fault IS NOT NULL")


def _faults(store: Store, table: str) -> list[tuple[int, str]]:
    """The numbers of invalid lines, and why; a record unfit for figures still counts for its
    message."""
    faults = store.rows(f"SELECT line, fault FROM {table} WHERE fault IS NOT NULL ORDER BY line")
    if table == "records" and not store.is_strict:
        needed_axes = ", ".join(
            axis.record_field for axis in store.experiment.axes if not axis.is_variant
        )
        fault = (
            f"not a valid record (it needs status, {needed_axes} and, when ok, "
            f"{store.experiment.time_field})"
        )
        is_unusable = "NOT is_operation(status, seconds, place_at, is_foreign)"
        unusable = store.rows(
            f"SELECT line FROM records JOIN combinations USING (combination) WHERE {is_unusable} "
            "ORDER BY line"
        )
        faults += [(line, fault) for (line,) in unusable]
    return faults


def _fill(store: Store, table: str, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
    """Fill a table from rows with the numbers of their lines."""
    names = {"message_id", *(name for _, name in store.fields(table).values())}
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as lines:
        for number, row in rows:
            kept = {name: row[name] for name in names & row.keys()}
            line = json.dumps({"line": number, **kept}, ensure_ascii=False)
            lines.write(line.encode("utf-8", "replace") + b"\n")
        lines.flush()
        _insert(store, table, Path(lines.name), "whole_of(line)")


def _insert(store: Store, table: str, path: Path, line: str) -> None:
    """Read lines into a table. Raises duckdb.Error for a line that isn't a JSON object."""
    names = dict.fromkeys(
        ["line", "message_id", *(name for _, name in store.fields(table).values())]
    )
    types = ", ".join(f"{quoted(name)}: 'JSON'" for name in names)
    store.connection.execute(
        f"INSERT INTO {table} SELECT {_selected(store, table, line)} FROM read_json(?, format = "
        f"'newline_delimited', columns = {{{types}}}, maximum_object_size = {_LONGEST_LINE_BYTES})",
        [str(path)],
    )
    if table == "records":
        _compare(store)


def _selected(store: Store, table: str, line: str) -> str:
    """The SQL expressions of a table's columns."""
    columns = store.fields(table)
    selected = [
        f"{line} AS line",
        *(f'{kind}_of("{name}") AS "{column}"' for column, (kind, name) in columns.items()),
    ]
    if table == "records":
        told = ", ".join(f'"{axis.record_field}"' for axis in store.experiment.axes)
        selected.append(f'hash("cell", {told}) AS combination')
    if table in ("records", "sent") and not store.is_strict:
        # SQS's id identifies a message whose line lacks cell or seq.
        selected.append('nameless_of("cell", "seq", "message_id") AS message_id')
    return ", ".join([*selected, f"{_fault(store, table)} AS fault"])


def _fault(store: Store, table: str) -> str:
    """The SQL expression for why a line is invalid, NULL if it is valid."""
    if table in ("records", "sent", "letters") and not store.is_strict:
        fault = "doesn''t say of which message it is (it needs cell and seq)"
        is_nameless = (
            'nameless_of("cell", "seq", \'""\') IS NOT NULL AND text_of("message_id") IS NULL'
        )
        return f"CASE WHEN {is_nameless if table != 'records' else 'false'} THEN '{fault}' END"
    name, columns = _TABLES[table][0], store.fields(table)
    wrong = [
        f'{columns[key][0]}_of("{key}") IS NULL' + f' AND "{key}" IS NOT NULL' * (len(kinds) > 1)
        for key, kinds in stored_json.LINES[name].items()
        if key != "sent_at_ms" or store.is_strict
    ]
    return f"CASE WHEN {' OR '.join(wrong)} THEN '{stored_json.rule_of(name)}' END"


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _compare(store: Store) -> None:
    """Compare each new combination of a cell and settings with the cell's planned settings."""
    axes = store.experiment.axes
    [(count,)] = store.rows("SELECT count(DISTINCT combination) FROM records")
    if count > MOST_CELLS:
        found = f"records.jsonl tells of {count:,} cells, and no run has more than {MOST_CELLS:,}"
        raise UsageError(found, "restore it, or start a new run")
    said = ", ".join(f'any_value("{axis.record_field}")' for axis in axes)
    for combination, name, *values in store.rows(
        f"SELECT combination, any_value(cell), {said} FROM records ANTI JOIN combinations USING "
        "(combination) GROUP BY combination ORDER BY min(line)"
    ):
        settings = [None if value is None else json.loads(value) for value in values]
        planned = store.planned.get(name)
        place = Cell.at(axes, settings, planned.settings if planned else "")
        fields = (axis.record_field for axis in axes)
        difference = planned and planned.difference(dict(zip(fields, settings, strict=True)))
        if difference is not None:
            listed = store.differences.setdefault(name, [])
            if difference not in listed:
                listed.append(difference)
        numbers = _number(store, store.cells, name), _number(store, store.places, place)
        store.rows(
            "INSERT INTO combinations VALUES (?, ?, ?, ?)",
            combination,
            *numbers,
            difference is not None,
        )


def _number(store: Store, listed: list[Any], value: Any) -> int | None:
    """The index of a cell's name or a place in its list, to which a new one is appended; None for
    None."""
    if value is not None and value not in store.numbers:
        store.numbers[value] = len(listed)
        listed.append(value)
    return store.numbers.get(value)
