"""When two expressions are the same, and how one is written as the title of its column.

Two expressions are the same when their syntax trees are: white space, comments, parentheses that
change nothing, the case of a function's name, the kind of quotes and `1` for `1.0` don't count, but
every character inside of a literal does. A title keeps the text as written, so two columns of one
expression may have two titles.
"""

import re
from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from stampede.insights.language import syntax
from stampede.insights.language.syntax import Expression

_LITERALS = (syntax.Name, syntax.Text, syntax.Regex)
_BETWEEN = re.compile(r"(?:\s|#[^\n]*)+")  # white space and comments


def tree(node: Any) -> Hashable:
    """The syntax tree without the places in the text; equal for expressions that are the same."""
    if isinstance(node, syntax.Name):
        return ("Name", node.head or node.text, node.steps)
    if is_dataclass(node):
        return (type(node).__name__, *(tree(getattr(node, part.name)) for part in _parts(node)))
    return tuple(map(tree, node)) if isinstance(node, tuple) else node


def mentions(known: Hashable, name: str) -> bool:
    """Whether a tree mentions the field, or a part of it such as `name.key`."""
    if not isinstance(known, tuple):
        return False
    if known[:1] == ("Name",):
        return f"{known[1]}.".startswith(f"{name}.")
    return any(mentions(part, name) for part in known)


def names(expression: Expression) -> set[str]:
    """The fields that an expression mentions."""
    return {node.text for node in _nodes(expression) if isinstance(node, syntax.Name)}


def functions(expression: Expression) -> set[str]:
    """The functions that an expression calls, in lower case."""
    return {node.function for node in _nodes(expression) if isinstance(node, syntax.Call)}


def written(text: str, expression: Expression) -> str:
    """The expression as it stands in the query `text`; between its literals, white space and
    comments are one space."""
    start, pieces = expression.span.start, []
    literals = sorted(
        (node.span.start, node.span.end)
        for node in _nodes(expression)
        if isinstance(node, _LITERALS)
    )
    for begin, end in literals:
        pieces += [_BETWEEN.sub(" ", text[start:begin]), text[begin:end]]
        start = end
    return "".join([*pieces, _BETWEEN.sub(" ", text[start : expression.span.end])]).strip()


def _parts(node: Any) -> list[Any]:
    return [part for part in fields(node) if part.name != "span"]


def _nodes(expression: Expression) -> Iterator[Any]:
    """The nodes of an expression, in no order; without recursion, since a sum of 1,000 terms is
    as deep."""
    left: list[Any] = [expression]
    while left:
        node = left.pop()
        if isinstance(node, tuple):
            left += node
        elif is_dataclass(node):
            yield node
            left += [getattr(node, part.name) for part in _parts(node)]
