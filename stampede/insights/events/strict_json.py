"""Tells JSON from what DuckDB's parser also accepts: commas before a closing bracket, NaN
and infinities.

Source: RFC 8259. DuckDB itself refuses other mistakes: comments, single quotes, leading zeros,
control characters. `is_lax_message` is cheap for the usual line, one flat object, in which a comma
can precede only the last bracket.
"""

from collections.abc import Sequence

_STRING = r'"(?:[^"\\]|\\.)*"'
_EMPTY_STRING = '""'  # replaces each string; with nothing there, ["a", "b"] would become [, ]
_COMMA_BEFORE_BRACKET = r",\s*[}\]]"
_COMMA_AT_THE_END = r",\s*\}\s*$"
_NOT_FINITE = r"(?i:nan|inf)"
_LAX = rf"{_COMMA_BEFORE_BRACKET}|{_NOT_FINITE}"
# What may precede a value. Each expression begins with one plain character, which RE2 can skip to:
# combined they take five times as long, and searching for `inf` alone finds every "INFO".
_PLACES = (":", ",", r"\[")


def is_lax(text: str) -> str:
    """SQL, true for text of a map or list that DuckDB accepts as JSON and RFC 8259 doesn't.

    `text` is SQL that may be repeated.
    """
    may_be = f"{_matches(text, _COMMA_BEFORE_BRACKET)} OR {_not_finite(text)}"
    return f"CASE WHEN {may_be} THEN {_exact(text)} ELSE FALSE END"


def is_lax_message() -> str:
    """The same for the column `message`, a map, at little cost for most lines.

    NaN and the infinities are found as programs write them, with a capital letter. In lower case
    they are missing values (see `result`), but the line keeps its other fields: searching for them
    would cost as much as parsing the line.
    """
    comma = (
        f"CASE WHEN contains(message, '[') OR message LIKE '{{%}}%}}%' THEN "
        f"{_matches('message', _COMMA_BEFORE_BRACKET)} ELSE "
        f"{_matches('message', _COMMA_AT_THE_END)} END"
    )
    number = (
        "CASE WHEN NOT (contains(message, 'N') OR contains(message, 'I')) THEN FALSE WHEN "
        f"contains(message, '[') THEN {_not_finite('message')} ELSE "
        f"{_not_finite('message', _PLACES[:1])} END"
    )
    return f"CASE WHEN {comma} OR {number} THEN {_exact('message')} ELSE FALSE END"


def _not_finite(text: str, places: Sequence[str] = _PLACES) -> str:
    matches = [_matches(text, rf"{place}\s*[-+]?{_NOT_FINITE}") for place in places]
    return f"({' OR '.join(matches)})"


def _exact(text: str) -> str:
    without_strings = f"regexp_replace({text}, '{_STRING}', '{_EMPTY_STRING}', 'gs')"
    return _matches(without_strings, _LAX)


def _matches(text: str, expression: str) -> str:
    return f"regexp_matches({text}, '{expression}')"
