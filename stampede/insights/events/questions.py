"""Evaluates SQL on single values with DuckDB, to compile a query or check a line."""

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
    """The connection, opened on first use; most queries never need it."""
    return duckdb.connect(":memory:", config={"threads": 1}), threading.Lock()
