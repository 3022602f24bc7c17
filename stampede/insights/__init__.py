"""Evaluates CloudWatch Logs Insights queries on log events, without AWS.

`evaluate(text, events)` answers exactly or raises: `QueryError` names the construct, its line and
column; `EventsError` names the unreadable event or file. Both are `InsightsError`, a `ValueError`.
`export(events, path)` writes the events as Parquet, which later evaluations read faster;
`read_notes(path)` returns the notes stored with them.
"""

from stampede.insights.commands.compilation import always_a_row, row_limit
from stampede.insights.errors import EventsError, InsightsError, QueryError
from stampede.insights.evaluation import check, evaluate
from stampede.insights.parquet import export, read_notes
from stampede.insights.result import Result, number_text
from stampede.insights.where import of_run, with_filters, without

__all__ = [
    "EventsError",
    "InsightsError",
    "QueryError",
    "Result",
    "always_a_row",
    "check",
    "evaluate",
    "export",
    "number_text",
    "of_run",
    "read_notes",
    "row_limit",
    "with_filters",
    "without",
]
