"""How DuckDB holds a value of the query language, and how one kind is read as another.

Insights is stringly typed. Here every compiled expression has a static kind:

* DYNAMIC: a discovered JSON value, as JSON text, so that the string "7" and the number 7 differ;
* TEXT: always a string, such as `@message` or a parsed field;
* MAP: JSON text of a map or list, from `jsonParse`, `split` or `parse logfmt`; JSON: an element of
  one, which may be a map or list again. Where a scalar is needed, a map or list is missing;
* NUMBER (a double), INTEGER, TIMESTAMP (ms since the epoch, UTC) and BOOLEAN (1 or 0 in results).

Rules, decided here where the service documents none:

* A missing value is NULL in SQL. Functions, operators and comparisons on it are missing too; a
  missing condition isn't true, and neither is its `not`; guard with `ispresent`.
* A string in a numeric place counts as a number if all of it looks like one (`-1.5e3`), otherwise
  as missing.
* JSON null counts as missing; a JSON object or array is not itself a value (its elements are).
  JSON's true and false are the numbers 1 and 0 everywhere (powertools-lambda-dotnet#667, AWS's
  samples that filter `= 1`); only jsonStringify of a map writes them as words. The texts "true" and
  "false" stay text.
* A result that isn't a finite number (division by zero, log of 0) is missing.
* 64-bit integers stay integers: numbers are computed as doubles, and again as integers if a double
  may not be exact (see `exact`). A number beyond 64 bits, or with a fraction, stays a double and is
  printed as one (9.3E18).

SQL may repeat an operand only if it is a column or literal: `Compiler.simple` first stores any
other operand in a column, so that nested expressions stay small.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from stampede.runs.store import quoted


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
    """A compiled expression: SQL text, its kind, and its value if it is a literal.

    `column` says that the SQL is a bare column; `number` names the column with the numeric reading,
    if a stage has created one. A NUMBER of whole numbers has `exact`, until `exact.columns` stores
    it; then the column `big` holds the integers for which the double may not be exact.
    """

    sql: str
    kind: Kind
    literal: str | float | None = None
    column: bool = False
    number: str | None = None
    exact: "Exact | None" = None
    big: str | None = None

    @property
    def simple(self) -> bool:
        """Whether the SQL may be repeated at no cost."""
        return self.column or self.literal is not None


@dataclass(frozen=True)
class Exact:
    """An exact number next to its double: `whole` is SQL of type HUGEINT, missing if the number
    isn't whole; `reach` is SQL of type DOUBLE, an upper bound on the number and every intermediate
    result: below 2**53 the double is exact."""

    whole: str
    reach: str


EXACT_BELOW = 2**53  # doubles hold every integer up to this one
_LOOKS_NUMERIC = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
# How programs write a long, and a double that `result` also prints in digits; `insights_plain`
# checks that it reads back unchanged.
_LONG = "(?:0|-?[1-9][0-9]{0,17})"
_FRACTION = "(?:0[.]0+|-?[1-9][0-9]{0,6}[.][0-9]{1,17}|-?0[.]0{0,2}[1-9][0-9]{0,16})"

# Timestamps (ms) that every calendar function here supports, with a thousand years to spare: 1019
# to 5138.
EARLIEST_MS, LATEST_MS = -30_000_000_000_000, 100_000_000_000_000

# Run once per connection. All but insights_number and the ..._text of numbers and times repeat
# their argument, and DuckDB computes each mention: if it is expensive and rows are many, store it
# in a column first. insights_json_double is insights_json_number with infinities, which are missing
# there. insights_plain turns the JSON text of a string into that of a number, if written as
# programs write a long or double: 7, 1.5, 77.40. insights_quoted is starts_with(v, '"') at a third
# of the cost. insights_scalar: JSON text of strings and negative numbers sorts before "-A", that of
# other numbers between "0" and ":"; the rest are lists, maps, null, and nan and inf, which DuckDB
# accepts and JSON doesn't have.
MACROS = rf"""
CREATE TEMP MACRO insights_scalar(v) AS
  CASE WHEN v < '-A' THEN v WHEN v < '0' THEN NULL WHEN v < ':' THEN v
  WHEN v = 'true' THEN '1' WHEN v = 'false' THEN '0' END;
