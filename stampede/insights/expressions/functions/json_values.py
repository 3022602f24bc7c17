"""The JSON functions: maps and lists from text and back.

Undocumented, decided here: `jsonStringify` writes no white space; `jsonArrayContains` compares by
text, so that "7" finds the number 7, and 1 finds true.
"""

from stampede.insights.events.strict_json import is_lax
from stampede.insights.expressions.functions.function import Function
from stampede.insights.expressions.structures import items
from stampede.insights.language.syntax import Call, Name, refusal
from stampede.insights.values import STRUCTURES, Kind, Value, as_text

_MAKERS = {"jsonparse", "split"}


def _parse(args: list[Value]) -> Value:
    """A map or list from text that is one as a whole; otherwise missing."""
    return Value(f"TRY(CAST(json({_strict(as_text(args[0]))}) AS VARCHAR))", Kind.MAP)


def _strict(text: str) -> str:
    """SQL of text that may be a map or list according to RFC 8259; NULL for other text."""
    may_be = rf"regexp_matches({text}, '^\s*[\[{{]')"
    return f"CASE WHEN {may_be} THEN CASE WHEN {is_lax(text)} THEN NULL ELSE {text} END END"


def _stringify(args: list[Value]) -> Value:
    return Value(f"insights_structure({_raw(args[0])})", Kind.TEXT)


def _check_stringify(call: Call) -> None:
    argument = call.arguments[0]
    is_made = isinstance(argument, Call) and argument.function in _MAKERS
    if not isinstance(argument, Name) and not is_made:
        message = "jsonStringify takes a map or list, such as jsonParse returns"
        raise refusal(argument.span, message)


def _raw(value: Value) -> str:
    """SQL of JSON text; NULL if it isn't JSON."""
    return value.sql if value.kind in STRUCTURES else _strict(as_text(value))


def _array_size(args: list[Value]) -> Value:
    parsed = f"TRY(json({_raw(args[0])}))"
    is_array = f"json_type({parsed}) = 'ARRAY'"
    return Value(
        f"CASE WHEN {is_array} THEN CAST(json_array_length({parsed}) AS BIGINT) END", Kind.INTEGER
    )


def _array_contains(args: list[Value]) -> Value:
    list_, sought = args
    parsed = f"TRY(json({_raw(list_)}))"
    # A map or list to search for is null, as in any function on text.
    structures = {Kind.MAP: "NULL", Kind.JSON: f"insights_text(insights_scalar({sought.sql}))"}
    text = structures[sought.kind] if sought.kind in structures else as_text(sought)
    texts = items(parsed, "insights_text(insights_scalar(CAST(item AS VARCHAR)))")
    contains = f"json_type({parsed}) = 'ARRAY' AND list_contains({texts}, {text})"
    present = f"{list_.sql} IS NOT NULL AND {text} IS NOT NULL"
    return Value(f"CASE WHEN {present} THEN coalesce({contains}, FALSE) END", Kind.BOOLEAN)


JSON_FUNCTIONS: dict[str, Function] = {
    "jsonparse": Function(1, 1, _parse),
    "jsonstringify": Function(1, 1, _stringify, structures=True, check=_check_stringify),
    "jsonarraysize": Function(1, 1, _array_size, structures=True),
    "jsonarraycontains": Function(2, 2, _array_contains, structures=True),
}
