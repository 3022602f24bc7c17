"""A limit followed by other commands: exact only if the order determines the first rows."""

from stampede.insights.commands.order import check_limit
from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.commands.row_errors import refuse_rows
from stampede.insights.language import syntax

# The reference's pipes imply this; but a published program (hyp3_floods) expects `limit 1 | filter
# ...` to return the latest match, so a limit of the result.
NOTE = (
    "a limit followed by other commands is applied where it stands; the service may apply it to "
    "the result: put it last if you want that"
)


def compile_cut(command: syntax.Limit, pipeline: Pipeline) -> None:
    """Keeps the first rows for the following commands; stops the query if another row could take
    the place of one of them.

    Event rows are in the order of the last sort, by default latest first ("the default
    descending sort order using @timestamp", CWL_QuerySyntax-Dedup). Groups have no documented
    order before a sort.
    """
    check_limit(command)
    count, place, rank = command.count, pipeline.fresh(), pipeline.fresh()
    # one row more is enough: a tie for the last place stops the query
    order = ", ".join(pipeline.determined)
    by = f"ORDER BY {order}" if order else ""
    pipeline.append(f"SELECT * FROM {{previous}} {by} LIMIT {count + 1}")
    ranked = f"rank() OVER ({by})" if by else "1"
    pipeline.append(
        f"SELECT *, row_number() OVER ({by}) AS {place}, {ranked} AS {rank} FROM {{previous}}"
    )
    tie = refuse_rows(command.span, _why(count, sorted_rows=bool(by)))
    pipeline.append(
        f"SELECT * EXCLUDE ({place}, {rank}) FROM {{previous}} WHERE CASE WHEN {place} > {count} "
        f"AND {rank} <= {count} THEN {tie} ELSE {place} <= {count} END"
    )
    pipeline.limited = True


def _why(count: int, *, sorted_rows: bool) -> str:
    if sorted_rows:
        return (
            f"rows {count} and {count + 1} have equal sort keys, so which of them limit keeps"
            " isn't determined; sort by one more field before limit"
        )
    return (
        "there are more groups than limit keeps, in no documented order; put a sort before limit, "
        "or put limit last"
    )
