"""pct, percentile and median, as recorded answers of the service have them: docs/insights.md,
"Percentiles".

* With fewer than 100 distinct values in a group: the value of rank max(1, ceil(percent / 100 * n)),
never interpolated.
* From 100 on a logarithmic histogram: that value's bin, by its lower edge 1.001^floor(log(value) /
log(1.001)). The
  percentages 0 and 100 stay the exact minimum and maximum.
* 0 where a group has no value.

Nothing recorded shows zeros and negative numbers in a histogram: here 0 has a bin of its own, and
the bins of negative numbers mirror those of positive ones, so that an edge is never further from 0
than the value.
"""

from decimal import Decimal

from stampede.insights.errors import QueryError
from stampede.insights.language.syntax import Call, Number

# the service doubles the width of the bins where it has to, up to 1.016 in what was recorded
BASE = "1.001"
BINNED_FROM = 100  # distinct values
NOTE = (
    "from 100 distinct values on, pct and median return the lower edge of a bin 0.1 % wide; the "
    "service may use wider bins and return up to 3.1 % less than the value (docs/insights.md, "
    "Percentiles)"
)
_NEEDS_COUNT = "the distinct values have to be counted"

# Two forms of one macro: whether `d` has 100 distinct values. To count them takes three times as
# long as to find the percentiles, so at first their hashes set some of 126 bits: where 100 are set,
# there are at least as many values. A group with fewer bits and 100 values or more makes the
# statement fail, and it runs again with the other form.
_MANY = "CREATE OR REPLACE TEMP MACRO insights_many(d) AS"
BY_HASHES = f"""{_MANY} CASE WHEN count(d) < {BINNED_FROM} THEN FALSE
  WHEN bit_count(bit_or(CAST(1 AS HUGEINT) << CAST(hash(d) % 126 AS INTEGER))
    FILTER (d IS NOT NULL)) >= {BINNED_FROM}
  THEN TRUE ELSE CAST(error('{_NEEDS_COUNT}') AS BOOLEAN) END"""
BY_COUNT = f"{_MANY} count(DISTINCT d) >= {BINNED_FROM}"
MACROS = f"""
CREATE TEMP MACRO insights_bin(d) AS CASE WHEN d = 0 THEN 0.0
  ELSE sign(d) * pow(CAST({BASE} AS DOUBLE), floor(ln(abs(d)) / ln(CAST({BASE} AS DOUBLE)))) END;
{BY_HASHES};
"""


def needs_count(reason: str) -> bool:
    """Whether a statement failed because it has to run again with BY_COUNT, by DuckDB's words."""
    return _NEEDS_COUNT in reason


def share(call: Call) -> str:
    """The share of values, from 0 to 1, that `median(x)` or `pct(x, percent)` asks for, in exact
    digits: 0.999 and not the double of 99.9 / 100, which is larger and has the next rank of
    1,000 values."""
    if call.function == "median":
        return "0.5"
    percent = call.arguments[1]
    if not isinstance(percent, Number) or not 0 <= percent.value <= 100:
        raise QueryError(
            f"{call.function} takes a percentage from 0 to 100",
            percent.span.line,
            percent.span.column,
        )
    return f"{Decimal(repr(percent.value)).scaleb(-2).normalize():f}"


def aggregates(numbers: str, shares: list[str], column: str, many: str) -> str:
    """The items of a SELECT that aggregate a column of `numbers`: the values at all `shares`, and
    whether they are many enough for a histogram."""
    return (
        f"quantile_disc({numbers}, [{', '.join(shares)}]) AS {column}, insights_many({numbers}) AS "
        f"{many}"
    )


def result(column: str, place: int, many: str, share: str) -> str:
    """SQL of one percentile over the columns of `aggregates`; `place` counts its shares from 1."""
    value = f"{column}[{place}]"
    answer = (
        value
        if share in ("0", "1")
        else f"CASE WHEN {many} THEN insights_bin({value}) ELSE {value} END"
    )
    return f"coalesce({answer}, 0)"
