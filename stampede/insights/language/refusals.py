"""Explains why a query is outside the language, and what to write instead."""

import difflib
import re
from collections.abc import Container

from lark.exceptions import UnexpectedInput, UnexpectedToken

from stampede.insights.errors import QueryError
from stampede.insights.language.names import spelled
from stampede.insights.language.slips import misplaced, slip

COMMANDS = (
    "fields",
    "display",
    "filter",
    "where",
    "parse",
    "stats",
    "sort",
    "order",
    "limit",
    "head",
    "dedup",
    "unnest",
    "expand",
    "json",
)

_NO_WAY = "only the service evaluates it; run this query in the CloudWatch console"
_BY_ROW = "it needs the previous row; do this with the result of the query"
UNSUPPORTED_COMMANDS = {
    "pattern": "use `parse` and `stats count(*) by` on the part in which messages differ",
    "diff": "run the query once for each period and compare the results",
    "anomaly": _NO_WAY,
    "unmask": _NO_WAY,
    "join": "log both values in one record, or run two queries",
    "lookup": "log the value in the record, or join the result outside the query",
    "source": "choose the log groups outside the query",
    "filterindex": "use `filter`; an index only changes what the service scans",
    "addtotals": "use a second query without `by` for the totals",
    "fillmissing": _NO_WAY,
    "relevantfields": _NO_WAY,
    "logcompare": "run the query once for each period and compare the results",
    "autoregress": _BY_ROW,
    "accum": _BY_ROW,
    "filldown": _BY_ROW,
    "sessionize": _BY_ROW,
    "appendcols": "run two queries and put the results side by side",
    "cidrlookup": "use isIpInSubnet(ip, subnet) in `fields` or `filter`",
    "outlier": "use `stats pct(x, 25), pct(x, 75)`, then `filter` by the results",
    "countfrequent": "use `stats count(*) as n by` the field, `sort n desc` and `limit`",
    "estimate": (
        "it reports what the service would scan; use `stats sum(strlen(@message))` for the size "
        "of the events"
    ),
    "tail": "use `sort` in the other direction and `limit`",
}


# Commands of other query languages: name -> what to write here.
_ELSEWHERE = {
    "select": "fields",
    "project": "display",
    "table": "display",
    "extend": "fields",
    "eval": "fields",
    "rename": "fields ... as ...",
    "orderby": "order by",
    "group": "stats ... by ...",
    "summarize": "stats ... by ...",
    "aggregate": "stats ... by ...",
    "count": "stats count(*)",
    "distinct": "stats count(*) by ...",
    "uniq": "dedup",
    "top": "stats count(*) as n by ... | sort n desc | limit 10",
    "take": "limit",
    "grep": "filter @message like /.../",
    "search": "filter @message like /.../",
    "rex": "parse @message /(?<name>...)/",
    "extract": "parse @message /(?<name>...)/",
    "regex": "parse @message /(?<name>...)/",
    "timechart": "stats ... by bin(5m)",
}


def explain(text: str, error: UnexpectedInput, functions: Container[str]) -> QueryError:
    """The parser's complaint about `text` as a QueryError that names the construct and a fix;
    `functions` are the known function names, in lower case."""
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    offset = len(text.rstrip("\r\n")) if at_end else error.pos_in_stream
    allowed = error.interactive_parser.accepts()
    offset, reason = _reason(text, offset, allowed, functions)
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return QueryError(reason, line, column)


def _reason(
    text: str, offset: int, allowed: set[str], functions: Container[str]
) -> tuple[int, str]:
    """The offset to point to, and what is wrong there."""
    rest = text[offset:]
    word = re.match(r"[A-Za-z_@][\w@.]*", rest)
    if not rest.strip(" \t\r\n"):
        return offset, _ended(text[:offset], allowed)
    if rest[0] in "\"'" and _unclosed(rest):
        return offset, f"the quote {rest[0]} is never closed"
    if rest[0] == "`" and "`" not in rest[1:]:
        return offset, "the backtick ` is never closed"
    if known_slip := slip(text, offset):
        return known_slip
    if "STATS" in allowed:
        return offset, _not_a_command(word.group() if word else rest[0])
    if rest[0] == "/" and "REGEX" in allowed:
        return offset, (
            "the regular expression is never closed, or has an unescaped / in it; write \\/ for a "
            "slash"
        )
    if rest[0] == "/":
        message = "a /regular expression/ is allowed only after like, =~ and the source of parse"
        return offset, message
    if word:
        return _misplaced_word(text[:offset], offset, word.group(), allowed, functions)
    token = re.match(
        r"\d[\w.]*|[!=<>]+|\"(\\.|[^\"])*\"|'(\\.|[^'])*'|`[^`]*`|.", rest, re.DOTALL
    ).group()
    return offset, f"{_shortened(token)} isn't allowed here; {_hint(allowed)}"


