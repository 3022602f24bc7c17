"""The functions that parse and format dates; `dates` describes the formats."""

from stampede.insights.expressions.functions.dates import (
    DateFormatError,
    parse_pattern,
    strftime_format,
)
from stampede.insights.expressions.functions.function import Function
from stampede.insights.language.syntax import Call, Text, refusal
from stampede.insights.values import Kind, Value, as_text, sql_string

_PARSE = "insights_parse_date"


def _parse(args: list[Value]) -> Value:
    return Value(f"{_PARSE}({as_text(args[0])}, {sql_string(args[1].literal)})", Kind.INTEGER)


def _format(args: list[Value]) -> Value:
    written = sql_string(strftime_format(args[1].literal))
    return Value(f"strftime(make_timestamp({args[0].sql} * 1000), {written})", Kind.TEXT)


def _check_parse(call: Call) -> None:
    written = _check_texts(call, "parseDate", "yyyy-MM-dd")
    try:
        pattern = parse_pattern(written.value)
    except DateFormatError as error:
        raise refusal(written.span, str(error)) from None
    if "offset" in pattern.groupindex and len(call.arguments) == 3:
        zone = call.arguments[2]
        raise refusal(zone.span, "the format has an offset, so leave the time zone out")


def _check_format(call: Call) -> None:
    written = _check_texts(call, "formatDate", "%Y-%m-%d")
    try:
        strftime_format(written.value)
    except DateFormatError as error:
        raise refusal(written.span, str(error)) from None


def _check_texts(call: Call, name: str, example: str) -> Text:
    """The format, after checking that it and the time zone are text."""
    written = call.arguments[1]
    if not isinstance(written, Text) or not written.value:
        message = f'{name} takes its format as text in quotes, as in "{example}"'
        raise refusal(written.span, message)
    for zone in call.arguments[2:]:
        if not isinstance(zone, Text) or zone.value != "UTC":
            message = (
                f'{name} supports only the time zone "UTC"; for another, add its offset in '
                "milliseconds"
            )
            raise refusal(zone.span, message)
    return written


DATE_FUNCTIONS: dict[str, Function] = {
    "parsedate": Function(2, 3, _parse, check=_check_parse, python=_PARSE),
    "formatdate": Function(2, 3, _format, time=True, check=_check_format),
    "strftime": Function(2, 3, _format, time=True, check=_check_format),
}
