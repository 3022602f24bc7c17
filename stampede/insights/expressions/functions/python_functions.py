"""Functions that SQL lacks, as Python functions in the database; registered only for queries that
need them.

Defined in `discovery` (insights_fragment, insights_first_fields), `addresses` (insights_is_ip,
insights_in_subnet, insights_ipv4_number), `dates` (insights_parse_date) and `line_formats`
(insights_logfmt, insights_csv); `text` explains insights_upper and insights_lower.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps

import duckdb

from stampede.insights.events.discovery import first_fields, first_fragment
from stampede.insights.expressions.functions.addresses import in_subnet, ipv4_number, is_ip
from stampede.insights.expressions.functions.dates import parse_date
from stampede.insights.expressions.functions.line_formats import csv_values, logfmt_map

_FUNCTIONS: dict[str, tuple[Callable, list[str], str]] = {
    "insights_fragment": (first_fragment, ["VARCHAR"], "VARCHAR"),
    "insights_first_fields": (first_fields, ["VARCHAR"], "VARCHAR"),
    "insights_is_ip": (is_ip, ["VARCHAR", "INTEGER"], "BOOLEAN"),
    "insights_in_subnet": (in_subnet, ["VARCHAR", "VARCHAR", "INTEGER"], "BOOLEAN"),
    "insights_ipv4_number": (ipv4_number, ["VARCHAR"], "BIGINT"),
    "insights_parse_date": (parse_date, ["VARCHAR", "VARCHAR"], "BIGINT"),
    "insights_logfmt": (logfmt_map, ["VARCHAR"], "VARCHAR"),
    "insights_upper": (str.upper, ["VARCHAR"], "VARCHAR"),
    "insights_lower": (str.lower, ["VARCHAR"], "VARCHAR"),
    "insights_csv": (csv_values, ["VARCHAR"], "VARCHAR[]"),
}


def register(names: Iterable[str], connection: duckdb.DuckDBPyConnection) -> None:
    """Registers the named functions in `connection`. They return NULL if an argument is NULL."""
    for name in sorted(names):
        function, arguments, returned = _FUNCTIONS[name]
        # an earlier query registered it already
        with suppress(duckdb.NotImplementedException):
            connection.create_function(
                name, _of_present(function), arguments, returned, null_handling="special"
            )


def _of_present(function: Callable) -> Callable:
    @wraps(function)  # DuckDB counts the parameters
    def guarded(*arguments):
        return None if None in arguments else function(*arguments)

    return guarded
