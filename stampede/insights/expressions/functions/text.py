"""The string and hashing functions.

Undocumented, decided here: `urlencode` leaves letters, digits and `-_.~` unchanged and writes a
space as %20; `urldecode` leaves + unchanged; text that can't be decoded is missing, for example
with a % that begins no octet or an odd number of hexadecimal digits; `substr` truncates its
numbers, and is missing if one is negative; hashes are lower-case hexadecimal.
"""

from stampede.insights.expressions import patterns
from stampede.insights.expressions.functions.function import (
    Build,
    Function,
    boolean,
    one_or_zero,
    text,
)
from stampede.insights.language.syntax import Call, Regex, Span, Text, refusal
from stampede.insights.values import Kind, Value, as_long, as_number, as_text, sql_string

_LONGEST = 2**31
_BROKEN_ESCAPE = "%(?:$|[^0-9a-fA-F]|[0-9a-fA-F](?:$|[^0-9a-fA-F]))"


def _concat(args: list[Value]) -> Value:
    return Value(_joined([as_text(arg) for arg in args]), Kind.TEXT)


def _joined(texts: list[str]) -> str:
    """SQL that joins all texts, as a balanced tree: DuckDB limits the nesting of `||`."""
    if len(texts) == 1:
        return texts[0]
    middle = len(texts) // 2
    return f"({_joined(texts[:middle])} || {_joined(texts[middle:])})"


def _trim(function: str) -> Build:
    """Removes white space, or the characters of the second argument, from the side(s) that
    `function` names."""

    def build(args: list[Value]) -> Value:
        white_space = "chr(32) || chr(9) || chr(10) || chr(13)"
        characters = as_text(args[1]) if len(args) == 2 else white_space
        return Value(f"{function}({as_text(args[0])}, {characters})", Kind.TEXT)

    return build


def _substring(args: list[Value]) -> Value:
    """substr(text, index[, length]): the index counts from 0, as `substr("xyZfooxyZ", 3, 3)`
    is "foo"."""
    text, *counts = as_text(args[0]), *map(_count, args[1:])
    length = "".join(f", {count}" for count in counts[1:])
    return Value(f"substring({text}, {counts[0]} + 1{length})", Kind.TEXT)


def _count(value: Value) -> str:
    """SQL of a number of characters, truncated; missing below 0. Capped, because DuckDB refuses
    larger numbers."""
    number = f"trunc({as_number(value)})"
    return f"CASE WHEN {number} >= 0 THEN CAST(least({number}, {_LONGEST}) AS BIGINT) END"


def _string_length(args: list[Value]) -> Value:
    return Value(f"length({as_text(args[0])})", Kind.INTEGER)


def _contains(args: list[Value]) -> Value:
    """strcontains(text, sought[, caseInsensitive])."""
    sides = [as_text(arg) for arg in args[:2]]
    if len(args) == 3 and args[2].literal == "true":
        sides = [f"lower({side})" for side in sides]
    return Value(f"CAST(contains({', '.join(sides)}) AS BIGINT)", Kind.INTEGER)


def _split(args: list[Value]) -> Value:
    return Value(
        f"CAST(to_json(string_split({as_text(args[0])}, {as_text(args[1])})) AS VARCHAR)", Kind.MAP
    )


def _check_split(call: Call) -> None:
    delimiter = call.arguments[1]
    if not isinstance(delimiter, Text) or not delimiter.value:
        message = "split takes a delimiter of one character or more, in quotes"
        raise refusal(delimiter.span, message)


def _check_replace(call: Call) -> None:
    sought = call.arguments[1]
    if isinstance(sought, Text) and not sought.value:
        message = "what replacing an empty text means isn't documented; write one character or more"
        raise refusal(sought.span, message)


def _url_decode(args: list[Value]) -> Value:
    """DuckDB would leave a % that begins no octet unchanged."""
    text = as_text(args[0])
    broken = f"regexp_matches({text}, '{_BROKEN_ESCAPE}')"
    return Value(f"CASE WHEN {broken} THEN NULL ELSE TRY(url_decode({text})) END", Kind.TEXT)


