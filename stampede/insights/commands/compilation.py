"""Compiles the commands of a query in order, and checks that order."""

from stampede.insights.commands.cut import NOTE, compile_cut
from stampede.insights.commands.json_path import compile_json
from stampede.insights.commands.multiply import compile_expand, compile_unnest
from stampede.insights.commands.order import compile_dedup, compile_limit, compile_sort
from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.commands.rows import (
    compile_display,
    compile_fields,
    compile_filter,
    compile_parse,
)
from stampede.insights.commands.stats import compile_stats
from stampede.insights.language import syntax
from stampede.insights.language.parsing import parse
from stampede.insights.language.syntax import Command, refusal

_STAGES = {
    syntax.Fields: compile_fields,
    syntax.Display: compile_display,
    syntax.Filter: compile_filter,
    syntax.Parse: compile_parse,
    syntax.Stats: compile_stats,
    syntax.Sort: compile_sort,
    syntax.Dedup: compile_dedup,
    syntax.Unnest: compile_unnest,
    syntax.Expand: compile_expand,
    syntax.Json: compile_json,
}


def compile_query(commands: list[Command], now_s: float) -> Pipeline:
    """The compiled query; `now_s` is the value of now(), in seconds since 1970.

    Raises QueryError for anything that can't be evaluated exactly.
    """
    pipeline = Pipeline(now_s)
    for place, command in enumerate(commands):
        later = commands[place + 1 :]
        _check_order(commands[:place], command, later)
        pipeline.at(command.span)
        if isinstance(command, syntax.Limit):
            _limit(command, later, pipeline)
        else:
            _STAGES[type(command)](command, pipeline)
    return pipeline


def _limit(command: syntax.Limit, later: list[Command], pipeline: Pipeline) -> None:
    on_rows = [follower for follower in later if _works_on_rows(follower)]
    if on_rows:
        pipeline.note(NOTE)
    # If only sorts follow, it matters as little as at the end which of several equal rows are kept.
    sorts_only = all(isinstance(follower, syntax.Sort) for follower in on_rows)
    is_last = not on_rows or (bool(pipeline.determined) and sorts_only)
    (compile_limit if is_last else compile_cut)(command, pipeline)


def _works_on_rows(command: Command) -> bool:
    """Whether the command's result depends on which rows it gets."""
    return isinstance(
        command, syntax.Filter | syntax.Stats | syntax.Dedup | syntax.Sort
    ) or _makes_rows(command)


def _makes_rows(command: Command) -> bool:
    """Whether the command may turn one row into several."""
    return isinstance(command, syntax.Unnest | syntax.Expand) or (
        isinstance(command, syntax.Parse) and command.multi
    )


def _check_order(earlier: list[Command], command: Command, later: list[Command]) -> None:
    """Refuses orders that the service rejects or doesn't document."""
    name = type(command).__name__.lower()
    after_dedup = any(isinstance(previous, syntax.Dedup) for previous in earlier)
    if after_dedup and not isinstance(command, syntax.Limit):
        raise refusal(command.span, f"only limit may follow dedup; move {name} before it")
    before, after = _count_stats(earlier), _count_stats(later)
    if isinstance(command, syntax.Sort | syntax.Limit) and after and before + after > 1:
        raise refusal(
            command.span,
            f"in a query with several stats commands, {name} must come after the last one",
        )
    if isinstance(command, syntax.Unnest | syntax.Expand):
        _check_list(earlier, command)


def _count_stats(commands: list[Command]) -> int:
    return sum(isinstance(command, syntax.Stats) for command in commands)


def _check_list(earlier: list[Command], command: syntax.Unnest | syntax.Expand) -> None:
    """Refuses the result of split: the reference allows JSON lists and doesn't mention others."""
    for previous in earlier:
        for item in previous.items if isinstance(previous, syntax.Fields | syntax.Display) else ():
            made = item.expression
            is_split = isinstance(made, syntax.Call) and made.function == "split"
            if item.alias is not None and item.alias.text == command.field.text and is_split:
                name = type(command).__name__.lower()
                message = (
                    f"{name} takes a JSON list, not the result of split; use `parse x "
                    "/(?<part>[^,]+)/ multi`"
                )
                raise refusal(command.field.span, message)


def always_a_row(text: str) -> bool:
    """Whether the query returns a row even if no line matches, as `stats` without `by` does.
    Raises QueryError."""
    return any(isinstance(command, syntax.Stats) and not command.keys for command in parse(text))


def row_limit(text: str) -> int | None:
    """The maximum number of rows according to the query's last limit; None without one.
    Raises QueryError."""
    most = None
    for command in parse(text):
        if isinstance(command, syntax.Limit):
            most = command.count
        elif _makes_rows(command):
            most = None
    return most
