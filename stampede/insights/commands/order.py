"""The commands that order rows and drop some: sort, limit and dedup."""

from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.expressions.compiler import Compiler
from stampede.insights.language import syntax
from stampede.insights.language.syntax import Expression, refusal
from stampede.insights.values import Value, as_text

MOST_ROWS = 100_000  # largest limit; CloudWatch Logs quotas


def compile_sort(command: syntax.Sort, pipeline: Pipeline) -> None:
    """Orders the rows, ascending by default; equal rows keep their order."""
    terms = []
    for key in command.keys:
        if _is_dropped_time(key.expression, pipeline) and not pipeline.bins:
            pipeline.note(
                "stats dropped @timestamp, so sort @timestamp has nothing to sort by: the rows "
                "come in no order"
            )
            continue
        column = _event_time(key.expression, pipeline)
        if column is None:
            column = pipeline.store(Compiler(pipeline).no_map(key.expression, "sort"))
        terms += pipeline.order_terms(column, key.descending)
    pipeline.order = list(dict.fromkeys([*terms, *pipeline.order]))
    pipeline.determined = terms


def _event_time(expression: Expression, pipeline: Pipeline) -> Value | None:
    """The column for @timestamp in a sort after `stats ... by bin(5m)`, as in AWS's samples, if
    there is exactly one bin.

    None for any other key.
    """
    if not _is_dropped_time(expression, pipeline) or len(pipeline.bins) != 1:
        return None
    ((title, column),) = pipeline.bins.items()
    pipeline.note(
        f"stats dropped @timestamp; sort @timestamp uses {title}, the only column with a time of "
        "the events"
    )
    return column


def _is_dropped_time(expression: Expression, pipeline: Pipeline) -> bool:
    """Whether it is @timestamp after a stats that dropped it; published queries do this after
    `stats ... by status`."""
    is_time = isinstance(expression, syntax.Name) and expression.text == "@timestamp"
    return is_time and pipeline.stats_count > 0 and "@timestamp" not in pipeline.columns


def compile_limit(command: syntax.Limit, pipeline: Pipeline) -> None:
    """Keeps the first rows in the current order."""
    check_limit(command)
    order = f" ORDER BY {', '.join(pipeline.order)}" if pipeline.order else ""
    pipeline.append(f"SELECT * FROM {{previous}}{order} LIMIT {command.count}")
    pipeline.limited = True


def check_limit(command: syntax.Limit) -> None:
    """Raises QueryError for a limit out of range."""
    if not 1 <= command.count <= MOST_ROWS:
        raise refusal(command.span, f"limit must be from 1 to {MOST_ROWS}, not {command.count}")


def compile_dedup(command: syntax.Dedup, pipeline: Pipeline) -> None:
    """Keeps the first of the rows that agree in all fields, in the current order (by default
    the latest).

    Values agree if they print alike: 1, "1" and true do, 1.0 doesn't. A row that lacks a field is
    never a duplicate. Source:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Dedup.html
    """
    values = [pipeline.scalar_field(name, "dedup") for name in command.names]
    fields = [value.sql for value in values]
    order = f" ORDER BY {', '.join(pipeline.order)}" if pipeline.order else ""
    missing = " OR ".join(f"{field} IS NULL" for field in fields)
    pipeline.append(
        f"SELECT * FROM {{previous}} QUALIFY {missing}"
        f" OR row_number() OVER (PARTITION BY {', '.join(map(as_text, values))}{order}) = 1"
    )
