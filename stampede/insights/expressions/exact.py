"""Whole numbers too large for a double: how expressions keep their digits, and the columns that
store them."""

import re
from collections.abc import Callable

from stampede.insights.values import (
    EXACT_BELOW,
    NUMERIC,
    Exact,
    Kind,
    Value,
    as_number,
    as_text,
    finished,
    looks_numeric,
    sql_number,
)

_LARGEST = 2**126  # for computations in HUGEINT, with a bit to spare


def exact(value: Value) -> Exact | None:
    """The exact integer behind a number's double; None if unknown, as for divisions and values not
    in a column."""
    if value.exact is not None:
        return value.exact
    if value.literal is not None:
        return _exact_literal(value.literal)
    if value.kind in (Kind.DYNAMIC, Kind.TEXT) and value.column:
        number = as_number(value)
        return Exact(f"insights_whole({as_text(value)}, {number})", f"abs({number})")
    if value.kind in NUMERIC - {Kind.NUMBER} and value.column:
        return Exact(f"CAST({value.sql} AS HUGEINT)", f"abs(CAST({value.sql} AS DOUBLE))")
    return None


def _exact_literal(literal: str | float) -> Exact | None:
    if isinstance(literal, str):
        if not looks_numeric(literal):
            return None
        literal = int(literal) if re.fullmatch("[+-]?[0-9]+", literal) else float(literal)
    if abs(literal) >= _LARGEST or (isinstance(literal, float) and not literal.is_integer()):
        return None
    return Exact(f"CAST('{int(literal)}' AS HUGEINT)", sql_number(abs(literal)))


def combined(operator: str, left: Value, right: Value) -> Exact | None:
    """The exact `left operator right`, for + - * and %."""
    first, second = exact(left), exact(right)
    if first is None or second is None:
        return None
    reaches = {
        "*": f"({first.reach} * {second.reach})",
        "%": f"greatest({first.reach}, {second.reach})",
    }
    reach = reaches.get(operator, f"({first.reach} + {second.reach})")
    return Exact(f"({first.whole} {operator} {second.whole})", reach)


def columns(
    value: Value, fresh: Callable[[], str], aggregate: bool = False
) -> tuple[dict[str, str], Value]:
    """The SQL of the columns that hold a value, by name and in order, and the value over
    these columns.

    `fresh` returns unused names. In an `aggregate`, which can't stand inside TRY,
    nothing overflows.
    """
    name = fresh()
    known = value.exact or (exact(value) if isinstance(value.literal, int) else None)
    if value.kind is not Kind.NUMBER or known is None:
        return {name: finished(value).sql}, Value(name, value.kind, column=True)
    big = fresh()
    whole = f"CAST({known.whole} AS BIGINT)"
    whole = f"TRY_{whole}" if aggregate else f"TRY({whole})"
    in_doubt = f"{known.reach} >= {EXACT_BELOW}"
    # A small number never has a `big`, or equal numbers would differ by how they were computed.
    large = f"{whole} NOT BETWEEN {1 - EXACT_BELOW} AND {EXACT_BELOW - 1}"
    made = {
        big: f"CASE WHEN {in_doubt} AND {large} THEN {whole} END",
        name: (
            f"insights_finite(coalesce(CASE WHEN {in_doubt} THEN CAST({whole} AS DOUBLE) END, "
            f"{value.sql}))"
        ),
    }
    whole = f"coalesce(CAST({big} AS HUGEINT), insights_whole_double({name}))"
    return made, Value(name, Kind.NUMBER, column=True, exact=Exact(whole, f"abs({name})"), big=big)


def selected(made: dict[str, str]) -> str:
    """The items of a SELECT that create columns from their SQL."""
    return ", ".join(f"{sql} AS {name}" for name, sql in made.items())


def printed(value: Value) -> str:
    """SQL of a column for the result; a NUMBER with integers beyond doubles becomes text."""
    return as_text(value) if value.big else value.sql
