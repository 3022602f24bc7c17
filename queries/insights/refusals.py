"""Says why a piece of text is outside the language, and what to write instead."""

import difflib
import re

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from queries.insights.errors import QueryError

COMMANDS = ("fields", "display", "filter", "where", "parse", "stats", "sort", "limit", "dedup")

_NO_WAY = "it isn't evaluated here; run this query on CloudWatch"
_BY_ROW = "it needs the row before; do this with the result of the query"
UNSUPPORTED_COMMANDS = {
    "pattern": "use `parse` and `stats count(*) by` on the part that tells messages apart",
    "diff": "run the query once for each period and compare the results",
    "anomaly": _NO_WAY,
    "unmask": _NO_WAY,
    "join": "log both values in one record, or run two queries",
    "lookup": "log the value in the record, or join the result outside of the query",
    "source": "choose the log groups outside of the query",
    "unnest": "name the elements by index, as in `items.0.id`",
    "filterindex": "use `filter`; an index only changes what the service scans",
    "addtotals": "use a second query without `by` for the totals",
    "fillmissing": _NO_WAY,
    "json": "name fields of JSON with dots, or use `fields jsonParse(text) as map` and `map.key`",
    "expand": "name the elements by index, as in `items.0.id`",
    "relevantfields": _NO_WAY,
    "logcompare": "run the query once for each period and compare the results",
    "autoregress": _BY_ROW,
    "accum": _BY_ROW,
    "filldown": _BY_ROW,
    "sessionize": _BY_ROW,
    "appendcols": "run two queries and put the results side by side",
    "cidrlookup": "use isIpInSubnet(ip, subnet) in `fields` or `filter`",
    "outlier": "use `stats pct(x, 25), pct(x, 75)`, then `filter` by what they gave",
    "countfrequent": "use `stats count(*) as n by` the field, `sort n desc` and `limit`",
    "head": "use `limit`",
    "tail": "use `sort` in the other direction and `limit`",
}


def explain(text: str, error: UnexpectedInput) -> QueryError:
    """The parser's complaint about `text` as a QueryError that names the construct and the nearest way out."""
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    offset = len(text) if at_end else error.pos_in_stream
    allowed = error.allowed if isinstance(error, UnexpectedCharacters) else error.expected
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return QueryError(_reason(text, offset, set(allowed or ())), line, column)


def _reason(text: str, offset: int, allowed: set[str]) -> str:
    rest = text[offset:]
    word = re.match(r"[A-Za-z_@][\w@.]*", rest)
    if not rest.strip():
        return f"the query ends where {_expectation(allowed)} is needed"
    if "STATS" in allowed:
        return _not_a_command(word.group() if word else rest[0])
    before = text[:offset].rstrip()
    if rest[0] == "(" and re.search(r"(?i)\bin$", before):
        return "sub-queries are not supported; run one on its own and list its values, as in [1, 2]"
    if word and word.group().lower() == "any" and re.search(r"(?i)\blimit$", before):
        return "`limit any` is not supported: which rows it gives isn't determined; write a number, as in `limit 20`"
    if rest[0] in "\"'":
        return (
            f"the quote {rest[0]} is never closed"
            if _unclosed(rest)
            else f"a string can't stand here; {_hint(allowed)}"
        )
    if rest[0] == "`":
        return "the backtick ` is never closed" if "`" not in rest[1:] else f"a name can't stand here; {_hint(allowed)}"
    if rest[0] == "/" and "REGEX" in allowed:
        return "the regular expression is never closed, or has an unescaped / in it; write \\/ for a slash"
    if rest[0] == "/":
        return "a /regular expression/ stands only after like, =~ and the source of parse"
    if word:
        return _misplaced_word(text[:offset], word.group(), allowed)
    token = re.match(r"\d[\w.]*|[!=<>]+|.", rest, re.DOTALL).group()
    return f"{token!r} can't stand here; {_hint(allowed)}"


def _unclosed(rest: str) -> bool:
    return re.match(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", rest, re.DOTALL) is None


def _not_a_command(word: str) -> str:
    if word.lower() in UNSUPPORTED_COMMANDS:
        return f"the command {word} is not supported: {UNSUPPORTED_COMMANDS[word.lower()]}"
    close = difflib.get_close_matches(word.lower(), COMMANDS, n=1)
    did_you_mean = f"did you mean {close[0]}? " if close else ""
    return f"{word!r} is not a command; {did_you_mean}The commands are {', '.join(COMMANDS)}"


def _misplaced_word(before: str, word: str, allowed: set[str]) -> str:
    in_parse = re.search(r"(?i)\bparse\b[^|]*$", before)
    if in_parse and word.lower() in _PARSE_WAYS and "REGEX" in allowed:
        return f"the {word} form of parse is not supported; {_PARSE_WAYS[word.lower()]}"
    if in_parse and word.lower() == "multi" and "REGEX" not in allowed:
        return "`parse ... multi` is not supported: it makes several rows of one; give each match a group of its own"
    if word.lower() in COMMANDS or word.lower() in UNSUPPORTED_COMMANDS:
        return f"a | is missing before the command {word}"
    return f"{word!r} can't stand here; {_hint(allowed)}"


_PARSE_WAYS = {
    "json": "name fields of JSON with dots, or use jsonParse in `fields`",
    "xml": "parse with a glob or a /regular expression/",
}


def _hint(allowed: set[str]) -> str:
    return f"expected {_expectation(allowed)}"


_READABLE = {
    "NAME": "a field",
    "NUMBER": "a number",
    "STRING": "a quoted string",
    "REGEX": "a /regular expression/",
    "VBAR": "|",
    "COMMA": "a comma",
    "RPAR": ")",
    "LPAR": "(",
    "RSQB": "]",
    "LSQB": "[",
    "COMPARISON": "a comparison",
    "PLUS": "an operator",
    "$END": "the end",
    "AS": "as",
    "BY": "by",
    "STATS": "a command",
    "AND": "and",
    "OR": "or",
}


def _expectation(allowed: set[str]) -> str:
    named = [words for token, words in _READABLE.items() if token in allowed]
    return " or ".join(named[:5]) if named else "something else"
