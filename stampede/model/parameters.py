"""The figures of AWS: data, each with its unit, source, date, and how well it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

AWS = Path(__file__).with_name("parameters.json")
Above0 = msgspec.Meta(gt=0)
Number = Annotated[int, Above0] | Annotated[float, Above0]
Words = Annotated[str, msgspec.Meta(min_length=1)]


class ParameterError(ValueError):
    """A parameter that can't be used: one line with its name and the rule."""


@dataclass(frozen=True)
class Parameter:
    """One number. The true value is believed to lie between `low` and `high` (a 95 % interval)."""

    name: Words
    value: Number
    low: Number
    high: Number
    unit: Words
    # Where the value comes from, the surest kind first.
    known: Literal["documented", "published", "measured", "fitted", "guessed"]
    source: Words
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d\d){0,2}$")]


class Parameters(Mapping[str, float]):
    """Parameters by name; `p["s3_get_per_s"]` is the value. Unknown names raise ParameterError."""

    def __init__(self, rows: Iterable[Parameter]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> float:
        return self.row(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> Parameter:
        """A whole parameter. Raises ParameterError."""
        try:
            return self._rows[name]
        except KeyError:
            raise ParameterError(f"{name}: the model has no such parameter") from None

    def with_rows(self, rows: Iterable[Parameter]) -> Parameters:
        """A copy with `rows` added or replaced."""
        return Parameters([*self._rows.values(), *rows])


def read(path: Path) -> list[Parameter]:
    """The parameters in a JSON file, a list of objects. Raises ParameterError."""
    if path.exists() and not path.is_file():
        raise ParameterError(f"{path}: isn't a file; give a list of parameters as in {AWS.name}")
    try:
        parameters = msgspec.json.decode(path.read_bytes(), type=list[Parameter])
    except (OSError, msgspec.MsgspecError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"{path}: can't be read: {reason}; give a list of parameters as in {AWS.name}"
        ) from None
    counts = Counter(parameter.name for parameter in parameters)
    for row in parameters:
        if counts[row.name] > 1:
            raise ParameterError(f"{path}: {row.name} is given twice; keep one of them")
        if not row.low <= row.value <= row.high:
            raise ParameterError(f"{path}: {row.name} must have low <= value <= high")
    return parameters