def _case_of(sql: str, python: str) -> Function:
    """All case mappings of Unicode: DuckDB knows only those of single characters, and maps ß
    to ẞ."""

    def build(args: list[Value]) -> Value:
        text = as_text(args[0])
        not_ascii = f"regexp_matches({text}, '[^[:ascii:]]')"
        return Value(
            f"CASE WHEN {not_ascii} THEN {python}({text}) ELSE {sql}({text}) END", Kind.TEXT
        )

    return Function(1, 1, build, python=python)


_NOWHERE = Span(1, 1, 0, 0)  # for a pattern that has been checked


def _regex_replace(args: list[Value]) -> Value:
    re2 = patterns.regex(Regex(_NOWHERE, args[1].literal)).re2
    return Value(
        f"regexp_replace({as_text(args[0])}, {sql_string(re2)}, {as_text(args[2])}, 'g')", Kind.TEXT
    )


def _check_regex_replace(call: Call) -> None:
    pattern, replacement = call.arguments[1:]
    for argument, what in ((pattern, "pattern"), (replacement, "replacement")):
        if not isinstance(argument, Text):
            message = f"regexReplace takes its {what} as text in quotes"
            raise refusal(argument.span, message)
    patterns.regex(Regex(pattern.span, pattern.value))
    if "\\" in replacement.value or "$" in replacement.value:
        message = (
            "what \\ and $ mean in a replacement isn't documented; use parse with groups, and "
            "concat"
        )
        raise refusal(replacement.span, message)


def _hex_to_ascii(args: list[Value]) -> Value:
    """DuckDB would accept an odd number of digits."""
    text = as_text(args[0])
    return Value(f"TRY(decode(unhex(CASE WHEN length({text}) % 2 = 0 THEN {text} END)))", Kind.TEXT)


def _hex_to_dec(args: list[Value]) -> Value:
    text = as_text(args[0])
    digits = f"regexp_extract({text}, '^(?:0[xX])?0*([0-9a-fA-F]{{1,16}})$', 1)"
    return Value(f"TRY_CAST('0x' || nullif({digits}, '') AS BIGINT)", Kind.INTEGER)


def _dec_to_hex(args: list[Value]) -> Value:
    whole = as_long(args[0])
    return Value(
        f"(CASE WHEN {whole} < 0 THEN '-0x' ELSE '0x' END || format('{{:x}}', abs(CAST({whole} AS "
        "HUGEINT))))",
        Kind.TEXT,
    )


TEXT_FUNCTIONS: dict[str, Function] = {
    "isempty": Function(1, 1, boolean("(coalesce({}, '') = '')")),
    "isblank": Function(1, 1, boolean(r"regexp_full_match(coalesce({}, ''), '\s*')")),
    "concat": Function(1, None, _concat),
    "ltrim": Function(1, 2, _trim("ltrim")),
    "rtrim": Function(1, 2, _trim("rtrim")),
    "trim": Function(1, 2, _trim("trim")),
    "strlen": Function(1, 1, _string_length),
    "toupper": _case_of("upper", "insights_upper"),
    "tolower": _case_of("lower", "insights_lower"),
    "substr": Function(2, 3, _substring),
    "replace": Function(3, 3, text("replace({}, {}, {})"), check=_check_replace),
    "regexreplace": Function(3, 3, _regex_replace, check=_check_regex_replace),
    "strcontains": Function(2, 3, _contains, flag=2),
    "startswith": Function(2, 2, one_or_zero("starts_with({}, {})")),
    "endswith": Function(2, 2, one_or_zero("ends_with({}, {})")),
    "urlencode": Function(1, 1, text("url_encode({})")),
    "urldecode": Function(1, 1, _url_decode),
    "base64encode": Function(1, 1, text("to_base64(encode({}))")),
    "base64decode": Function(1, 1, text("TRY(decode(from_base64({})))")),
    "split": Function(2, 2, _split, check=_check_split),
    "hextoascii": Function(1, 1, _hex_to_ascii),
    "hextodec": Function(1, 1, _hex_to_dec),
    "dectohex": Function(1, 1, _dec_to_hex),
    "md5": Function(1, 1, text("md5({})")),
    "sha256": Function(1, 1, text("sha256({})")),
}
