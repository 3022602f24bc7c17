"""`cells.csv`: the rows of the saved query `methods`, with every digit kept.

The columns of the published table come first, then how was downloaded, and what that took of the function.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from report import atomic
from report.spread import Spread
from report.ways import METHOD, Key, as_figures, default_sink

INTEGERS = ("memory_size_mb", "concurrency", "count")
SECONDS = ("min_s", "p25_s", "avg_s", "p75_s", "max_s")
PUBLISHED = INTEGERS + SECONDS
WAY = ("method", "sink")
# Empty where a record doesn't say it.
CLIENT = ("mbit_per_s", "cpu_s_per_gib", "retries")
HEADER = PUBLISHED + WAY + CLIENT
# What else the run swept, as object_size_mb=4; a column only where it swept anything else.
SETTINGS = "settings"


class CellsError(ValueError):
    """A row or a file that isn't in the shape of cells.csv; the text is one line."""


def number_text(value: float) -> str:
    """`value` with all its digits and no exponent: the shortest decimal that reads back as the same number."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def checked(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` with exactly the columns of HEADER, numbers as numbers (text is read). Raises CellsError.

    The published ones must be there. Without method and sink it is of the published way; the others may be None.
    """
    result: dict[str, Any] = {}
    for name in PUBLISHED:
        if name not in row:
            raise CellsError(f"the summary has no column {name}; it needs {', '.join(PUBLISHED)}")
        result[name] = _number(name, row[name])
    result["method"] = method = str(row.get("method") or METHOD)
    result["sink"] = str(row.get("sink") or default_sink(method))
    if row.get(SETTINGS):
        result[SETTINGS] = str(row[SETTINGS])
    for name in CLIENT:
        result[name] = None if row.get(name) in (None, "") else _number(name, row[name])
    return result


def _number(name: str, value: Any) -> int | float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    is_whole = name in INTEGERS or name == "retries"
    if not math.isfinite(number) or (is_whole and not number.is_integer()):
        kind = "a whole number" if is_whole else "a number of seconds" if name in SECONDS else "a number"
        raise CellsError(f"the summary has {name}={value!r}; it must be {kind}")
    return int(number) if is_whole else number


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """The text of cells.csv for the rows of the saved query, in their order. Raises CellsError."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    complete = [checked(row) for row in rows]
    header = (*HEADER, SETTINGS) if any(row.get(SETTINGS) for row in complete) else HEADER
    writer.writerow(header)
    writer.writerows([_text(row.get(name)) for name in header] for row in complete)
    return text.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number_text(value)


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write cells.csv at `path`, whole or not at all. Raises CellsError, OSError."""
    atomic.write_text(path, to_csv(rows))


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of the cells.csv at `path`; one with the published columns only is read, too.

    Raises CellsError for another header or a bad value, OSError.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ())[: len(PUBLISHED)] != PUBLISHED:
            raise CellsError(f"{path.name} starts with other columns; it needs {','.join(PUBLISHED)}")
        return [checked(row) for row in reader]


def from_spreads(spreads: Mapping[Key, Spread], clients: Mapping[Key, Any] | None = None) -> list[dict[str, Any]]:
    """Rows in the shape of the saved query from the figures of each cell, in the query's order; `clients` hold those
    of CLIENT.
    """
    return [
        as_figures(key)
        | {"count": cell.count}
        | {name: getattr(cell, name) for name in SECONDS}
        | {name: getattr((clients or {}).get(key), name, None) for name in CLIENT}
        for key, cell in sorted(spreads.items())
    ]
