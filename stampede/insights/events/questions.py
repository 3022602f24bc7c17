"""Asks DuckDB about a single value, where a query is compiled or a line looked at."""

import threading
from functools import cache
from typing import Any

import duckdb


def ask(expression: str, *values: str) -> Any:
    """The value of an SQL expression whose parameters are `values`. Raises duckdb.Error."""
    connection, lock = _engine()
    with lock:
        return connection.execute(f"SELECT {expression}", values).fetchone()[0]


@cache
def _engine() -> tuple[duckdb.DuckDBPyConnection, threading.Lock]:
    """The connection that answers; most queries ask nothing and never open it."""
    return duckdb.connect(":memory:", config={"threads": 1}), threading.Lock()
