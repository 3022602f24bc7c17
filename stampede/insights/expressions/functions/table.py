"""The scalar functions, as a table: name, number of arguments, and the SQL of a call.

Source: "Boolean, comparison, numeric, datetime, and other functions" of the CloudWatch Logs user
guide. Names ignore case. Functions not in the table are refused; `expressions` compiles `if`,
`case`, `now` and the functions that take a period. Undocumented, decided here: `round` rounds
halves away from zero; `toInt` and `toLong` truncate, and numbers out of their range are missing.
"""

from stampede.insights.expressions.exact import exact
from stampede.insights.expressions.functions.address import ADDRESS_FUNCTIONS
from stampede.insights.expressions.functions.date import DATE_FUNCTIONS
from stampede.insights.expressions.functions.function import Build, Function, numeric, unified
from stampede.insights.expressions.functions.json_values import JSON_FUNCTIONS
from stampede.insights.expressions.functions.text import TEXT_FUNCTIONS
from stampede.insights.language.syntax import Call, Number, refusal
from stampede.insights.values import Exact, Kind, Value, as_long, as_number, as_text


def _extreme(function: str) -> Build:
    """greatest, least: of the arguments that aren't missing, so that `greatest(@initDuration, 0)`
    is 0 on warm starts."""

    def build(args: list[Value]) -> Value:
        sql = f"{function}({', '.join(map(as_number, args))})"
        known = [number for number in map(exact, args) if number]
        if not known:
            return Value(sql, Kind.NUMBER)
        whole = f"{function}({', '.join(number.whole for number in known)})"
        reach = f"greatest({', '.join(number.reach for number in known)})"
        chosen = f"CASE WHEN CAST({whole} AS DOUBLE) = {sql} THEN {whole} END"
        return Value(sql, Kind.NUMBER, exact=Exact(chosen, reach))

    return build


def _is_present(args: list[Value]) -> Value:
    return Value(f"({args[0].sql} IS NOT NULL)", Kind.BOOLEAN)


def _is_numeric(args: list[Value]) -> Value:
    return Value(f"(({as_number(args[0])}) IS NOT NULL)", Kind.BOOLEAN)


def _message_size(args: list[Value]) -> Value:
    return Value(f"strlen({as_text(args[0])})", Kind.INTEGER)


def _coalesce(args: list[Value]) -> Value:
    texts, kind = unified(args)
    return Value(f"coalesce({', '.join(texts)})", kind)


def _round(args: list[Value]) -> Value:
    places = int(args[1].literal) if len(args) == 2 else 0
    return Value(f"round({as_number(args[0])}, {places})", Kind.NUMBER, exact=exact(args[0]))


def _check_round(call: Call) -> None:
    if len(call.arguments) == 2:
        places = call.arguments[1]
        if not isinstance(places, Number) or places.value not in range(16):
            message = "round takes a whole number of decimal places from 0 to 15"
            raise refusal(places.span, message)


def _whole(sql_type: str) -> Build:
    return lambda args: Value(
        f"CAST(TRY_CAST({as_long(args[0])} AS {sql_type}) AS BIGINT)", Kind.INTEGER
    )


def _from_millis(args: list[Value]) -> Value:
    """A timestamp; missing outside the supported range."""
    return Value(f"insights_time(floor({as_number(args[0])}))", Kind.TIMESTAMP)


def _to_millis(args: list[Value]) -> Value:
    return Value(as_long(args[0]), Kind.INTEGER)


FUNCTIONS: dict[str, Function] = {
    # numeric
    "abs": Function(1, 1, numeric("abs({})", "abs({})"), simple=False),
    "ceil": Function(1, 1, numeric("ceil({})", "{}"), simple=False),
    "floor": Function(1, 1, numeric("floor({})", "{}"), simple=False),
    "greatest": Function(1, None, _extreme("greatest")),
    "least": Function(1, None, _extreme("least")),
    "log": Function(1, 1, numeric("ln({})"), simple=False),
    "round": Function(1, 2, _round, check=_check_round),
    "sqrt": Function(1, 1, numeric("sqrt({})"), simple=False),
    "tonumber": Function(1, 1, numeric("{}", "{}")),
    "todouble": Function(1, 1, numeric("{}", "{}")),
    "toint": Function(1, 1, _whole("INTEGER")),
    "tolong": Function(1, 1, _whole("BIGINT")),
    # general
    "ispresent": Function(1, 1, _is_present, structures=True),
    "coalesce": Function(1, None, _coalesce),
    "isnumeric": Function(1, 1, _is_numeric),
    "messagesize": Function(1, 1, _message_size),
    # datetime
    "frommillis": Function(1, 1, _from_millis),
    "tomillis": Function(1, 1, _to_millis, time=True),
    **DATE_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **JSON_FUNCTIONS,
    **ADDRESS_FUNCTIONS,
}

_WINDOW = (
    "isn't supported: exported events have no query window; use the earliest and latest @timestamp"
)
_RANGES = (
    "isn't supported: which ranges it covers isn't documented; name them, as in isIpInSubnet(ip, "
    "'198.18.0.0/15')"
)
# Documented or often tried names that aren't supported, each with an alternative.
UNSUPPORTED = {
    "haversine": "haversine isn't supported: the Earth's radius that it takes isn't documented",
    "querystarttime": f"queryStartTime {_WINDOW}",
    "queryendtime": f"queryEndTime {_WINDOW}",
    "querytimerange": f"queryTimeRange {_WINDOW}",
    "ispublicip": f"isPublicIP {_RANGES}",
    "isreservedip": f"isReservedIP {_RANGES}",
    "rate": "rate isn't supported; divide a sum by the seconds of the bin",
    "count_over_time": "count_over_time isn't supported; write count(x) and `by bin(5m)`",
    "sum_over_time": "sum_over_time isn't supported; write sum(x) and `by bin(5m)`",
    "unmask": (
        "unmask isn't supported: only the service evaluates it; run this query in the CloudWatch "
        "console"
    ),
    "values": "values isn't supported; use count(*) by the field",
    "collect_values": "collect_values isn't supported; use count(*) by the field",
    "topk": (
        "topk isn't supported: which of equally frequent values it takes isn't documented; use "
        "count(*) as n by the field, sort n desc and limit"
    ),
    "count_frequent": "count_frequent isn't supported; use count(*) by the field, sort and limit",
    "countfrequent": "countFrequent isn't supported; use count(*) by the field, sort and limit",
    "histogram": "histogram isn't supported; group by floor(x / width)",
}
