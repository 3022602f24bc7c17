"""Common mistakes, such as constructs of other query languages or a missing quote, and what to
write instead."""

import re
from dataclasses import dataclass

_LOOKED_AT = 300  # characters before the place where parsing fails
_COMMAND = (
    r"(?:source|fields|display|filter|where|parse|stats|sort|limit|head|dedup|unnest|expand|json)\b"
)
_AFTER_REGEX = r"(?:\blike|=~|\bparse\b[^|/]*)\s*/(?:\\.|[^/\\\n])+/"
_COMMENT = "start a comment with #"
_QUOTED = "the text before this has already ended; write \\\" or \\' for a quote inside it"
_NAMED_AGAIN = 'repeat the field in each comparison, as in `a like "x" or a like "y"`'
_BRACKETS = 'in takes its values in brackets, as in ["ok", "failed"]'
_CHOICE = (
    "write a conditional value as if(condition, value, other) or case(condition, value, ..., other)"
)


@dataclass(frozen=True)
class _Slip:
    """`before` matches up to the place where parsing fails, `rest` from there; a group `at` marks a
    better place to point to."""

    before: str
    rest: str
    message: str


_SLIPS = (
    _Slip(r"", r"={2,}", "write equality with one ="),
    _Slip(r"", r"&", "write `and`"),
    _Slip(
        r"(?P<at>\|)",
        r"\|",
        "there are two | in a row; write `or` in a condition, and one | between commands",
    ),
    _Slip(r"\|\s+|\A\s*", r"\|", "a command is missing before |"),
    _Slip(r"", r"!~", "write `not like`"),
    _Slip(
        r"(?P<at>!)\s*(?:[\w@.`]+|[\w@.]+\s*\([^()]*\)|\([^()]*\))\s*",
        r"[!<>]?=|[<>+\-*/%^]|(?:like|in|not)\b",
        "! applies only to a function, a field or parentheses; write `not`, or !(...) around the "
        "whole comparison",
    ),
    _Slip(r"", r"!\s*(?:like|in)\b", "write `not`, as in `not like` and `not in`"),
    _Slip(r"", r"!\s+=", "write != for unequal"),
    _Slip(r"", r"!(?!=)", "! must precede a condition, as in !ispresent(field)"),
    _Slip(r"", r"~", "write `like` or =~"),
    _Slip(r"(?P<at><)", r">", "write != for unequal"),
    _Slip(r"(?P<at>=)", r"[<>]", "write <= or >="),
    _Slip(
        r"(?P<at>\bnot)\s*", r"[!<>]?=|[<>]", "put `not` before the whole comparison, or write !="
    ),
    _Slip(
        r"\A", r"\ufeff", "the query begins with a byte order mark (U+FEFF); save it without one"
    ),
    _Slip(
        r"",
        r"[\x0b\x0c\x85\u00a0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff]",
        "this is no plain space or line end, but a character that looks like one or is invisible; "
        "write a plain space",
    ),
    _Slip(r"", r"[–—−]", "this is a dash; write minus as -"),
    _Slip(r"", r"[“”‘’„«»]", "use straight quotes, \" or '"),
    _Slip(
        r"",
        r"[^\x00-\x7f]",
        "a name with characters other than letters, digits, _ @ and . needs backticks",
    ),
    _Slip(r"", r";", "separate commands with |"),
    _Slip(r"", r"\?", _CHOICE),
    _Slip(r"", r"0[xX][0-9a-fA-F]", "write hexToDec('0x1f') for a hexadecimal number"),
    _Slip(r"(?P<at>\d+)", r",\d", "write a number without commas"),
    _Slip(
        r"(?P<at>\d+)", r"\.\d+[A-Za-z]", "a period must be a whole number and a unit, as in 90m"
    ),
    _Slip(
        r"(?P<at>\d+)\s+",
        r"(?:ms|[smhdqy]|mo|min|hr|day|month)\w*",
        "write a period without a space, as in 5m",
    ),
    _Slip(
        _AFTER_REGEX,
        r"[a-z]{1,3}(?![\w/])",
        "write the flags of a /regular expression/ inside it, as in /(?i)error/",
    ),
    _Slip(
        _AFTER_REGEX,
        r"[^\s|,)]",
        "the expression before this has already ended; write \\/ for a slash inside it",
    ),
    _Slip(r"(?:\blike|=~)\s*", r"//", "the /regular expression/ is empty"),
    _Slip(r"(?P<at>/)", r"[/*]", _COMMENT),
    _Slip(r"(?P<at>--)[^\n]*", r"\w", _COMMENT),
    _Slip(r"[\"']", r"[\w@\"']", _QUOTED),
    _Slip(r"\b(?:and|or)\s+(?:not\s+)?(?P<at>like)\s*", r"[\"'/]", _NAMED_AGAIN),
    _Slip(r"(?:\blike|=~)\s*/(?:\\.|[^/\\\n])+/\s*(?:and|or)\s+(?:not\s+)?", r"/", _NAMED_AGAIN),
    _Slip(r"", r"\\\s*(?:\n|\Z)", "a query continues on the next line without \\"),
    _Slip(r"", r"\$", "write a field name without $, as in request.path"),
    _Slip(r"(?P<at>,)\s*by\s+", r"", "remove the comma before `by`"),
    _Slip(r"\bcount\s*\(\s*(?P<at>distinct)\s+", r"", "write count_distinct(field)"),
    _Slip(
        r"\bas\s+",
        r"[\"']",
        "write an alias without quotes; one with other characters needs backticks, as in `my name`",
    ),
    _Slip(
        r"\bin\s*",
        rf"\(\s*{_COMMAND}",
        "sub-queries are not supported; run one on its own and list its values, as in [1, 2]",
    ),
    _Slip(r"\bin\s*", r"[(\"'\w]", _BRACKETS),
    _Slip(r"\bin\s*\[\s*", r"\]", "the list after `in` is empty"),
    _Slip(
        r"\bin\s*\[[^\]]*",
        r"[\w@`]",
        "the list after `in` takes numbers and quoted text, with commas between them",
    ),
    _Slip(
        r"\b(?:fields|display|dedup|by)\s+|,\s*",
        r"\*",
        "* is allowed only in count(*); name the fields",
    ),
    _Slip(r"\bunnest\s+[\w@.`]+(?:\[\d+\])*\s*", r"as\b|,|\||\Z", "write `unnest list into name`"),
    _Slip(
        r"\blimit\s+",
        r"any\b",
        "`limit any` is not supported: which rows it returns isn't determined; write a number, as "
        "in `limit 20`",
    ),
    _Slip(r"\blimit\s+\d+\s*", r",|offset\b", "limit takes one number; it keeps the first rows"),
    _Slip(
        r"[\w@`)\]](?P<at>\[)\s*",
        r"[\"'\w@`]",
        "[...] takes an index in a list, from 0; write a key after a dot, as in map.key or "
        "map.`odd key`",
    ),
    _Slip(
        r"\bparse\s+[\w@.`]+\s+",
        r"as\b",
        "the pattern is missing: a glob in quotes, a /regular expression/, logfmt or csv",
    ),
    _Slip(
        r"\b(?:parse|dedup|unnest|expand)\s+(?:[\w@.]+\s*,\s*)*(?P<at>\w+)\s*",
        r"\(",
        "a field is needed here; compute it first with `fields ... as name`",
    ),
)

