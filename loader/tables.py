"""Prints rows on stdout as a table, CSV or JSON."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def print_rows(rows: Sequence[dict[str, Any]], form: str, columns: Sequence[str] | None = None) -> None:
    """Print `rows` on stdout; `columns` gives order and header (default: the union of the rows' keys, in order)."""
    names = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
    if form == "json":
        print(json.dumps(list(rows), indent=2))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        Console(soft_wrap=False, width=None if sys.stdout.isatty() else 160).print(_table(rows, names))


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