def _ended(before: str, allowed: set[str]) -> str:
    if "STATS" in allowed and "|" not in before:
        return "the query is empty; it begins with a command, such as fields or stats"
    return f"the query ends where {_expectation(allowed)} is expected"


def _unclosed(rest: str) -> bool:
    return re.match(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", rest, re.DOTALL) is None


def _shortened(token: str) -> str:
    return repr(token) if len(token) <= 40 else repr(token[:40]) + "..."


def _not_a_command(word: str) -> str:
    known = word.lower()
    if known in UNSUPPORTED_COMMANDS:
        return f"the command {word} is not supported: {UNSUPPORTED_COMMANDS[known]}"
    if known in _ELSEWHERE:
        return f"{word!r} is not a command; write `{_ELSEWHERE[known]}`"
    close = difflib.get_close_matches(known, COMMANDS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(COMMANDS)}"
    return f"{_shortened(word)} is not a command; {hint}"


def _misplaced_word(
    before: str, offset: int, word: str, allowed: set[str], functions: Container[str]
) -> tuple[int, str]:
    in_parse = re.search(r"(?i)\bparse\b[^|]*$", before)
    if in_parse and word.lower() in _PARSE_WAYS and "REGEX" in allowed:
        return offset, f"the {word} form of parse is not supported; {_PARSE_WAYS[word.lower()]}"
    if word.lower() in COMMANDS or word.lower() in UNSUPPORTED_COMMANDS:
        return offset, f"a | is missing before the command {word}"
    if elsewhere := misplaced(word):
        return offset, elsewhere
    if re.search(r"(?i)\bas\s+\w+\s+\Z", before):
        return offset, "a name with several words needs backticks, as in `my name`"
    called = re.search(r"([A-Za-z_]\w*)\s+\Z", before)
    if called and called.group(1).lower() in functions:
        name = spelled(called.group(1).lower())
        return called.start(1), f"{name} takes its arguments in parentheses, as in {name}({word})"
    return offset, f"{_shortened(word)} isn't allowed here; {_hint(allowed)}"


_PARSE_WAYS = {
    "json": "name fields of JSON with dots, or use jsonParse in `fields`",
    "xml": "parse with a glob or a /regular expression/",
}


def _hint(allowed: set[str]) -> str:
    return f"expected {_expectation(allowed)}"


_OPERATOR = "an operator"
# How to describe the tokens allowed at a place, the likeliest first; one description may cover
# several tokens.
_READABLE: tuple[tuple[set[str], str], ...] = (
    ({"NAME", "NUMBER", "STRING"}, "a field or value"),
    ({"STATS"}, "a command"),
    ({"NAME"}, "a name"),
    ({"REGEX", "STRING"}, "a quoted string or a /regular expression/"),
    ({"NUMBER", "STRING"}, "a number or a quoted string"),
    ({"NUMBER"}, "a number"),
    ({"LIKE", "IN", "COMPARISON"}, _OPERATOR),
    ({"LIKE", "IN"}, "like or in"),
    ({"PLUS"}, _OPERATOR),
    ({"AND", "OR"}, "`and`"),
    ({"AS"}, "`as`"),
    ({"INTO"}, "`into`"),
    ({"FIELD"}, "`field`"),
    ({"EQUALS"}, "="),
    ({"STRING"}, "a quoted string"),
    ({"GROUPED"}, "`by`"),
    ({"BY"}, "`by`"),
    ({"ASC"}, "`asc`"),
    ({"RPAR"}, ")"),
    ({"RSQB"}, "]"),
    ({"COMMA"}, "a comma"),
    ({"VBAR"}, "|"),
    ({"LSQB"}, "["),
    ({"LPAR"}, "("),
)


def _expectation(allowed: set[str]) -> str:
    named, left = [], set(allowed)
    for tokens, words in _READABLE:
        if tokens <= left and words not in named:
            named.append(words)
            left -= tokens | ({"AND", "OR"} if words == _OPERATOR else {"LPAR"})
    named = [words for words in named if words != "["] or named
    return " or ".join(named[:4]) if named else "something else"
