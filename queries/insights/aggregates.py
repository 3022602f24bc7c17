"""The aggregate functions of `stats`, as a table of SQL builders.

All of them ignore events in which the field is missing; the numeric ones also ignore values that don't look like
numbers. Source: "Functions to use with stats" of the CloudWatch Logs user guide. Where that says nothing:

* pct is exact: linear interpolation between the closest ranks (type 7, `quantile_cont`); so is median.
* variance is the population's (divided by n), and stddev, of which the reference says no more than "the standard
  deviation of the values in the specified field", is its root: both are 0 for one value and missing for none.
* count_distinct is exact, by text.
* min and max compare numbers when a group has any, else strings by Unicode order.
* earliest and latest go by @timestamp; among equal times the value that sorts first, or last, wins.
"""

from collections.abc import Callable
from dataclasses import dataclass

from queries.insights.errors import QueryError
from queries.insights.syntax import Call, Number
from queries.insights.values import NUMERIC, Kind, Value, as_dynamic, as_number, as_text, sort_text


@dataclass(frozen=True)
class Aggregate:
    """`build` takes the call, its arguments (columns or literals), and the event time's SQL (None when it is gone).

    `numeric` says that the arguments are read as numbers.
    """

    least: int
    most: int
    build: Callable[[Call, list[Value], str | None], Value]
    numeric: bool = False


def _number(template: str) -> Callable[[Call, list[Value], str | None], Value]:
    return lambda call, args, time: Value(template.format(as_number(args[0])), Kind.NUMBER)


def _count(call: Call, args: list[Value], time: str | None) -> Value:
    if args and args[0].kind is Kind.BOOLEAN:
        message = "count counts a condition whether it holds or not; sum(condition) counts the rows for which it holds"
        raise QueryError(message, call.span.line, call.span.column)
    return Value(f"count({args[0].sql if args else '*'})", Kind.INTEGER)


def _count_distinct(call: Call, args: list[Value], time: str | None) -> Value:
    return Value(f"count(DISTINCT {as_text(args[0])})", Kind.INTEGER)


def _extreme(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    def build(call: Call, args: list[Value], time: str | None) -> Value:
        value = args[0]
        if value.kind in NUMERIC:
            if value.kind is Kind.BOOLEAN:
                return Value(f"{function}(CAST({value.sql} AS BIGINT))", Kind.INTEGER)
            return Value(f"{function}({value.sql})", value.kind)
        number = as_number(value)
        numbers = f"insights_number_text({function}({number}))"
        texts = f"CAST(to_json({function}(CASE WHEN {number} IS NULL THEN {as_text(value)} END)) AS VARCHAR)"
        return Value(f"coalesce({numbers}, {texts})", Kind.DYNAMIC)

    return build


def fraction(call: Call) -> float:
    """The share of values, from 0 to 1, that `median(x)` or `pct(x, percent)` asks for."""
    if call.function == "median":
        return 0.5
    percent = call.arguments[1]
    if not isinstance(percent, Number) or not 0 <= percent.value <= 100:
        raise QueryError("pct takes a percentage from 0 to 100", percent.span.line, percent.span.column)
    return percent.value / 100


def _by_time(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    def build(call: Call, args: list[Value], time: str | None) -> Value:
        if time is None:
            raise QueryError(
                f"{call.function} needs @timestamp, which the earlier stats dropped",
                call.span.line,
                call.span.column,
            )
        value = args[0]
        order = f"({time}, {_sort_key(value)})"
        return Value(f"{function}({value.sql}, {order}) FILTER ({value.sql} IS NOT NULL)", value.kind)

    return build


def _by_sort_order(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    """sortsFirst, sortsLast: strings before numbers, as `sort` has it."""

    def build(call: Call, args: list[Value], time: str | None) -> Value:
        value, key = args[0], _sort_key(args[0])
        sql = value.sql if value.kind in NUMERIC | {Kind.TEXT} else as_dynamic(value)
        return Value(f"{function}({sql}, {key}) FILTER ({value.sql} IS NOT NULL)", value.kind)

    return build


def _sort_key(value: Value) -> str:
    """What `sort` goes by: text before numbers."""
    if value.kind in NUMERIC:
        return value.sql
    number = as_number(value)
    return f"({number} IS NOT NULL, coalesce({number}, 0), {sort_text(value)})"


# Compiled in `stage_stats`, all those of one field together: name -> number of arguments.
QUANTILES = {"median": 1, "pct": 2}

AGGREGATES: dict[str, Aggregate] = {
    "avg": Aggregate(1, 1, _number("avg({})"), numeric=True),
    "count": Aggregate(0, 1, _count),
    "count_distinct": Aggregate(1, 1, _count_distinct),
    "countdistinct": Aggregate(1, 1, _count_distinct),
    "earliest": Aggregate(1, 1, _by_time("arg_min")),
    "latest": Aggregate(1, 1, _by_time("arg_max")),
    "max": Aggregate(1, 1, _extreme("max"), numeric=True),
    "min": Aggregate(1, 1, _extreme("min"), numeric=True),
    "sortsfirst": Aggregate(1, 1, _by_sort_order("arg_min")),
    "sortslast": Aggregate(1, 1, _by_sort_order("arg_max")),
    "stddev": Aggregate(1, 1, _number("stddev_pop({})"), numeric=True),
    "sum": Aggregate(1, 1, _number("sum({})"), numeric=True),
    "variance": Aggregate(1, 1, _number("var_pop({})"), numeric=True),
}
