"""The rows that a query returns, typed and as the service's strings."""

import json
import math
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from stampede.insights.values import EXACT_BELOW, STRUCTURES, Kind

_FOUR_DIGITS, _FOUR_DECIMALS = Context(prec=4, rounding=ROUND_HALF_UP), Decimal("0.0001")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Result:
    """`rows` hold numbers as int or float and everything else as str, maps and lists as JSON text.

    A missing field is omitted from its row.

    Whole numbers are int, booleans 1 or 0, timestamps `YYYY-MM-DD HH:MM:SS.mmm` (UTC). `columns`
    names every column, in order. `truncated` says that the default limit of 10,000 rows
    truncated the result. `notes` tell the user where the service's interpretation of the query
    may be surprising.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = False
    notes: tuple[str, ...] = ()
    _computed: frozenset[str] = field(default=frozenset(), repr=False)
    _pointers: tuple[str, ...] = field(default=(), repr=False)

    def as_strings(self) -> list[dict[str, str]]:
        """The rows as the service returns them, every value a string.

        Computed numbers are rounded as `number_text` describes, logged ones aren't.
        """
        return [
            {name: self._string(name, value) for name, value in row.items()} for row in self.rows
        ]

    def as_service(self) -> list[list[dict[str, str]]]:
        """The rows as GetQueryResults returns them: pairs of `field` and `value`, event rows with
        @ptr last.

        The service's @ptr is opaque; here it is the event's place in its source.
        """
        rows = [
            [{"field": name, "value": value} for name, value in row.items()]
            for row in self.as_strings()
        ]
        for row, pointer in zip(rows, self._pointers, strict=False):
            if all(pair["field"] != "@ptr" for pair in row):
                row.append({"field": "@ptr", "value": pointer})
        return rows

    def _string(self, name: str, value: Any) -> str:
        if isinstance(value, float):
            return number_text(value, computed=name in self._computed)
        return str(value)


def result(
    outputs: list[tuple[str, Kind]],
    rows: list[tuple[Any, ...]],
    *,
    truncated: bool,
    of_events: bool,
    notes: Iterable[str],
) -> Result:
    """The Result for raw database rows, given each column's name and kind; rows `of_events` end
    with their place in the source."""
    pointers = tuple(pointer_text(row[-1]) for row in rows) if of_events else ()
    typed = []
    for row in rows:
        if of_events:
            row = row[:-1]
        values = (
            (name, _typed(value, kind)) for (name, kind), value in zip(outputs, row, strict=True)
        )
        typed.append({name: value for name, value in values if value is not None})
    computed = frozenset(name for name, kind in outputs if kind is Kind.NUMBER)
    return Result([name for name, _ in outputs], typed, truncated, tuple(notes), computed, pointers)


def pointer_text(ordinal: int) -> str:
    """The @ptr of the event at a place in its source."""
    return b64encode(ordinal.to_bytes(8, "big")).decode()


def _typed(value: Any, kind: Kind) -> Any:
    if value is None or kind is Kind.TEXT:
        return value
    if kind in STRUCTURES and value.startswith(("{", "[")):
        return value
    if kind is Kind.DYNAMIC or kind in STRUCTURES:
        return _dynamic(value)
    if kind is Kind.TIMESTAMP:
        return time_text(value)
    return _whole(value) if kind is Kind.NUMBER else int(value)


def _dynamic(text: str) -> Any:
    """JSON text of a scalar as str, int or float; true and false are 1 and 0; what isn't JSON, such
    as nan, is missing."""
    if text.startswith('"'):
        return json.loads(text)
    if text in ("true", "false"):
        return int(text == "true")
    try:
        number = json.loads(text)
    except json.JSONDecodeError:
        return None
    except ValueError:
        return text  # a whole number of thousands of digits
    return number if isinstance(number, int) or math.isfinite(number) else text


def _whole(number: float | str) -> int | float | None:
    """A double, or the text of a double or integer, as a Python number; digits that a double can't
    hold stay."""
    if isinstance(number, str):
        if number.lstrip("-").isdigit() and -(2**63) <= int(number) < 2**63:
            return int(number)
        number = float(number)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < EXACT_BELOW else number


def time_text(ms: int) -> str:
    """Milliseconds since the epoch as the service prints a timestamp."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def number_text(number: float, *, computed: bool = True) -> str:
    """A number as the service prints it, without an exponent or trailing zeros: `computed` ones
    with four decimals, below 1 with four significant digits; logged ones with all their digits.

    Source: recorded results, tests/data/aws_answers/insights.json. Halves are rounded up,
    in decimal.
    """
    if isinstance(number, int):
        return str(number)
    exact = Decimal(repr(number))
    if not computed or abs(exact) >= 10**15:  # a double has no four decimals there
        rounded = exact
    elif abs(exact) < 1:
        rounded = _FOUR_DIGITS.plus(exact)
    else:
        rounded = exact.quantize(_FOUR_DECIMALS, ROUND_HALF_UP)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
