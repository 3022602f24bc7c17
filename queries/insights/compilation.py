"""Compiles the commands of a query in order, and holds the rules about their order."""

from queries.insights import syntax
from queries.insights.parsing import parse
from queries.insights.pipeline import Pipeline, refusal
from queries.insights.stage_order import compile_dedup, compile_limit, compile_sort
from queries.insights.stage_rows import compile_display, compile_fields, compile_filter, compile_parse
from queries.insights.stage_stats import compile_stats
from queries.insights.syntax import Command

_STAGES = {
    syntax.Fields: compile_fields,
    syntax.Display: compile_display,
    syntax.Filter: compile_filter,
    syntax.Parse: compile_parse,
    syntax.Stats: compile_stats,
    syntax.Sort: compile_sort,
    syntax.Limit: compile_limit,
    syntax.Dedup: compile_dedup,
}


def compile_query(text: str, commands: list[Command], now_s: float) -> Pipeline:
    """The compiled query; `now_s` is what now() stands for, in seconds since 1970.

    Raises QueryError for anything that can't be evaluated exactly.
    """
    pipeline = Pipeline(text, now_s)
    for place, command in enumerate(commands):
        _check_order(commands[:place], command)
        pipeline.at(command.span)
        _STAGES[type(command)](command, pipeline)
    return pipeline


def _check_order(earlier: list[Command], command: Command) -> None:
    """Refuses orders that the service rejects, or whose meaning it doesn't document."""
    kinds = {type(one) for one in earlier}
    name = type(command).__name__.lower()
    if syntax.Dedup in kinds and not isinstance(command, syntax.Limit):
        raise refusal(command.span, f"only limit may follow dedup; move {name} before it")
    changes_rows = isinstance(command, syntax.Sort | syntax.Filter | syntax.Stats | syntax.Dedup)
    if syntax.Limit in kinds and changes_rows:
        raise refusal(command.span, f"what {name} means after limit isn't documented; move limit behind it")
    if isinstance(command, syntax.Stats) and syntax.Stats in kinds and syntax.Sort in kinds:
        raise refusal(command.span, "sort must come after the second stats")


def row_limit(text: str) -> int | None:
    """The most rows that the query itself asks for, by its last limit; None without one. Raises QueryError."""
    limits = [command.count for command in parse(text) if isinstance(command, syntax.Limit)]
    return limits[-1] if limits else None
