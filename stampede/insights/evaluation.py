"""Runs a query over log events."""

import atexit
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from stampede.insights.commands.compilation import compile_query
from stampede.insights.commands.pipeline import DEFAULT_LIMIT, Pipeline
from stampede.insights.commands.row_errors import refusal_in
from stampede.insights.errors import EventsError, InsightsError, QueryError
from stampede.insights.events import bad_line
from stampede.insights.events.discovery import (
    REREAD,
    needs_first_fields,
    needs_formats,
    needs_fragments,
    notes_of_fields,
)
from stampede.insights.events.source import Events, Source, open_events
from stampede.insights.expressions import percentiles
from stampede.insights.expressions.compiler import KNOWN_FUNCTIONS
from stampede.insights.expressions.functions.python_functions import register
from stampede.insights.language.parsing import parse
from stampede.insights.result import Result, result
from stampede.insights.values import MACROS

# DuckDB's memory; the rest spills to the temporary folder. The process needs about 0.3 GiB more.
MEMORY_LIMIT_MB = 3_000

# Characters of SQL above which optimizing costs more than it saves; the saved queries stay below
# four fifths of it.
_LONG_SQL = 40_000
# Optimizers that long statements keep: those that read only what is needed, and only the
# first rows.
_ALWAYS = ("unused_columns", "limit_pushdown", "top_n", "cte_inlining", "column_lifetime")

# Pushing a filter below a stage repeats the stage's JSON extraction or regular expression. Common
# subexpressions are moved out of TRY, so that errors meant to be caught escape.
_OPTIMIZERS = "SET disabled_optimizers = 'filter_pushdown,common_subexpressions'"

# Idle databases, by process: a forked process lacks the threads of its parent's databases.
_free: dict[int, list[duckdb.DuckDBPyConnection]] = {}
_KEPT_BELOW_S = 0.3


def evaluate(text: str, events: Events, now_s: float | None = None) -> Result:
    """The result of the query `text` over all `events`, in any form that
    `events.source.open_events` accepts.

    `now_s` is the value of now(), in seconds since 1970 (default: the clock). Raises QueryError for
    a query that can't be evaluated exactly, EventsError for events that can't be read.
    """
    pipeline = _compiled(text, time.time() if now_s is None else now_s)
    with _database() as connection:
        source = open_events(events, connection)
        outputs, rows = _run(pipeline, source, connection)
    truncated = not pipeline.limited and len(rows) > DEFAULT_LIMIT
    kept = rows[:DEFAULT_LIMIT] if truncated else rows
    notes = list(pipeline.notes)
    if pipeline.binned:
        notes += [percentiles.NOTE] if any(row[-1] for row in kept) else []
        kept = [row[:-1] for row in kept]
    return result(
        outputs, kept, truncated=truncated, of_events=not pipeline.stats_count, notes=notes
    )


def check(text: str) -> None:
    """Compiles the query without events. Raises QueryError if `evaluate` would refuse it."""
    _compiled(text, 0.0)


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory with the macros of compiled queries and a memory limit."""
    # By default DuckDB spills to a folder in the working directory.
    spill = Path(tempfile.gettempdir()) / f"stampede-insights-{os.getpid()}"
    limits = {"temp_directory": str(spill), "memory_limit": f"{MEMORY_LIMIT_MB}MB"}
    connection = duckdb.connect(":memory:", config=limits)
    # DuckDB would write one to stdout under `python -c` and in a Python shell.
    connection.execute("SET enable_progress_bar = false")
    connection.execute(_OPTIMIZERS)
    connection.execute(MACROS + percentiles.MACROS)
    return connection


@contextmanager
def _database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database for one query, reused if one is idle: creating one takes longer than most queries.

    After a refusal it is as good as new. It is closed after any other error, and after a long
    query, which may leave much memory allocated.
    """
    free = _free.setdefault(os.getpid(), [])
    with ExitStack() as closing:
        try:
            connection = closing.enter_context(free.pop())
            connection.execute(f"{_OPTIMIZERS}; {percentiles.BY_HASHES}")
        except IndexError:
            connection = closing.enter_context(connect())
        began_s, refusal = time.monotonic(), None
        try:
            yield connection
        except (QueryError, EventsError) as error:
            refusal = error
        if time.monotonic() - began_s < _KEPT_BELOW_S:
            connection.execute("DROP TABLE IF EXISTS events")
            closing.pop_all()
            free.append(connection)
        if refusal:
            raise refusal


@atexit.register
def _close() -> None:
    """Closes the idle databases: one with Python functions must not outlive the interpreter."""
    for connection in _free.pop(os.getpid(), []):
        connection.close()


def _compiled(text: str, now_s: float) -> Pipeline:
    return compile_query(parse(text, KNOWN_FUNCTIONS), now_s)


def _run(
    pipeline: Pipeline, source: Source, connection: duckdb.DuckDBPyConnection
) -> tuple[list, list[tuple]]:
    """Names and kinds of the columns, and the rows.

    Finding JSON in the middle of a line takes a Python function. Registering the first one takes
    0.1 s, as long as reading 100,000 lines, so the query runs without it and stops at the first
    line that needs it. It also stops if times, lines or the number of distinct values must be
    checked first.
    """
    register(pipeline.python_functions, connection)
    in_order = "true" if not pipeline.stats_count else "false"
    connection.execute(f"SET preserve_insertion_order = {in_order}")
    fragments = first_fields = other_formats = False
    while True:
        try:
            if other_formats:
                pipeline.discovery.check_formats(source, connection)
            statement, outputs = pipeline.sql(source, fragments, first_fields)
            if len(statement) > _LONG_SQL:
                optimizers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
                disabled = ",".join(name for (name,) in optimizers if name not in _ALWAYS)
                connection.execute(f"SET disabled_optimizers = '{disabled}'")
            return outputs, connection.execute(statement).fetchall()
        except duckdb.Error as error:
            if bad_line.needs_look(error):
                source = bad_line.looked_at(source, connection)
                continue
            if percentiles.needs_count(str(error)):
                connection.execute(percentiles.BY_COUNT)
                continue
            if needs_first_fields(str(error)) and not first_fields:
                register(REREAD, connection)
                pipeline.notes += notes_of_fields(source, connection)
                first_fields = True
                continue
            other_formats = needs_formats(str(error))
            if not other_formats and (fragments or not needs_fragments(str(error))):
                raise _failure(error, source) from None
            if not fragments:
                register(REREAD, connection)
            fragments = True


def _failure(error: duckdb.Error, source: Source) -> InsightsError:
    """The error to raise when a statement fails. A query that compiled isn't to blame, so it names
    no place."""
    reason = str(error).splitlines()[0].partition("Error: ")[2] or str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return EventsError(
            f"the query needs more than {MEMORY_LIMIT_MB} MB of memory for these events; filter "
            "first"
        )
    if known := refusal_in(str(error)) or bad_line.locate(source.paths):
        return known
    if source.paths and (reason.startswith("log event without") or "file" in reason.lower()):
        # DuckDB's own errors name the file, those of the checks in `events` don't
        if reason.startswith("log event"):
            reason = f"{', '.join(map(str, source.paths))}: {reason}"
        return EventsError(reason)
    return InsightsError(
        "the evaluator failed on this query, which is a bug in the evaluator; its engine "
        f"reported: {reason}"
    )
