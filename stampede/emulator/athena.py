"""Corrects the Athena of the embedded AWS (MiniStack, on DuckDB) where it differs from AWS's.

It accepts counts, sums and extremes over one table with its partitions given, for which DuckDB was
seen to answer as Athena does, and refuses every other statement. A workgroup's scan limit isn't
enforced: MiniStack doesn't measure the bytes scanned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ministack.core.responses import error_response_json
from ministack.services import athena, glue

_ITEM = r"(count\(\*\)|(sum|min|max)\(\w+\)) AS \w+"
_CONDITION = r"\w+ ?= ?'[^']*'"
_QUERY = re.compile(
    rf'SELECT {_ITEM}( ?, ?{_ITEM})* FROM "?(?P<table>\w+)"?'
    rf"( WHERE (?P<where>{_CONDITION}( AND {_CONDITION})*))?",
    re.I,
)
_REFUSED = (
    "the embedded Athena doesn't support this query: it takes SELECT count(*), sum, min or max of "
    "columns, each AS a name, FROM one table WHERE its partition keys = 'text' joined by AND"
)
_CONSTRAINT = (
    "CONSTRAINT_VIOLATION: For the injected projected partition column {}, the WHERE clause must "
    "contain only static equality conditions, and at least one such condition must be present."
)


def behave() -> None:
    """Patch the Athena of MiniStack in this process to behave as AWS's."""
    athena._start_query_execution = _starting_once(athena._start_query_execution)
    athena._execute_query = _executing(athena._execute_query)
    athena._table_relation = _reading(athena._table_relation)


def _starting_once(start: Callable[[dict], tuple]) -> Callable[[dict], tuple]:
    """Refuse unsupported queries; a repeated ClientRequestToken returns the first execution's id
    and runs nothing."""
    begun: dict[str, tuple] = {}

    def start_once(data: dict[str, Any]) -> tuple:
        query, token = data.get("QueryString", ""), data.get("ClientRequestToken")
        if _parts(query) is None:
            return error_response_json(
                "InvalidRequestException", f"{_REFUSED}; got {query[:200]}", 400
            )
        if token in begun:
            return begun[token]
        answer = start(data)
        if token and answer[0] == 200:
            begun[token] = answer
        return answer

    return start_once


def _executing(execute: Callable) -> Callable:
    """Fail queries that AWS fails and DuckDB answers; leave out made-up statistics."""

    async def execute_as_aws(query_id: str, query: str, database: str, *more: Any) -> None:
        execution = athena._executions[query_id]
        if reason := _why_it_fails(query, database):
            execution["Status"] |= {"State": "FAILED", "StateChangeReason": reason}
        else:
            await execute(query_id, query, database, *more)
        # MiniStack makes up the other statistics.
        engine_ms = execution["Statistics"]["EngineExecutionTimeInMillis"]
        execution["Statistics"] = {
            "EngineExecutionTimeInMillis": engine_ms,
            "TotalExecutionTimeInMillis": engine_ms,
        }

    return execute_as_aws


def _reading(relation_of: Callable[[dict, list], str]) -> Callable[[dict, list], str]:
    """Read JSON by the table's columns, as Athena does: to detect columns, DuckDB opens all objects
    at once and reserves 32 MiB for each, so a few hundred objects exhaust memory."""

    def relation(table: dict[str, Any], files: list[str]) -> str:
        columns = table["StorageDescriptor"].get("Columns")
        if athena._data_format(table) != "json" or not columns:
            return relation_of(table, files)
        types = ", ".join(
            f"'{column['Name']}': '{athena._duckdb_type(column)}'" for column in columns
        )
        hive = athena._hive_options(athena._path_partition_keys(table, files))
        options = f"columns = {{{types}}}, format = 'newline_delimited', {hive}"
        return f"read_json({athena._sql_list(files)}, {options})"

    return relation


def _parts(query: str) -> tuple[str, set[str]] | None:
    """Table and partition keys of a supported query; None for any other."""
    match = _QUERY.fullmatch(" ".join(query.split()))
    if match is None:
        return None
    return match["table"], set(re.findall(r"(\w+) ?= ?'", match["where"] or ""))


def _why_it_fails(query: str, database: str) -> str:
    """Why AWS ends the query as FAILED, or what isn't supported; "" where DuckDB decides."""
    name, keys = _parts(query)
    table = glue._tables.get(f"{database}/{name}")
    if table is None:
        return f"TABLE_NOT_FOUND: line 1:1: Table 'awsdatacatalog.{database}.{name}' does not exist"
    partitions = [key["Name"] for key in table.get("PartitionKeys") or []]
    if other_columns := keys.difference(partitions):
        return f"NOT_SUPPORTED: {_REFUSED}; {', '.join(other_columns)} isn't a partition key"
    # Only the query names "injected" partitions (Athena User Guide, dynamic ID partitioning).
    parameters = table.get("Parameters") or {}
    for partition in partitions if parameters.get("projection.enabled") == "true" else ():
        if parameters.get(f"projection.{partition}.type") == "injected" and partition not in keys:
            return _CONSTRAINT.format(partition)
    return ""
