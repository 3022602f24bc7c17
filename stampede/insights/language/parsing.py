"""Parses text: runs the grammar and turns its parse tree into the classes of `syntax`."""

import os
import re
from collections.abc import Container
from dataclasses import replace
from functools import cache
from pathlib import Path

from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import UnexpectedInput, VisitError

from stampede.insights.errors import QueryError
from stampede.insights.language import syntax
from stampede.insights.language.identity import written
from stampede.insights.language.refusals import explain
from stampede.insights.language.syntax import Span

MOST_CHARACTERS = 10_000  # queryString of StartQuery; CloudWatch Logs API reference
_MOST_DIGITS = 18  # of a period, an index or a limit
_DEEPEST = 200  # levels of the parse tree, two or three for each level of an expression


def parse(text: str, functions: Container[str] = ()) -> list[syntax.Command]:
    """The commands of a query, in order; `functions` are the function names that error
    messages recognise.

    Raises QueryError, with line and column, for text outside the supported language.
    """
    _check_characters(text)
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise explain(text, error, functions) from None
    _check_depth(tree)
    try:
        return _Builder(text).transform(tree)
    except VisitError as error:
        raise error.orig_exc from None


@cache
def _grammar() -> Lark:
    """The parser. Its tables take 70 ms to build and 5 ms to read, so the user's cache folder
    keeps them."""
    source = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    how = {"parser": "lalr", "lexer": "contextual", "start": "query"}
    how |= {"propagate_positions": True, "maybe_placeholders": True}
    kept = _cache_file()
    return Lark(source, **how, cache=str(kept)) if kept else Lark(source, **how)


def _cache_file() -> Path | None:
    """Where the tables are cached, or None if no folder is suitable; Lark detects tables of another
    grammar or version.

    They are a pickle, so the folder must belong to the user and be writable by no one else.
    """
    base = os.environ.get("STAMPEDE_CACHE_DIR")
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = Path(base) if base else cache / "stampede"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
    except (OSError, RuntimeError):
        return None
    if about.st_uid != os.getuid() or about.st_mode & 0o022 or not os.access(folder, os.W_OK):
        return None
    return folder / "insights-grammar.bin"


