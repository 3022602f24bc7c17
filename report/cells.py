"""`cells.csv`: the rows of the saved query `summary`, in the published shape, with every digit kept."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from report import atomic
from report.spread import Spread

INTEGERS = ("memory_size_mb", "concurrency", "count")
SECONDS = ("min_s", "p25_s", "avg_s", "p75_s", "max_s")
HEADER = INTEGERS + SECONDS


class CellsError(ValueError):
    """A row or a file that isn't in the shape of cells.csv; the text is one line."""


def number_text(value: float) -> str:
    """`value` with all its digits and no exponent: the shortest decimal that reads back as the same number."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def checked(row: Mapping[str, Any]) -> dict[str, int | float]:
    """`row` with exactly the columns of HEADER, numbers as numbers (text is read). Raises CellsError."""
    result: dict[str, int | float] = {}
    for name in HEADER:
        if name not in row:
            raise CellsError(f"the summary has no column {name}; it needs {', '.join(HEADER)}")
        try:
            number = float(row[name])
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number) or (name in INTEGERS and not number.is_integer()):
            kind = "a whole number" if name in INTEGERS else "a number of seconds"
            raise CellsError(f"the summary has {name}={row[name]!r}; it must be {kind}")
        result[name] = int(number) if name in INTEGERS else number
    return result


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """The text of cells.csv for the rows of the saved query, in their order. Raises CellsError."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in rows:
        numbers = checked(row)
        writer.writerow([number_text(numbers[name]) for name in HEADER])
    return text.getvalue()


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write cells.csv at `path`, whole or not at all. Raises CellsError, OSError."""
    atomic.write_text(path, to_csv(rows))


def read(path: Path) -> list[dict[str, int | float]]:
    """The rows of the cells.csv at `path`. Raises CellsError for another header or a bad value, OSError."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ())[: len(HEADER)] != HEADER:
            raise CellsError(f"{path.name} starts with other columns; it needs {','.join(HEADER)}")
        return [checked(row) for row in reader]


def from_spreads(spreads: Mapping[tuple[int, int], Spread]) -> list[dict[str, int | float]]:
    """Rows in the shape of the saved query from figures by (memory in MB, concurrency), in the query's order."""
    return [
        {"memory_size_mb": memory, "concurrency": n, "count": cell.count}
        | {name: getattr(cell, name) for name in SECONDS}
        for (memory, n), cell in sorted(spreads.items())
    ]
