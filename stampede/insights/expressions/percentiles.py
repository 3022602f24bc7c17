"""pct, percentile and median, as in the service's recorded answers:
docs/insights.md, "Percentiles".

* With fewer than 100 distinct values in a group: the value of rank max(1, ceil(percent / 100 * n)),
  never interpolated.
* From 100 on, a logarithmic histogram: the lower edge of that value's bin, 1.001^floor(log(value) /
  log(1.001)). The percentages 0 and 100 remain the exact minimum and maximum.
* 0 if a group has no value.

No recorded histogram has zeros or negative numbers: here 0 has its own bin, and the bins of
negative numbers mirror those of positive ones, so that an edge is never further from 0 than
the value.
"""

from decimal import Decimal

from stampede.insights.language.syntax import Call, Number, refusal

# the service doubles the bin width where necessary; recorded: up to 1.016
BASE = "1.001"
BINNED_FROM = 100  # distinct values
NOTE = (
    "from 100 distinct values on, pct and median return the lower edge of a bin 0.1 % wide; the "
    "service may use wider bins and return up to 3.1 % less than the value (docs/insights.md, "
    "Percentiles)"
)
_NEEDS_COUNT = "the distinct values have to be counted"

# Two versions of one macro: whether `d` has 100 distinct values. Counting them takes three times as
# long as finding the percentiles, so the first version sets some of 126 bits by the values' hashes:
# 100 bits mean at least 100 values. A group with fewer bits but 100 values or more fails the
# statement, which then runs again with the other version.
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
    """Whether DuckDB's message says that the statement must run again with BY_COUNT."""
    return _NEEDS_COUNT in reason


def share(call: Call) -> str:
    """The quantile, from 0 to 1, for `median(x)` or `pct(x, percent)`, in exact digits: 0.999 and
    not the double 99.9 / 100, which is larger and would take the next rank of 1,000 values."""
    if call.function == "median":
        return "0.5"
    percent = call.arguments[1]
    if not isinstance(percent, Number) or not 0 <= percent.value <= 100:
        message = f"{call.function} takes a percentage from 0 to 100"
        raise refusal(percent.span, message)
    return f"{Decimal(repr(percent.value)).scaleb(-2).normalize():f}"


def aggregates(numbers: str, shares: list[str], column: str, many: str) -> str:
    """The items of a SELECT that aggregate a column of `numbers`: the values at all `shares`, and
    whether there are enough of them for a histogram."""
    return (
        f"quantile_disc({numbers}, [{', '.join(shares)}]) AS {column}, insights_many({numbers}) AS "
        f"{many}"
    )


def result(column: str, place: int, many: str, share: str) -> str:
    """SQL of one percentile over the columns of `aggregates`; `place` counts the shares from 1."""
    value = f"{column}[{place}]"
    if share in ("0", "1"):
        return f"coalesce({value}, 0)"
    return f"coalesce(CASE WHEN {many} THEN insights_bin({value}) ELSE {value} END, 0)"
