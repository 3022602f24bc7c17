"""The aggregate functions of `stats`, as a table of SQL builders.

All of them ignore events in which the field is missing; the numeric ones also ignore values that
don't look like numbers. Source: "Functions to use with stats" of the CloudWatch Logs user guide.
Where that says nothing:

* pct and median are described in `percentiles`. `percentile` is how AWS's own Lambda Operator Guide
writes pct.
* variance is the population's (divided by n), and stddev, of which the reference says no more than
"the standard
  deviation of the values in the specified field", is its root: both are 0 for one value and missing
  for none.
* count_distinct is exact, by text.
* min and max compare numbers when a group has any (`5e1` is one, as everywhere that a number is
read), else texts in
  the order of sort. They give the value that was logged: "012345" keeps its zero, but "1.10" is
  1.1, as recorded.
* earliest and latest go by @timestamp; among equal times the value that sorts first, or last, wins.
"""

from collections.abc import Callable
from dataclasses import dataclass

from stampede.insights.errors import QueryError
from stampede.insights.expressions.exact import exact
from stampede.insights.language.syntax import Call
from stampede.insights.values import (
    EXACT_BELOW,
    Exact,
    Kind,
    Value,
    as_dynamic,
    as_number,
    as_text,
    order_keys,
)


@dataclass(frozen=True)
class Aggregate:
    """`build` takes the call, its arguments (columns or literals), and the event time's SQL (None
    when it is gone).

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
        message = "count(condition) counts a row whether the condition is true or not"
        message = f"{message}; use sum(condition) to count the rows where it is true"
        raise QueryError(message, call.span.line, call.span.column)
    return Value(f"count({args[0].sql if args else '*'})", Kind.INTEGER)


def _count_distinct(call: Call, args: list[Value], time: str | None) -> Value:
    return Value(f"count(DISTINCT {as_text(args[0])})", Kind.INTEGER)


def _sum(call: Call, args: list[Value], time: str | None) -> Value:
    """Of nothing but whole numbers the sum is one, with all its digits as far as 64 bits
    hold it."""
    number, known = as_number(args[0]), exact(args[0])
    if known is None:
        return Value(f"sum({number})", Kind.NUMBER)
    small = f"CASE WHEN {number} = trunc({number}) THEN CAST({number} AS BIGINT) END"
    whole = (
        f"CASE WHEN {known.reach} < {EXACT_BELOW} THEN {small} ELSE TRY_CAST({known.whole} AS "
        "BIGINT) END"
    )
    total = f"CASE WHEN count({number}) = count({whole}) THEN sum({whole}) END"
    sql = f"coalesce(CAST({total} AS DOUBLE), sum({number}))"
    return Value(sql, Kind.NUMBER, exact=Exact(total, f"sum(abs({number}))"))


def _extreme(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    def build(call: Call, args: list[Value], time: str | None) -> Value:
        value = args[0]
        if value.kind is Kind.BOOLEAN:
            return Value(f"{function}(CAST({value.sql} AS BIGINT))", Kind.INTEGER)
        sql = f"{function}({value.sql})"
        if value.big is None:
            return Value(sql, value.kind)
        whole = f"{function}({value.exact.whole})"
        return Value(
            sql,
            value.kind,
            exact=Exact(
                f"CASE WHEN CAST({whole} AS DOUBLE) = {sql} THEN {whole} END", f"abs({sql})"
            ),
        )

    return build


@dataclass(frozen=True)
class LoggedExtreme:
    """The min or max (`function`) of a column of logged values, as it was logged; see
    `commands.stats` for its columns.

    JSON numbers that doubles hold go by their doubles alone, in the column `number`. Only texts and
    integers beyond have a `rank` and take part in the slower choice: numbers before others, then
    the rank.
    """

    function: str
    of: Value

    def rank(self) -> str:
        """SQL of a column of the rows: the number, then the order of sort."""
        number = as_number(self.of)
        text = self.of.kind is Kind.TEXT
        special = (
            ""
            if text
            else f" AND (insights_quoted({self.of.sql}) OR abs({number}) >= {EXACT_BELOW})"
        )
        rank = f"(coalesce({number}, 0), {', '.join(order_keys(self.of))})"
        return (
            f"CASE WHEN {self.of.sql} IS NOT NULL AND ({number} IS NULL OR TRUE{special}) THEN "
            f"{rank} END"
        )

    def number(self) -> str:
        """SQL of the aggregate of the numbers."""
        return f"{self.function}({as_number(self.of)})"

    def chosen(self, rank: str) -> str:
        """SQL of the aggregate that chooses by the column `rank`: the number of what it chooses,
        and the value."""
        number = as_number(self.of)
        first = f"{number} IS {'NULL' if self.function == 'min' else 'NOT NULL'}"
        pair = f"{{'n': {number}, 'v': {as_dynamic(self.of)}}}"
        return f"arg_{self.function}({pair}, ({first}, {rank})) FILTER ({rank} IS NOT NULL)"

    def value(self, number: str, chosen: str) -> Value:
        """The result over the columns of both aggregates."""
        return Value(
            f"CASE WHEN {number} IS NULL THEN {chosen}.v WHEN {chosen}.n = {number} THEN "
            f"insights_plain({chosen}.v) ELSE insights_number_text({number}) END",
            Kind.DYNAMIC,
        )


def _by_time(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    def build(call: Call, args: list[Value], time: str | None) -> Value:
        if time is None:
            raise QueryError(
                f"{call.function} needs @timestamp, which the earlier stats dropped",
                call.span.line,
                call.span.column,
            )
        order = f"({time}, {', '.join(order_keys(args[0]))})"
        return _chosen(function, args[0], order)

    return build


def _by_sort_order(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    """sortsFirst, sortsLast: strings before numbers, as `sort` has it."""

    def build(call: Call, args: list[Value], time: str | None) -> Value:
        return _chosen(function, args[0], f"({', '.join(order_keys(args[0]))})")

    return build


def _chosen(function: str, value: Value, order: str) -> Value:
    sql, kind = (as_dynamic(value), Kind.DYNAMIC) if value.big else (value.sql, value.kind)
    return Value(f"{function}({sql}, {order}) FILTER ({value.sql} IS NOT NULL)", kind)


# Compiled in `commands.stats`, all those of one field together: name -> number of arguments.
QUANTILES = {"median": 1, "pct": 2, "percentile": 2}

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
    "sum": Aggregate(1, 1, _sum, numeric=True),
    "variance": Aggregate(1, 1, _number("var_pop({})"), numeric=True),
}
