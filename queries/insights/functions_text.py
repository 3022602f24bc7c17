"""The string and hashing functions.

Undocumented, decided here: `urlencode` leaves letters, digits and `-_.~` as they are and writes a space as %20;
`urldecode` leaves + as it is; text that can't be decoded is missing; hashes are in lower-case hexadecimal.
"""

from queries.insights import patterns
from queries.insights.errors import QueryError
from queries.insights.function import Build, Function, boolean, one_or_zero, text
from queries.insights.syntax import Call, Regex, Text
from queries.insights.values import Kind, Value, as_long, as_number, as_text, sql_string


def _concat(args: list[Value]) -> Value:
    return Value(f"({' || '.join(as_text(arg) for arg in args)})", Kind.TEXT)


def _trim(function: str) -> Build:
    """Without a second argument white space goes, with one its characters go, from the named side(s)."""

    def build(args: list[Value]) -> Value:
        characters = as_text(args[1]) if len(args) == 2 else r"chr(32) || chr(9) || chr(10) || chr(13)"
        return Value(f"{function}({as_text(args[0])}, {characters})", Kind.TEXT)

    return build


def _substring(args: list[Value]) -> Value:
    """substr(text, index[, length]): the index counts from 0, as `substr("xyZfooxyZ", 3, 3)` is "foo"."""
    start = f"TRY_CAST({as_number(args[1])} AS INTEGER)"
    start = f"CASE WHEN {start} >= 0 THEN {start} + 1 END"
    if len(args) == 2:
        return Value(f"substring({as_text(args[0])}, {start})", Kind.TEXT)
    length = f"TRY_CAST({as_number(args[2])} AS INTEGER)"
    return Value(f"substring({as_text(args[0])}, {start}, CASE WHEN {length} >= 0 THEN {length} END)", Kind.TEXT)


def _string_length(args: list[Value]) -> Value:
    return Value(f"length({as_text(args[0])})", Kind.INTEGER)


def _contains(args: list[Value]) -> Value:
    """strcontains(text, sought[, caseInsensitive])."""
    sides = [as_text(arg) for arg in args[:2]]
    if len(args) == 3 and args[2].literal == "true":
        sides = [f"lower({side})" for side in sides]
    return Value(f"CAST(contains({', '.join(sides)}) AS BIGINT)", Kind.INTEGER)


def _split(args: list[Value]) -> Value:
    return Value(f"CAST(to_json(string_split({as_text(args[0])}, {as_text(args[1])})) AS VARCHAR)", Kind.MAP)


def _check_split(call: Call) -> None:
    delimiter = call.arguments[1]
    if not isinstance(delimiter, Text) or not delimiter.value:
        message = "split takes a delimiter of one character or more, in quotes"
        raise QueryError(message, delimiter.span.line, delimiter.span.column)


def _regex_replace(args: list[Value]) -> Value:
    pattern = args[1].literal.replace("(?<", "(?P<")
    return Value(f"regexp_replace({as_text(args[0])}, {sql_string(pattern)}, {as_text(args[2])}, 'g')", Kind.TEXT)


def _check_regex_replace(call: Call) -> None:
    pattern, replacement = call.arguments[1:]
    for argument, what in ((pattern, "pattern"), (replacement, "replacement")):
        if not isinstance(argument, Text):
            message = f"regexReplace takes its {what} as text in quotes"
            raise QueryError(message, argument.span.line, argument.span.column)
    patterns.regex(Regex(pattern.span, pattern.value))
    if "\\" in replacement.value or "$" in replacement.value:
        message = "what \\ and $ mean in a replacement isn't documented; use parse with groups, and concat"
        raise QueryError(message, replacement.span.line, replacement.span.column)


def _hex_to_dec(args: list[Value]) -> Value:
    given = as_text(args[0])
    digits = f"regexp_extract({given}, '^(?:0[xX])?([0-9a-fA-F]{{1,16}})$', 1)"
    return Value(f"TRY_CAST('0x' || nullif({digits}, '') AS BIGINT)", Kind.INTEGER)


def _dec_to_hex(args: list[Value]) -> Value:
    whole = as_long(args[0])
    return Value(
        f"(CASE WHEN {whole} < 0 THEN '-0x' ELSE '0x' END || format('{{:x}}', abs(CAST({whole} AS HUGEINT))))",
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
    "toupper": Function(1, 1, text("upper({})")),
    "tolower": Function(1, 1, text("lower({})")),
    "substr": Function(2, 3, _substring),
    "replace": Function(3, 3, text("replace({}, {}, {})")),
    "regexreplace": Function(3, 3, _regex_replace, check=_check_regex_replace),
    "strcontains": Function(2, 3, _contains, flag=2),
    "startswith": Function(2, 2, one_or_zero("starts_with({}, {})")),
    "endswith": Function(2, 2, one_or_zero("ends_with({}, {})")),
    "urlencode": Function(1, 1, text("url_encode({})")),
    "urldecode": Function(1, 1, text("TRY(url_decode({}))")),
    "base64encode": Function(1, 1, text("to_base64(encode({}))")),
    "base64decode": Function(1, 1, text("TRY(decode(from_base64({})))")),
    "split": Function(2, 2, _split, check=_check_split),
    "hextoascii": Function(1, 1, text("TRY(decode(unhex({})))")),
    "hextodec": Function(1, 1, _hex_to_dec),
    "dectohex": Function(1, 1, _dec_to_hex),
    "md5": Function(1, 1, text("md5({})")),
    "sha256": Function(1, 1, text("sha256({})")),
}
