"""The JSON functions: maps and lists from text and back.

Undocumented, decided here: `jsonStringify` writes without white space; `jsonArrayContains` compares by text, so that
the number 7 is found as "7".
"""

from queries.insights.errors import QueryError
from queries.insights.function import Function
from queries.insights.syntax import Call, Name
from queries.insights.values import STRUCTURES, Kind, Value, as_text

_MAKERS = {"jsonparse", "split"}


def _parse(args: list[Value]) -> Value:
    """A map or list from text that is one as a whole; else empty."""
    given = as_text(args[0])
    return Value(
        rf"CASE WHEN regexp_matches({given}, '^\s*[\[{{]') THEN TRY(CAST(json({given}) AS VARCHAR)) END", Kind.MAP
    )


def _stringify(args: list[Value]) -> Value:
    return Value(f"insights_structure({_raw(args[0])})", Kind.TEXT)


def _check_stringify(call: Call) -> None:
    given = call.arguments[0]
    if not isinstance(given, Name) and not (isinstance(given, Call) and given.function in _MAKERS):
        message = "jsonStringify takes a map or list, as jsonParse makes them"
        raise QueryError(message, given.span.line, given.span.column)


def _raw(value: Value) -> str:
    return value.sql if value.kind in STRUCTURES else as_text(value)


def _array_size(args: list[Value]) -> Value:
    given = _raw(args[0])
    is_array = f"TRY(json_type({given})) = 'ARRAY'"
    return Value(f"CASE WHEN {is_array} THEN CAST(json_array_length({given}) AS BIGINT) END", Kind.INTEGER)


def _array_contains(args: list[Value]) -> Value:
    given = _raw(args[0])
    # A map or list as the value sought is null, as for any other function on text.
    text = {Kind.MAP: "NULL", Kind.JSON: f"insights_text(insights_scalar({args[1].sql}))"}
    value = text[args[1].kind] if args[1].kind in text else as_text(args[1])
    sought = f"list_contains(TRY(json_extract_string({given}, '$[*]')), {value})"
    return Value(
        f"CASE WHEN {given} IS NOT NULL THEN coalesce(TRY(json_type({given})) = 'ARRAY' AND {sought}, FALSE) END",
        Kind.BOOLEAN,
    )


JSON_FUNCTIONS: dict[str, Function] = {
    "jsonparse": Function(1, 1, _parse),
    "jsonstringify": Function(1, 1, _stringify, structures=True, check=_check_stringify),
    "jsonarraysize": Function(1, 1, _array_size, structures=True),
    "jsonarraycontains": Function(2, 2, _array_contains, structures=True),
}
