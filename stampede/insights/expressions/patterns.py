"""Regular expressions and globs of the query language as patterns of RE2, DuckDB's engine.

RE2 has neither look-around nor backreferences; such patterns are refused at their place. `$`
matches only at the very end of the text, and `.` doesn't match line ends.
"""

import re
from dataclasses import dataclass

import duckdb

from stampede.insights.errors import QueryError
from stampede.insights.events.questions import ask
from stampede.insights.language.syntax import Regex, Text


@dataclass(frozen=True)
class Group:
    """A capturing group: its name (None if it has none) and whether its content can match the
    empty string."""

    name: str | None
    may_be_empty: bool


@dataclass(frozen=True)
class Pattern:
    re2: str
    groups: tuple[Group, ...]


_REFUSED = {
    "(?=": "look-ahead (?=...)",
    "(?!": "negative look-ahead (?!...)",
    "(?<=": "look-behind (?<=...)",
    "(?<!": "negative look-behind (?<!...)",
    "(?>": "the atomic group (?>...)",
}


# Within [...]: one character, or a named class.
_POSIX_CLASS = re.compile(r"\[:\^?[a-z]+:\]|.", re.DOTALL)


def regex(literal: Regex) -> Pattern:
    """The RE2 pattern of a /regular expression/.

    Raises QueryError, at the offending place, for a malformed expression and for anything that
    RE2 lacks.
    """
    body, out, opened, groups = literal.body, [], [], []
    index, in_class = 0, False
    while index < len(body):
        step, piece = 1, body[index]
        if piece == "\\":
            step, piece = 2, _escape(literal, index, in_class)
        elif in_class:
            step = len(_POSIX_CLASS.match(body, index).group())
            piece, in_class = body[index : index + step], piece != "]"
        elif piece == "[":
            in_class = True
            negated = 2 if body[index + 1 : index + 2] == "^" else 1
            if body[index + negated : index + negated + 1] == "]":
                step, piece = negated + 1, body[index : index + negated + 1]
        elif piece == "(":
            step, piece, name = _open(literal, index)
            captures = name is not None or piece == "("
            opened.append((len(groups) if captures else None, len(out) + 1))
            if captures:
                groups.append([name, ""])
        elif piece == ")" and opened:
            number, start = opened.pop()
            if number is not None:
                groups[number][1] = "".join(out[start:])
        out.append(piece)
        index += step
    re2 = "".join(out)
    _try(literal, re2, len(groups))
    _check_names(literal, [name for name, _ in groups if name])
    return Pattern(re2, tuple(Group(name, _matches_nothing(content)) for name, content in groups))


def finds_nothing(pattern: Pattern) -> bool:
    """Whether the pattern has an empty match in one of a few sample texts."""
    samples = "(VALUES (''), ('a'), (' a '), ('1'), (' 1-a ')) AS samples(sample)"
    return ask(
        f"(SELECT bool_or(list_contains(regexp_extract_all(sample, $1), '')) FROM {samples})",
        pattern.re2,
    )


def glob(literal: Text) -> Pattern:
    """The RE2 pattern of a glob: unanchored; each * captures as little as possible, a final one
    the rest."""
    parts = literal.value.split("*")
    if len(parts) == 1:
        _refuse(literal, 0, "the glob has no *; each * captures one field")
    if "" in parts[1:-1]:
        _refuse(literal, 0, "two * side by side can't be told apart; put text between them")
    pattern = "(.*?)".join(re.sub(r"([\\.^$|?+()\[\]{}*-])", r"\\\1", part) for part in parts)
    if parts[-1] == "":
        pattern += r"\n?\z"
    return Pattern("(?s)" + pattern, tuple(Group(None, True) for _ in parts[1:]))


def _open(literal: Regex, index: int) -> tuple[int, str, str | None]:
    """The opening of a group at `index`: its length, its RE2 form and its name."""
    rest = literal.body[index:]
    for start, name in _REFUSED.items():
        if rest.startswith(start):
            _refuse(
                literal,
                index,
                f"{name} isn't supported by the engine; match the text and filter afterwards",
            )
    if rest.startswith(("(?P<", "(?P=")):
        _refuse(literal, index, "write a named group as (?<name>...)")
    named = re.match(r"\(\?<(@?[A-Za-z][A-Za-z0-9_]*)>", rest)
    if named:
        return named.end(), "(", named.group(1)
    if rest.startswith("(?<"):
        _refuse(
            literal, index, "a group name has letters, digits and _, and starts with a letter or @"
        )
    return (2, "(?", None) if rest.startswith("(?") else (1, "(", None)


def _escape(literal: Regex, index: int, in_class: bool) -> str:
    escaped = literal.body[index : index + 2]
    if escaped == "\\/":
        return "/"
    if not in_class and re.fullmatch(r"\\[1-9k]", escaped):
        _refuse(
            literal,
            index,
            f"the backreference {escaped} isn't supported by the engine; filter afterwards",
        )
    if escaped == "\\C":
        _refuse(literal, index, "\\C matches a byte, which may be half of a character; write a dot")
    if escaped == "\\Q":
        _refuse(literal, index, "\\Q...\\E is not supported; escape each character")
    return escaped


def _try(literal: Regex, re2: str, groups: int) -> None:
    """Refuses what RE2 refuses; extracts the groups as `parse` will."""
    names = ", ".join(f"'g{number}'" for number in range(1, groups + 1))
    extracted = f"regexp_extract('', ?, [{names}])" if groups else "''"
    try:
        ask(f"(regexp_matches('', ?), {extracted})", *[re2] * (2 if groups else 1))
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].rpartition("Error: ")[2]
        _refuse(literal, -1, f"invalid regular expression: {reason}")


def _check_names(literal: Regex, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            _refuse(literal, -1, f"two groups are named {name}")


def _matches_nothing(content: str) -> bool:
    """Whether a group's content matches the empty string; yes if unsure (flags set outside it)."""
    try:
        return ask("regexp_full_match('', ?)", content)
    except duckdb.Error:
        return True


def _refuse(literal: Regex | Text, index: int, message: str) -> None:
    """Raises QueryError at `index` in the body of a regular expression; at its start for -1, and
    for globs."""
    offset = index + 1 if isinstance(literal, Regex) else 0
    raise QueryError(message, literal.span.line, literal.span.column + offset)