CREATE TEMP MACRO insights_structure(v) AS CASE WHEN starts_with(v, '[') OR starts_with(v, '{{')
    THEN v END;
CREATE TEMP MACRO insights_quoted(v) AS v >= '"' AND v < '#';
CREATE TEMP MACRO insights_text(v) AS CASE WHEN insights_quoted(v)
  THEN CASE WHEN contains(v, '\') THEN json_extract_string(v, '$') ELSE v[2:-2] END ELSE v END;
CREATE TEMP MACRO insights_number(s) AS TRY_CAST(regexp_extract(s, '{_LOOKS_NUMERIC}') AS DOUBLE);
CREATE TEMP MACRO insights_finite(d) AS CASE WHEN isfinite(d) THEN d + 0.0 END; -- no -0
CREATE TEMP MACRO insights_json_double(v) AS
  CASE WHEN insights_quoted(v) THEN insights_number(insights_text(v))
      ELSE TRY_CAST(v AS DOUBLE) END;
CREATE TEMP MACRO insights_json_number(v) AS insights_finite(insights_json_double(v));
CREATE TEMP MACRO insights_whole_double(d) AS
  CASE WHEN abs(d) < {EXACT_BELOW} AND d = trunc(d) THEN CAST(d AS HUGEINT) END;
CREATE TEMP MACRO insights_whole(s, d) AS
  coalesce(TRY_CAST(regexp_extract(s, '^[+-]?[0-9]+$') AS HUGEINT), insights_whole_double(d));
CREATE TEMP MACRO insights_long(s, d) AS
  coalesce(TRY_CAST(regexp_extract(s, '^([+-]?[0-9]+)(?:[.][0-9]*)?$', 1) AS BIGINT),
      TRY_CAST(trunc(d) AS BIGINT));
CREATE TEMP MACRO insights_plain(v) AS CASE WHEN regexp_full_match(v, '"{_LONG}"') THEN v[2:-2]
  WHEN regexp_full_match(v, '"{_FRACTION}"')
    AND regexp_replace(CAST(TRY_CAST(v[2:-2] AS DOUBLE) AS VARCHAR), '\.0$',
        '') = regexp_replace(v[2:-2], '\.?0+$', '')
    THEN v[2:-2] ELSE v END;
CREATE TEMP MACRO insights_number_text(d) AS regexp_replace(CAST(d AS VARCHAR), '\.0$', '');
CREATE TEMP MACRO insights_time_text(ms) AS strftime(make_timestamp(ms * 1000),
    '%Y-%m-%d %H:%M:%S.%g');
CREATE TEMP MACRO insights_time(ms) AS CASE WHEN ms BETWEEN {EARLIEST_MS} AND {LATEST_MS}
    THEN CAST(ms AS BIGINT) END;
CREATE TEMP MACRO insights_natural(s) AS list_transform(regexp_extract_all(s, '[0-9]+|[^0-9]+'),
    lambda chunk:
  CASE WHEN regexp_matches(chunk, '^[0-9]')
      THEN '0' || lpad(CAST(length(chunk) AS VARCHAR), 9, '0') || chunk
  ELSE chunk END);
"""


def sql_string(text: str) -> str:
    """A string as an SQL literal. DuckDB's ordinary literals have no escapes but the doubled quote.

    The result never contains `{previous}`, which stages replace by the previous stage.
    """
    parts = [quoted(part) for part in text.split("{previous}")]
    return parts[0] if len(parts) == 1 else "(" + " || '{' || 'previous}' || ".join(parts) + ")"


def pointer(keys: Iterable[str]) -> str:
    """The JSON pointer (RFC 6901) for keys from the outside in."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def sql_number(number: float) -> str:
    """A finite number as an SQL literal of type double."""
    return f"CAST({sql_string(repr(float(number)))} AS DOUBLE)"


def text_literal(text: str) -> Value:
    return Value(sql_string(text), Kind.TEXT, literal=text)


def number_literal(number: float) -> Value:
    """`literal` is an int if a double can't hold the number, otherwise a float."""
    known = number if abs(number) >= EXACT_BELOW else float(number)
    return Value(sql_number(number), Kind.NUMBER, literal=known)


def looks_numeric(text: str) -> bool:
    """Whether a string counts as a number in a numeric place."""
    return re.fullmatch(_LOOKS_NUMERIC[1:-1], text) is not None and abs(float(text)) != float("inf")


def as_number(value: Value) -> str:
    """SQL of type double: the value read as a number; missing if it doesn't look like one."""
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
    """SQL of type double for a DYNAMIC or TEXT column: `as_number` with infinities and NaN."""
    return f"insights_{'json_double' if value.kind is Kind.DYNAMIC else 'number'}({value.sql})"


def as_long(value: Value) -> str:
    """SQL of type bigint: the value, truncated; missing if it isn't a number or is out of range."""
    if isinstance(value.literal, int):
        return f"TRY_CAST('{value.literal}' AS BIGINT)"
    if value.kind in (Kind.DYNAMIC, Kind.TEXT):
        return f"insights_long({as_text(value)}, {as_number(value)})"
    if value.kind is Kind.NUMBER:
        whole = f"TRY_CAST(trunc({value.sql}) AS BIGINT)"
        return f"coalesce({value.big}, {whole})" if value.big else whole
    return f"CAST({value.sql} AS BIGINT)"


def as_text(value: Value) -> str:
    """SQL of type varchar: the value as printed."""
    if value.kind is Kind.TEXT:
        return value.sql
    if value.kind is Kind.DYNAMIC:
        if value.column:
            return f"insights_text({value.sql})"
        return f"json_extract_string({value.sql}, '$')"
    if isinstance(value.literal, int):
        return f"'{value.literal}'"
    if value.kind is Kind.NUMBER:
        written = f"insights_number_text({value.sql})"
        return f"coalesce(CAST({value.big} AS VARCHAR), {written})" if value.big else written
    if value.kind is Kind.TIMESTAMP:
        return f"insights_time_text({value.sql})"
    return f"CAST(CAST({value.sql} AS BIGINT) AS VARCHAR)"


def as_dynamic(value: Value) -> str:
    """SQL of type varchar with JSON text, for results whose kind depends on the row."""
    if value.kind is Kind.DYNAMIC:
        return value.sql
    if value.kind in (Kind.TEXT, Kind.TIMESTAMP):
        return f"CAST(to_json({as_text(value)}) AS VARCHAR)"
    return as_text(value)


def sort_number(value: Value) -> str | None:
    """SQL of the number by which a column's text or JSON text is sorted; None for a numeric column.

    Here a text is a number if it consists of digits with at most a sign and one point: `5e1` and
    `9a` mix digits and other characters, and sort by chunks. Source: CWL_QuerySyntax-Sort, "number
    values are values that include only numbers".
    """
    if value.kind in NUMERIC:
        return None
    mixed = f"contains({value.sql}, 'e') OR contains({value.sql}, 'E')"
    if value.kind is Kind.DYNAMIC:
        mixed = f"insights_quoted({value.sql}) AND ({mixed})"
    return f"CASE WHEN NOT ({mixed}) THEN {as_number(value)} END"


def order_keys(value: Value, number: str | None = None, text: str | None = None) -> list[str]:
    """SQL of the successive sort keys of a column: numbers after other values, 01 before 1.

    `number` and `text` are columns with `sort_number` and `as_text`, if they exist: each repetition
    takes planning time.
    """
    if value.kind in NUMERIC:
        return [value.sql, value.big] if value.big else [value.sql]
    text, number = text or as_text(value), number or sort_number(value)
    whole = f"CASE WHEN abs({number}) >= {EXACT_BELOW} THEN insights_whole({text}, NULL) END"
    chunks = f"CASE WHEN {number} IS NULL THEN insights_natural({text}) ELSE [{text}] END"
    return [f"({number} IS NOT NULL)", f"coalesce({number}, 0)", whole, chunks]


def finished(value: Value) -> Value:
    """The value as stored in a column: non-finite numbers become missing."""
    if value.kind is not Kind.NUMBER or value.simple:
        return value
    return Value(f"insights_finite({value.sql})", value.kind)
