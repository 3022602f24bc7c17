"""The aggregate functions of `stats`, as a table of SQL builders.

All ignore events in which the field is missing; the numeric ones also ignore values that don't
look like numbers. Source: "Functions to use with stats" of the CloudWatch Logs user guide. Where
it says nothing:

* `percentiles` describes pct and median. AWS's own Lambda Operator Guide writes pct
  as `percentile`.
* variance is that of the population (divided by n), and stddev, for the reference only "the
  standard deviation of the values in the specified field", its square root: both are 0 for one
  value and missing for none.
* count_distinct is exact, by text.
* min and max compare numbers if a group has any (`5e1` is one, as in every numeric place), else
  texts in the order of sort. They return the value as logged: "012345" keeps its zero, but "1.10"
  is 1.1, as recorded.
* earliest and latest go by @timestamp; of equal times the value that sorts first, or last, wins.
"""

from collections.abc import Callable
from dataclasses import dataclass

from stampede.insights.expressions.exact import exact
from stampede.insights.language.syntax import Call, refusal
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
    """`build` gets the call, its arguments (columns or literals), and the SQL of the event time
    (None after a stats dropped it).

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
        message = (
            "count(condition) counts a row whether the condition is true or not; use "
            "sum(condition) to count the rows where it is true"
        )
        raise refusal(call.span, message)
    return Value(f"count({args[0].sql if args else '*'})", Kind.INTEGER)


def _count_distinct(call: Call, args: list[Value], time: str | None) -> Value:
    return Value(f"count(DISTINCT {as_text(args[0])})", Kind.INTEGER)


def _sum(call: Call, args: list[Value], time: str | None) -> Value:
    """A sum of whole numbers is whole, with all digits that 64 bits can hold."""
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
        same = f"CASE WHEN CAST({whole} AS DOUBLE) = {sql} THEN {whole} END"
        return Value(sql, value.kind, exact=Exact(same, f"abs({sql})"))

    return build


@dataclass(frozen=True)
class LoggedExtreme:
    """The min or max (`function`) of a column of logged values, as logged; see `commands.stats` for
    its columns.

    JSON numbers that doubles hold exactly are compared as doubles, in the column `number`. Only
    texts and larger integers have a `rank` and take part in the slower choice: numbers before
    others, then by rank.
    """

    function: str
    of: Value

    def rank(self) -> str:
        """SQL of a rank for each row: the number, then the order of sort."""
        number = as_number(self.of)
        special = f" AND (insights_quoted({self.of.sql}) OR abs({number}) >= {EXACT_BELOW})"
        if self.of.kind is Kind.TEXT:
            special = ""
        rank = f"(coalesce({number}, 0), {', '.join(order_keys(self.of))})"
        return (
            f"CASE WHEN {self.of.sql} IS NOT NULL AND ({number} IS NULL OR TRUE{special}) THEN "
            f"{rank} END"
        )

    def number(self) -> str:
        """SQL of the aggregate of the numbers."""
        return f"{self.function}({as_number(self.of)})"

    def chosen(self, rank: str) -> str:
        """SQL of the aggregate that chooses by the column `rank`: the chosen number and value."""
        number = as_number(self.of)
        first = f"{number} IS {'NULL' if self.function == 'min' else 'NOT NULL'}"
        pair = f"{{'n': {number}, 'v': {as_dynamic(self.of)}}}"
        return f"arg_{self.function}({pair}, ({first}, {rank})) FILTER ({rank} IS NOT NULL)"

    def value(self, number: str, chosen: str) -> Value:
        """The result, from the columns of both aggregates."""
        return Value(
            f"CASE WHEN {number} IS NULL THEN {chosen}.v WHEN {chosen}.n = {number} THEN "
            f"insights_plain({chosen}.v) ELSE insights_number_text({number}) END",
            Kind.DYNAMIC,
        )


def _by_time(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    def build(call: Call, args: list[Value], time: str | None) -> Value:
        if time is None:
            message = f"{call.function} needs @timestamp, which the earlier stats dropped"
            raise refusal(call.span, message)
        order = f"({time}, {', '.join(order_keys(args[0]))})"
        return _chosen(function, args[0], order)

    return build


def _by_sort_order(function: str) -> Callable[[Call, list[Value], str | None], Value]:
    """sortsFirst, sortsLast: strings before numbers, as in `sort`."""

    def build(call: Call, args: list[Value], time: str | None) -> Value:
        return _chosen(function, args[0], f"({', '.join(order_keys(args[0]))})")

    return build


def _chosen(function: str, value: Value, order: str) -> Value:
    sql, kind = (as_dynamic(value), Kind.DYNAMIC) if value.big else (value.sql, value.kind)
    return Value(f"{function}({sql}, {order}) FILTER ({value.sql} IS NOT NULL)", kind)


# Compiled in `commands.stats`, all of one field together: name -> number of arguments.
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