def _check_depth(tree: Tree) -> None:
    """Refuses trees too deep for the functions that walk them."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
    if level:
        message = (
            "the query is nested too deeply here; compute part of it in an earlier `fields`, "
            "under a name"
        )
        raise QueryError(message, level[0].meta.line, level[0].meta.column)


def _check_characters(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        before = text[:MOST_CHARACTERS]
        raise QueryError(
            f"a query has at most {MOST_CHARACTERS:,} characters, in the service too; this one has "
            f"{len(text):,}",
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
        )
    for number, line in enumerate(text.split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            if character == "\0" or "\ud800" <= character <= "\udfff":
                raise QueryError(
                    f"character U+{ord(character):04X} isn't allowed in a query", number, column
                )


def _span(meta) -> Span:
    return Span(meta.line, meta.column, meta.start_pos, meta.end_pos)


def _token_span(token: Token) -> Span:
    return Span(token.line, token.column, token.start_pos, token.end_pos)


def _unquote(token: Token) -> str:
    """The value of a string literal, in which quotes, backslashes and tabs can be escaped.

    The tab isn't in the reference, but in published queries of REPORT lines, such
    as theam/aws-lambda-benchmark's.
    """
    body, out, index = str(token)[1:-1], [], 0
    while index < len(body):
        character = body[index]
        if character == "\\":
            index += 1
            character = {"t": "\t"}.get(body[index], body[index])
            if body[index] not in "\"'\\t":
                raise QueryError(
                    f"the escape \\{body[index]} in a string isn't documented; use a /regular "
                    "expression/, or write \\\\, \\\", \\' or \\t",
                    token.line,
                    token.column,
                )
        out.append(character)
        index += 1
    return "".join(out)


@v_args(meta=True)
class _Builder(Transformer):
    """Builds syntax classes bottom-up; one method for each grammar rule."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def query(self, meta, commands):
        return list(commands)

    # names and literals

    def plain_name(self, meta, children):
        return syntax.Name(_span(meta), str(children[0]), str(children[0]))

    def quoted_name(self, meta, children):
        return syntax.Name(_span(meta), str(children[0])[1:-1], str(children[0])[1:-1])

    def number(self, meta, children):
        return syntax.Number(_span(meta), _finite(children[0]))

    def negative_number(self, meta, children):
        return syntax.Number(_span(meta), -_finite(children[1]))

    def string(self, meta, children):
        return _pattern(children[0])

    def period(self, meta, children):
        text = str(children[0])
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return syntax.Period(_span(meta), _integer(children[0], digits), text[len(digits) :])

    def index(self, meta, children):
        if not str(children[0]).isdigit():
            message = f"an index must be a whole number from 0, not {children[0]}"
            raise QueryError(message, children[0].line, children[0].column)
        return (_integer(children[0], str(children[0])),)

    def member(self, meta, children):
        return tuple(str(children[0])[1:].split("."))

    def quoted_member(self, meta, children):
        return (str(children[0])[2:-1],)

    def reference(self, meta, children):
        name, *steps = children
        if not steps:
            return name
        written = self._text[meta.start_pos : meta.end_pos].replace("`", "")
        return syntax.Name(
            _span(meta), written, name.text, tuple(step for part in steps for step in part)
        )

    # expressions

    def access(self, meta, children):
        subject, *steps = children
        return syntax.Access(_span(meta), subject, tuple(step for part in steps for step in part))

    def group(self, meta, children):
        return replace(children[0], span=_span(meta))

    def call(self, meta, children):
        name, content = children
        star = isinstance(content, Token)
        arguments = () if star or content is None else content
        return syntax.Call(_span(meta), str(name).lower(), arguments, star)

    def arguments(self, meta, children):
        return tuple(children)

    def arithmetic(self, meta, children):
        left, operator, right = children
        return syntax.Arithmetic(_span(meta), str(operator), left, right)

    def minus(self, meta, children):
        zero = syntax.Number(_token_span(children[0]), 0.0)
        return syntax.Arithmetic(_span(meta), "-", zero, children[1])

    def compare(self, meta, children):
        left, operator, right = children
        return syntax.Comparison(
            _span(meta), "=" if operator == "==" else str(operator), left, right
        )

    def match(self, meta, children):
        subject, negation, _, pattern = children
        return syntax.Match(_span(meta), subject, _pattern(pattern), negation is not None)

    def membership(self, meta, children):
        subject, negation, _, *items = children
        return syntax.Membership(_span(meta), subject, tuple(items), negation is not None)

    def negate(self, meta, children):
        return syntax.Negation(_span(meta), children[1])

    def all_of(self, meta, children):
        return syntax.Junction(_span(meta), "and", tuple(children[::2]))

    def any_of(self, meta, children):
        return syntax.Junction(_span(meta), "or", tuple(children[::2]))

    # commands

    def titled(self, meta, children):
        expression = children[0]
        named = isinstance(expression, syntax.Name)
        return expression, expression.text if named else written(self._text, expression)

    def item(self, meta, children):
        (expression, title), _, alias = children
        return syntax.Item(expression, alias.text if alias else title, alias)

    def items(self, meta, children):
        return tuple(children)

    keys = items
    names = items
    references = items

    def fields(self, meta, children):
        return syntax.Fields(_span(meta), children[1])

    def display(self, meta, children):
        return syntax.Display(_span(meta), children[1])

    def filter(self, meta, children):
        return syntax.Filter(_span(meta), children[1])

    def parse(self, meta, children):
        _, source, pattern, _, aliases, multi = children
        if multi is not None and pattern.type != "REGEX":
            message = (
                "multi belongs to a /regular expression/, as in `parse /(?<ip>[0-9.]+)/ multi`"
            )
            raise QueryError(message, multi.line, multi.column)
        return syntax.Parse(_span(meta), source, _pattern(pattern), aliases, multi is not None)

    def parse_logfmt(self, meta, children):
        return syntax.Parse(_span(meta), children[1], "logfmt", (children[4],))

    def parse_csv(self, meta, children):
        return syntax.Parse(_span(meta), children[1], "csv", children[4])

    def stats(self, meta, children):
        _, items, _, keys = children
        return syntax.Stats(_span(meta), items, keys or ())

    def order(self, meta, children):
        (expression, title), direction = children
        return syntax.SortKey(expression, title, direction is not None and direction.type == "DESC")

    def sort(self, meta, children):
        return syntax.Sort(_span(meta), tuple(children[2:]))

    def limit(self, meta, children):
        count = children[1]
        if not str(count).isdigit():
            message = f"limit takes a whole number, not {count}"
            raise QueryError(message, count.line, count.column)
        return syntax.Limit(_token_span(count), _integer(count, str(count)))

    def dedup(self, meta, children):
        return syntax.Dedup(_span(meta), children[1])

    def unnest(self, meta, children):
        return syntax.Unnest(_span(meta), children[1], children[3])

    def expand(self, meta, children):
        return syntax.Expand(_span(meta), children[1])

    def json(self, meta, children):
        return syntax.Json(_span(meta), children[3], _pattern(children[4]), children[6])


def _integer(token: Token, digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise QueryError(
            f"a whole number of {len(digits)} digits is too large here", token.line, token.column
        )
    return int(digits)


def _finite(token: Token) -> float | int:
    """The number; an int if written in digits that a double can't hold."""
    if re.match(r"0\d", token):
        message = (
            f"{token} begins with a zero, so it may be text and not a number; put text in quotes"
        )
        raise QueryError(message, token.line, token.column)
    value = float(token)
    if value in (float("inf"), float("-inf")):
        raise QueryError(f"the number {token[:40]} is too large", token.line, token.column)
    return int(token) if value >= 2**53 and token.isdigit() else value


def _pattern(token: Token) -> syntax.Text | syntax.Regex:
    if token.type == "REGEX":
        return syntax.Regex(_token_span(token), str(token)[1:-1])
    return syntax.Text(_token_span(token), _unquote(token))
