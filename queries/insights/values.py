"""How a value of the query language is held in DuckDB, and how one kind is read as another.

Insights is stringly typed. Here every compiled expression has a static kind:

* DYNAMIC: what JSON discovery found, as JSON text, so that the string "7" and the number 7 stay apart;
* TEXT: always a string, such as `@message` or a parsed field;
* MAP: JSON text of a map or list, from `jsonParse`, `split` or `parse logfmt`; JSON: what stands inside one, which may
  be a map or list again. Where a scalar is needed, a map or list is missing;
* NUMBER (a double), INTEGER, TIMESTAMP (ms since the epoch, UTC) and BOOLEAN (1 or 0 in results).

Rules, decided here where the service documents none:
* A missing value is SQL's NULL. A function, an operator or a comparison on it is missing too, and a condition
  that is missing does not hold, and neither does its `not`; guard with `ispresent`.
* A string in a numeric place counts as a number when all of it looks like one (`-1.5e3`), otherwise as missing.
* JSON null counts as missing; a JSON object or array is not a value itself (its elements are); true and false are
  the strings "true" and "false".
* A result that is no finite number (division by zero, log of 0) is missing.

SQL that mentions an operand more than once is only ever built over columns and literals: `Compiler.simple` puts any
other operand in a column of its own first, so that nested expressions stay small.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    DYNAMIC = "dynamic"
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"
    MAP = "map or list"
    JSON = "json"


STRUCTURES = {Kind.MAP, Kind.JSON}
NUMERIC = {Kind.NUMBER, Kind.INTEGER, Kind.TIMESTAMP, Kind.BOOLEAN}


@dataclass(frozen=True)
class Value:
    """A compiled expression: SQL text, its kind, and the literal it stands for, if it is one.

    `column` says that the SQL is a bare column; `number` is the column that holds the value read as a number, where
    a stage has made one.
    """

    sql: str
    kind: Kind
    literal: str | float | None = None
    column: bool = False
    number: str | None = None

    @property
    def simple(self) -> bool:
        """Whether the SQL may be repeated at no cost."""
        return self.column or self.literal is not None


_LOOKS_NUMERIC = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"

# Timestamps (ms) that every calendar function here can handle, with a thousand years to spare: 1019 to 5138.
EARLIEST_MS, LATEST_MS = -30_000_000_000_000, 100_000_000_000_000

# Run once per connection. All but insights_number and the ..._text of numbers and times repeat their argument.
# Where the argument is long and the rows are many, a stage of its own makes it a column first: DuckDB computes each
# mention. insights_json_double is insights_json_number with the infinities that are missing there.
# insights_scalar: JSON text of strings and numbers sorts before "[", that of lists, maps and null does not.
MACROS = rf"""
CREATE TEMP MACRO insights_scalar(v) AS CASE WHEN v < '[' OR v IN ('true', 'false') THEN v END;
CREATE TEMP MACRO insights_structure(v) AS CASE WHEN starts_with(v, '[') OR starts_with(v, '{{') THEN v END;
CREATE TEMP MACRO insights_text(v) AS
  CASE WHEN NOT starts_with(v, '"') THEN v WHEN contains(v, '\') THEN json_extract_string(v, '$')
  ELSE v[2:-2] END;
CREATE TEMP MACRO insights_number(s) AS TRY_CAST(regexp_extract(s, '{_LOOKS_NUMERIC}') AS DOUBLE);
CREATE TEMP MACRO insights_finite(d) AS CASE WHEN isfinite(d) THEN d END;
CREATE TEMP MACRO insights_json_double(v) AS
  CASE WHEN starts_with(v, '"') THEN insights_number(insights_text(v)) ELSE TRY_CAST(v AS DOUBLE) END;
CREATE TEMP MACRO insights_json_number(v) AS insights_finite(insights_json_double(v));
CREATE TEMP MACRO insights_number_text(d) AS regexp_replace(CAST(d AS VARCHAR), '\.0$', '');
CREATE TEMP MACRO insights_time_text(ms) AS strftime(make_timestamp(ms * 1000), '%Y-%m-%d %H:%M:%S.%g');
CREATE TEMP MACRO insights_time(ms) AS CASE WHEN ms BETWEEN {EARLIEST_MS} AND {LATEST_MS} THEN CAST(ms AS BIGINT) END;
CREATE TEMP MACRO insights_natural(s) AS list_transform(regexp_extract_all(s, '[0-9]+|[^0-9]+'), lambda chunk:
  CASE WHEN regexp_matches(chunk, '^[0-9]') THEN '0' || lpad(CAST(length(chunk) AS VARCHAR), 9, '0') || chunk
  ELSE chunk END);
"""


def sql_string(text: str) -> str:
    """A string as an SQL literal. DuckDB's ordinary literals know no escape but the doubled quote.

    It is never read as the place in a stage that stands for the stage before it.
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("{previous}")]
    return parts[0] if len(parts) == 1 else "(" + " || '{' || 'previous}' || ".join(parts) + ")"


