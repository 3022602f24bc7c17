"""Tells JSON from what DuckDB's parser takes for it as well: commas before a closing bracket, NaN and infinities.

Source: RFC 8259. Other slips (comments, single quotes, leading zeros, control characters) DuckDB refuses by itself.
`is_lax_message` is made to be cheap: most lines are one flat object, in which a comma can stand only before the last
bracket.
"""

_STRING = r'"(?:[^"\\]|\\.)*"'
_EMPTY_STRING = '""'  # something stays in a string's place: else ["a", "b"] would read [, ]
_COMMA_BEFORE_BRACKET = r",\s*[}\]]"
_COMMA_AT_THE_END = r",\s*\}\s*$"
_NOT_FINITE = r"(?i:nan|inf)"
_LAX = rf"{_COMMA_BEFORE_BRACKET}|{_NOT_FINITE}"


def is_lax(text: str) -> str:
    """SQL, true for text that DuckDB takes for JSON and RFC 8259 doesn't; `text` is SQL that may be repeated."""
    without_strings = f"regexp_replace({text}, '{_STRING}', '{_EMPTY_STRING}', 'gs')"
    return f"CASE WHEN regexp_matches({text}, '{_LAX}') THEN regexp_matches({without_strings}, '{_LAX}') ELSE FALSE END"


def is_lax_message() -> str:
    """The same of the column `message`, at little cost for most lines.

    NaN and the infinities are found as programs write them, with a capital letter. In small letters they are no value
    (see `result`), but the line keeps its other fields: to look for them would cost as much as to read the line.
    """
    may_be = (
        f"CASE WHEN contains(message, '[') OR message LIKE '{{%}}%}}%'"
        f" THEN regexp_matches(message, '{_COMMA_BEFORE_BRACKET}')"
        f" ELSE regexp_matches(message, '{_COMMA_AT_THE_END}') END"
    )
    has_capital = "contains(message, 'N') OR contains(message, 'I')"
    return f"CASE WHEN {may_be} THEN {is_lax('message')} WHEN {has_capital} THEN {is_lax('message')} ELSE FALSE END"
