"""A scalar function as the compiler needs it, and common ways of writing one in SQL."""

from collections.abc import Callable
from dataclasses import dataclass

from stampede.insights.expressions.exact import exact
from stampede.insights.language.syntax import Call
from stampede.insights.values import (
    NUMERIC,
    Exact,
    Kind,
    Value,
    as_dynamic,
    as_long,
    as_number,
    as_text,
)

Build = Callable[[list[Value]], Value]


@dataclass(frozen=True)
class Function:
    """`build` turns compiled arguments into the compiled call; `most` is None for
    unlimited arguments.

    `simple` asks for columns or literals as arguments: the SQL may repeat them, and non-finite
    numbers are already missing. Functions that pass infinity on do without. `structures` says that
    maps and lists are passed on instead of becoming missing; `flag` is the index of an argument
    written `true` or `false`; `time` says that the first argument must be a timestamp; `check`
    refuses arguments by their value; `python` names the function of `python_functions` that the
    SQL calls.
    """

    least: int
    most: int | None
    build: Build
    simple: bool = True
    structures: bool = False
    flag: int | None = None
    time: bool = False
    check: Callable[[Call], None] | None = None
    python: str | None = None


def numeric(template: str, whole: str = "") -> Build:
    """SQL of type double from arguments read as numbers; `whole` is the same for one
    whole number."""

    def build(args: list[Value]) -> Value:
        known = exact(args[0]) if whole else None
        same = Exact(whole.format(known.whole), known.reach) if known else None
        return Value(template.format(*map(as_number, args)), Kind.NUMBER, exact=same)

    return build


def text(template: str) -> Build:
    """SQL of type varchar from arguments read as text."""
    return lambda args: Value(template.format(*map(as_text, args)), Kind.TEXT)


def boolean(template: str) -> Build:
    """SQL of type boolean from arguments read as text."""
    return lambda args: Value(template.format(*map(as_text, args)), Kind.BOOLEAN)


def one_or_zero(template: str) -> Build:
    """A boolean in SQL that is a number, 1 or 0, according to the reference."""
    return lambda args: Value(
        f"CAST({template.format(*map(as_text, args))} AS BIGINT)", Kind.INTEGER
    )


def unified(values: list[Value]) -> tuple[list[str], Kind]:
    """SQL of values that may replace one another, converted to one kind, and that kind."""
    kinds = {value.kind for value in values}
    if Kind.INTEGER in kinds and all(
        value.kind is Kind.INTEGER or _is_whole(value) for value in values
    ):
        return [as_long(value) for value in values], Kind.INTEGER
    if any(value.big or isinstance(value.literal, int) for value in values):
        return [as_dynamic(value) for value in values], Kind.DYNAMIC
    if len(kinds) == 1 and kinds != {Kind.DYNAMIC}:
        return [value.sql for value in values], values[0].kind
    if kinds <= NUMERIC - {Kind.TIMESTAMP}:
        return [as_number(value) for value in values], Kind.NUMBER
    return [as_dynamic(value) for value in values], Kind.DYNAMIC


def _is_whole(value: Value) -> bool:
    """Whether it is a literal that fits in 64 bits."""
    known = exact(value) if value.kind is Kind.NUMBER and value.literal is not None else None
    return known is not None and abs(value.literal) < 2**63
