"""Comparison operators as SQL.

Two sides are compared as numbers if at least one is a number (a JSON number, a computed value, a
number literal) and the other looks like one; whole numbers with all their digits. Two strings are
equal only if they are the same text: `"007"` is not `"7"`. `<` and the like compare strings as
numbers if both look like numbers, otherwise in Unicode order. A number never equals a string that
doesn't look like one. In a list each item is compared on its own.
"""

import json

from stampede.insights.expressions.exact import exact
from stampede.insights.language.syntax import Span, refusal
from stampede.insights.values import (
    EXACT_BELOW,
    NUMERIC,
    Kind,
    Value,
    as_double,
    as_number,
    as_text,
    looks_numeric,
    sql_number,
    sql_string,
)

# Words that JSON text may hold unquoted, besides numbers, true and false.
_BARE_WORDS = {"nan", "infinity", "-infinity", "inf", "-inf"}
_SQL = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def compare(operator: str, left: Value, right: Value, span: Span) -> Value:
    """`left operator right`, for columns or literals; missing if a side is missing.

    Raises QueryError for a timestamp compared with text, which the service doesn't document.
    """
    for time, text in ((left, right), (right, left)):
        is_text = isinstance(text.literal, str) and not looks_numeric(text.literal)
        if time.kind is Kind.TIMESTAMP and is_text:
            raise refusal(
                span,
                "a timestamp can't be compared with text; compare with milliseconds since 1970, "
                "as in toMillis(@timestamp) >= 1736700000000",
            )
    sql = _SQL[operator]
    if left.kind in NUMERIC and right.kind in NUMERIC:
        return _boolean(_numbers(operator, left, right))
    if left.kind in NUMERIC or right.kind in NUMERIC:
        return _number_beside_string(operator, left, right)
    if operator in ("=", "!=") and (equality := _json_text_equality(operator, left, right)):
        return _boolean(equality)
    if _is_plain_text(left) or _is_plain_text(right):
        return _boolean(f"{as_text(left)} {sql} {as_text(right)}")
    as_numbers = _numbers(operator, left, right)
    as_texts = f"{as_text(left)} {sql} {as_text(right)}"
    if operator not in ("=", "!="):
        return _boolean(f"coalesce({as_numbers}, {as_texts})")
    if left.kind is Kind.TEXT and right.kind is Kind.TEXT:
        return _boolean(as_texts)
    strings = " AND ".join(
        f"starts_with({side.sql}, '\"')" for side in (left, right) if side.kind is Kind.DYNAMIC
    )
    return _boolean(
        f"CASE WHEN {strings} THEN {as_texts} ELSE coalesce({as_numbers}, {as_texts}) END"
    )


def _json_text_equality(operator: str, left: Value, right: Value) -> str | None:
    """Compares a discovered field with a plain word as JSON text, which has only one spelling."""
    for field, other in ((left, right), (right, left)):
        word = other.literal
        if field.kind is not Kind.DYNAMIC or not field.column or not isinstance(word, str):
            continue
        bare = looks_numeric(word) or word.lower() in _BARE_WORDS
        if not bare and word.isascii() and word.isprintable() and not {'"', "\\"} & set(word):
            return f"{field.sql} {_SQL[operator]} {sql_string(json.dumps(word))}"
    return None


def _number_beside_string(operator: str, left: Value, right: Value) -> Value:
    string = right if left.kind in NUMERIC else left
    if isinstance(string.literal, str) and not looks_numeric(string.literal):
        other = left if string is right else right
        return _boolean(
            f"CASE WHEN {other.sql} IS NOT NULL THEN {str(operator == '!=').upper()} END"
        )
    for field, other in ((left, right), (right, left)):
        if as_written(operator, field, other):
            return _boolean(_equality_with_number(operator, field, other))
    both = _numbers(operator, left, right)
    unlike = str(operator == "!=").upper()
    return _boolean(
        f"CASE WHEN {left.sql} IS NOT NULL AND {right.sql} IS NOT NULL THEN coalesce({both}, "
        f"{unlike}) END"
    )


def as_written(operator: str, field: Value, number: Value) -> bool:
    """Whether `_equality_with_number` compares the two, mostly without reading the field as
    a number."""
    literal = number.kind in NUMERIC and number.literal is not None
    return operator in ("=", "!=") and field.kind is Kind.DYNAMIC and field.column and literal


def _equality_with_number(operator: str, field: Value, number: Value) -> str:
    """Compares a discovered field with a number: most equal fields are spelled the same and need
    no parsing."""
    equal, unlike = ("TRUE", "FALSE") if operator == "=" else ("FALSE", "TRUE")
    whole = isinstance(number.literal, int) or (
        number.literal.is_integer() and abs(number.literal) < EXACT_BELOW
    )
    same = f"WHEN {field.sql} = '{int(number.literal)}' THEN {equal} " if whole else ""
    read = f"{as_double(field)} {_SQL[operator]} {sql_number(number.literal)}"
    if abs(number.literal) >= EXACT_BELOW:
        read = _numbers(operator, field, number)
    return f"CASE {same}WHEN {field.sql} IS NOT NULL THEN coalesce({read}, {unlike}) END"


def _numbers(operator: str, left: Value, right: Value) -> str:
    """Compares two sides as numbers: as doubles, exact if one side is small, or else
    as integers."""
    doubles = f"{as_number(left)} {_SQL[operator]} {as_number(right)}"
    left_exact, right_exact = exact(left), exact(right)
    if left_exact is None or right_exact is None or _is_small(left) or _is_small(right):
        return doubles
    integers = f"{left_exact.whole} {_SQL[operator]} {right_exact.whole}"
    return (
        f"CASE WHEN least({left_exact.reach}, {right_exact.reach}) >= {EXACT_BELOW}"
        f" THEN coalesce({integers}, {doubles}) ELSE {doubles} END"
    )


def _is_small(value: Value) -> bool:
    """Whether doubles hold every possible value exactly."""
    if isinstance(value.literal, int | float):
        return abs(value.literal) < EXACT_BELOW
    return value.kind in (Kind.BOOLEAN, Kind.TIMESTAMP)


def _is_plain_text(value: Value) -> bool:
    return isinstance(value.literal, str) and not looks_numeric(value.literal)


def _boolean(sql: str) -> Value:
    return Value(f"({sql})", Kind.BOOLEAN)