# Words that can't follow an expression.
_WORDS = {
    "is": "compare with = or !=; find missing fields with `not ispresent(field)`",
    "equals": "write =",
    "eq": "write =",
    "ne": "write !=",
    "gt": "write >",
    "lt": "write <",
    "contains": 'write `like "text"`',
    "has": 'write `like "text"`',
    "between": "write `x >= 5 and x <= 6`",
    "matches": "write `like /expression/`",
    "regex": "write the expression between slashes, as in /(?<name>...)/",
    "regexp": "write `like /expression/`",
    "rlike": "write `like /expression/`",
    "ilike": "write `like /(?i)expression/`",
    "having": "write `| filter ...` after stats",
    "group": "write `by`, as in `stats count(*) by field`",
    "descending": "write desc",
    "dsc": "write desc",
    "ascending": "write asc",
    "from": "choose the log groups outside the query",
    "when": _CHOICE,
    "then": _CHOICE,
    "else": _CHOICE,
    "offset": (
        "the time shift `offset` is not supported; run the query over the other period and "
        "compare the results"
    ),
}


def slip(text: str, offset: int) -> tuple[int, str] | None:
    """The mistake at the place where parsing fails: the offset to point to, and what to
    write instead."""
    start = max(0, offset - _LOOKED_AT)
    before, rest = text[start:offset], text[offset:]
    for candidate in _SLIPS:
        behind = re.search(f"(?:{candidate.before})\\Z", before, re.IGNORECASE)
        if behind and re.match(candidate.rest, rest, re.IGNORECASE):
            has_better_place = "at" in behind.re.groupindex
            return start + behind.start("at") if has_better_place else offset, candidate.message
    return None


def misplaced(word: str) -> str | None:
    """What to write instead of a foreign word after an expression; None for any other word."""
    advice = _WORDS.get(word.lower())
    return f"{word!r} isn't allowed here; {advice}" if advice else None
