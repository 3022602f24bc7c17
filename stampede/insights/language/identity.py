"""Whether two expressions are the same, and how an expression is written as a column title.

Two expressions are the same if their syntax trees are. White space, comments, redundant
parentheses, the case of function names, the kind of quotes and `1` for `1.0` don't matter; every
character inside a literal does. A title keeps the text as written, so the same expression may have
two titles.
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
    """The syntax tree without text positions; equal for expressions that are the same."""
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
    """The expression as written in the query `text`; white space and comments between its literals
    become one space."""
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
    just as deep."""
    left: list[Any] = [expression]
    while left:
        node = left.pop()
        if isinstance(node, tuple):
            left += node
        elif is_dataclass(node):
            yield node
            left += [getattr(node, part.name) for part in _parts(node)]
