"""`cells.csv`: the rows of the experiment's saved query, with all digits.

The columns of the published table come first: its axes, the count and five statistics of the time.
The variants and the other metrics follow.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import Axis, Experiment
from stampede.cell import SETTINGS, Cell
from stampede.experiment import Metric
from stampede.runs import stored_json
from stampede.tables import number_text

SECONDS = ("min_s", "p25_s", "avg_s", "p75_s", "max_s")


class CellsError(ValueError):
    """A row or file that doesn't have the columns of cells.csv; the text is one line."""


def published_columns(experiment: Experiment) -> tuple[str, ...]:
    """The required columns; older files have only these."""
    return (*(axis.name for axis in experiment.axes if not axis.is_variant), "count", *SECONDS)


def taken(experiment: Experiment) -> list[Metric]:
    """The metrics other than the time in the saved query; their values may be empty."""
    return [metric for metric in experiment.metrics[1:] if metric.queried]


def header(experiment: Experiment) -> tuple[str, ...]:
    """All columns except SETTINGS, which comes last, if other variables were swept."""
    ways = (axis.name for axis in experiment.axes if axis.is_variant)
    return (*published_columns(experiment), *ways, *(metric.name for metric in taken(experiment)))


def checked(row: Mapping[str, Any], experiment: Experiment) -> dict[str, Any]:
    """`row` with exactly the columns of `header`; numbers may come as text. Raises CellsError.

    The published columns are required. A missing axis has its default; metrics may be None.
    """
    needed = published_columns(experiment)
    for name in needed:
        if name not in row:
            raise CellsError(f"the summary has no column {name}; it needs {', '.join(needed)}")
    result: dict[str, Any] = {}
    for axis in experiment.axes:
        result[axis.name] = _coordinate(axis, row.get(axis.name), list(result.values()))
    result["count"] = _number("count", row["count"], whole=True)
    result |= {name: _number(name, row[name]) for name in SECONDS}
    if row.get(SETTINGS):
        result[SETTINGS] = str(row[SETTINGS])
    for metric in taken(experiment):
        value = row.get(metric.name)
        result[metric.name] = (
            None if value in (None, "") else _number(metric.name, value, whole=metric.how == "sum")
        )
    return result


def _coordinate(axis: Axis, value: Any, before: list[Any]) -> Any:
    if axis.is_variant and value in (None, ""):
        return axis.default_of(before)
    return _number(axis.name, value, whole=True) if axis.kind is int else str(value)


def _number(name: str, value: Any, *, whole: bool = False) -> int | float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (whole and not number.is_integer()):
        kind = (
            "a whole number" if whole else "a number of seconds" if name in SECONDS else "a number"
        )
        raise CellsError(f"the summary has {name}={value!r}; it must be {kind}")
    return int(number) if whole else number


def to_csv(rows: Iterable[Mapping[str, Any]], experiment: Experiment) -> str:
    """The text of cells.csv for the rows of the saved query, in their order. Raises CellsError."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    complete = [checked(row, experiment) for row in rows]
    columns = header(experiment)
    if any(row.get(SETTINGS) for row in complete):
        columns = (*columns, SETTINGS)
    writer.writerow(columns)
    writer.writerows([_text(row.get(name)) for name in columns] for row in complete)
    return text.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number_text(value)


def read(path: Path, experiment: Experiment) -> list[dict[str, Any]]:
    """The rows of the cells.csv at `path`, which may have the published columns only.

    Raises CellsError for another header or a bad value, OSError.
    """
    needed = published_columns(experiment)
    with io.TextIOWrapper(stored_json.opened(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ())[: len(needed)] != needed:
            raise CellsError(f"{path.name} starts with other columns; it needs {','.join(needed)}")
        return [checked(row, experiment) for row in reader]


def counted_row(
    place: Cell, seconds: Sequence[float], metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """A row like the saved query's, from the seconds of a cell's operations (at least one) and its
    metrics. Quartiles are nearest ranks; the saved query's differ by at most the width of a
    bin."""
    ordered = sorted(seconds)
    mean_s = math.fsum(ordered) / len(ordered)
    five = (ordered[0], nearest_rank(ordered, 25), mean_s, nearest_rank(ordered, 75), ordered[-1])
    return place.figures() | {
        "count": len(ordered),
        **dict(zip(SECONDS, five, strict=True)),
        **metrics,
    }


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The value of rank ceil(percent / 100 x n), at least 1, of the ascending, non-empty
    `ordered`."""
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]
