"""Refusals that depend on the rows: SQL that stops the query, and the QueryError read back from
DuckDB's message."""

import re

from stampede.insights.errors import QueryError
from stampede.insights.language.syntax import Span
from stampede.insights.values import sql_string

_MARK = "insights refuses at"


def refuse_rows(span: Span, message: str) -> str:
    """SQL that fails at the first row that evaluates it; `refusal_in` reads the refusal back from
    DuckDB's message."""
    return f"error({sql_string(f'{_MARK} {span.line}:{span.column}: {message}')})"


def refusal_in(reason: str) -> QueryError | None:
    """The refusal in DuckDB's message `reason`, if there is one."""
    marked = re.search(rf"{_MARK} (\d+):(\d+): ([^\n]*)", reason)
    if marked is None:
        return None
    return QueryError(marked.group(3), int(marked.group(1)), int(marked.group(2)))