def pointer(keys: Iterable[str]) -> str:
    """The JSON pointer (RFC 6901) of keys from the outside in."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def sql_number(number: float) -> str:
    """A finite number as an SQL literal of type double."""
    return f"CAST({sql_string(repr(float(number)))} AS DOUBLE)"


def text_literal(text: str) -> Value:
    return Value(sql_string(text), Kind.TEXT, literal=text)


def number_literal(number: float) -> Value:
    return Value(sql_number(number), Kind.NUMBER, literal=float(number))


def looks_numeric(text: str) -> bool:
    """Whether a string counts as a number in a numeric place."""
    return re.fullmatch(_LOOKS_NUMERIC[1:-1], text) is not None and abs(float(text)) != float("inf")


def as_number(value: Value) -> str:
    """SQL of type double: the value read as a number; missing where it doesn't look like one."""
    if value.number is not None:
        return value.number
    if value.kind is Kind.NUMBER:
        return value.sql
    if value.kind is Kind.DYNAMIC:
        if value.column:
            return f"insights_json_number({value.sql})"
        return f"insights_number(json_extract_string({value.sql}, '$'))"
    if value.kind is Kind.TEXT:
        number = f"insights_number({value.sql})"
        return f"insights_finite({number})" if value.simple else number
    return f"CAST({value.sql} AS DOUBLE)"


def as_double(value: Value) -> str:
    """SQL of type double of a DYNAMIC or TEXT column, as `as_number` but with infinities and NaN."""
    return f"insights_{'json_double' if value.kind is Kind.DYNAMIC else 'number'}({value.sql})"


def as_text(value: Value) -> str:
    """SQL of type varchar: the value as it is printed."""
    if value.kind is Kind.TEXT:
        return value.sql
    if value.kind is Kind.DYNAMIC:
        return f"insights_text({value.sql})" if value.column else f"json_extract_string({value.sql}, '$')"
    if value.kind is Kind.NUMBER:
        return f"insights_number_text({value.sql})"
    if value.kind is Kind.TIMESTAMP:
        return f"insights_time_text({value.sql})"
    return f"CAST(CAST({value.sql} AS BIGINT) AS VARCHAR)"


def as_dynamic(value: Value) -> str:
    """SQL of type varchar that holds JSON text, for results whose kind depends on the row."""
    if value.kind is Kind.DYNAMIC:
        return value.sql
    if value.kind in (Kind.TEXT, Kind.TIMESTAMP):
        return f"CAST(to_json({as_text(value)}) AS VARCHAR)"
    return as_text(value)


def sort_text(value: Value) -> str:
    """SQL of the list by which a column's values sort beside their number: natural order for text; 01 before 1."""
    text = as_text(value)
    return f"CASE WHEN {as_number(value)} IS NULL THEN insights_natural({text}) ELSE [{text}] END"


def finished(value: Value) -> Value:
    """The value as a column stores it: numbers that are not finite become missing."""
    if value.kind is not Kind.NUMBER or value.simple:
        return value
    return Value(f"insights_finite({value.sql})", value.kind)
