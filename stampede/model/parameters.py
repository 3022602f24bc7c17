"""The figures of AWS: data, each with its unit, source and date, and how well it is known."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stampede import user_json

AWS = Path(__file__).with_name("parameters.json")
# How a value came to be, the surest first.
KNOWN = ("documented", "published", "measured", "fitted", "guessed")
# What has to be said of a value beside its numbers.
_TEXTS = {
    "unit": "in which unit its value is",
    "source": "where its value is from",
    "date": "of which year, month or day its value is",
}


class ParameterError(ValueError):
    """A parameter that can't be used: one line with its name, the rule and the fix."""


@dataclass(frozen=True)
class Parameter:
    """One number. The true value is believed to lie in `low` to `high` (as a 95 % interval would say)."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    known: str
    source: str
    date: str

    @classmethod
    def of(cls, row: Mapping[str, Any], where: str) -> Parameter:
        """One row of a file of parameters; `where` names the file. Raises ParameterError."""
        name = row.get("name")
        if not isinstance(name, str) or not name:
            keys = "name, value, low, high, unit, known, source and date"
            raise ParameterError(f"{where}: a parameter has no name; give each a {keys}")
        for part, meaning in _TEXTS.items():
            if not isinstance(row.get(part), str) or not row[part].strip():
                raise ParameterError(f"{where}: {name} has no {part}; add {meaning}")
        if not re.fullmatch(r"\d{4}(-\d\d){0,2}", row["date"]):
            raise ParameterError(
                f"{where}: {name}: date must be a year, month or day (2026-11-22), got {row['date']!r}"
            )
        if row.get("known") not in KNOWN:
            raise ParameterError(f"{where}: {name}: known must be one of {', '.join(KNOWN)}, got {row.get('known')!r}")
        for part in ("value", "low", "high"):
            number = row.get(part)
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= sys.float_info.max:
                raise ParameterError(f"{where}: {name}: {part} must be a number above 0, got {number!r}")
        if not row["low"] <= row["value"] <= row["high"]:
            raise ParameterError(f"{where}: {name}: must have low <= value <= high")
        return cls(**{part: row[part] for part in cls.__dataclass_fields__})


class Parameters(Mapping[str, float]):
    """Parameters by name; `p["s3_get_per_s"]` is the value. Raises ParameterError for one that isn't there."""

    def __init__(self, rows: Iterable[Parameter]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> float:
        return self.row(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> Parameter:
        """All of one parameter. Raises ParameterError."""
        try:
            return self._rows[name]
        except KeyError:
            raise ParameterError(f"{name}: the model has no such parameter") from None

    def with_rows(self, rows: Iterable[Parameter]) -> Parameters:
        """These, with `rows` added or in their place."""
        return Parameters([*self._rows.values(), *rows])


def read(path: Path) -> list[Parameter]:
    """The parameters of a JSON file, a list of objects. Raises ParameterError."""
    try:
        rows = user_json.value_of(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ParameterError(f"{path}: isn't text in UTF-8; give a file of JSON") from None
    except (OSError, ValueError) as error:
        raise ParameterError(f"{path}: can't be read as JSON: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ParameterError(f"{path}: must be a list of objects, one per parameter")
    parameters = [Parameter.of(row, path.name) for row in rows]
    for name, count in Counter(parameter.name for parameter in parameters).items():
        if count > 1:
            raise ParameterError(f"{path.name}: {name} is given twice; keep one of them")
    return parameters
