"""Narrows a query to a run, or any other field value, by putting a filter in front."""

import re
from collections.abc import Iterable, Mapping, Sequence

from stampede.insights.errors import QueryError

_PLAIN_NAME = re.compile(r"[A-Za-z_@][A-Za-z0-9_@.]*")
# Written without quotes, as the service's examples write numbers. Anything that would read back
# differently is quoted.
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,14}|-?(0|[1-9][0-9]{0,9})\.[0-9]{0,5}[1-9]")


Value = str | int | float


def with_filters(text: str, filters: Mapping[str, Value | Sequence[Value]]) -> str:
    """The query `text` with a `filter` stage for each field and its value, or values, in front,
    after the leading comments.

    The result is a query for the service as well as for `evaluate`. A string that is a plain
    number is written without quotes. Raises QueryError for a field or value that can't be written
    in a query.
    """
    return _in_front(
        text, [f"filter {_condition(name, value)}\n| " for name, value in filters.items()]
    )


def of_run(text: str, run_id: str) -> str:
    """The query `text` over the records of a run, and over lines of its time that aren't records:
    Lambda's own, and what a function prints. Only records have a sandbox_id. Raises QueryError."""
    own = f"{_condition('run_id', run_id)} or not ispresent(sandbox_id)"
    return _in_front(text, [f"filter {own}\n| "])


def without(text: str, fields: Mapping[str, Value]) -> str:
    """The query `text` without lines in which all `fields` have these values. Raises QueryError."""
    together = " and ".join(_condition(name, value) for name, value in fields.items())
    return _in_front(text, [f"filter not ({together})\n| "])


def _in_front(text: str, stages: Iterable[str]) -> str:
    # a comment ends at \n only, not at the other line ends of splitlines()
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    comments = 0
    while comments < len(lines) and (
        not lines[comments].strip() or lines[comments].lstrip().startswith("#")
    ):
        comments += 1
    return "".join([*lines[:comments], *stages, *lines[comments:]])


def _condition(name: str, value: Value | Sequence[Value]) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{_name(name)} in [{', '.join(_value(name, item) for item in value)}]"
    return f"{_name(name)} = {_value(name, value)}"


def _name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    if not name or "`" in name or not name.isprintable():
        raise QueryError(
            f"{name!r} is not a field name; it must be printable and without backticks", 1, 1
        )
    return f"`{name}`"


def _value(name: str, value: str | int | float) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QueryError(
            f"the value of {name} is a {type(value).__name__}; give text or a number", 1, 1
        )
    text = str(value)
    if _PLAIN_NUMBER.fullmatch(text):
        return text
    if not text.isprintable():
        raise QueryError(
            f"the value of {name} has characters that can't be printed; remove them", 1, 1
        )
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
