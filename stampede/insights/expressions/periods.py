"""Periods such as `5m` in bin, datefloor and dateceil.

Units: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Stats.html. A period
of fixed length floors to its multiples within the next larger unit, so that 25m starts again with
each hour: recorded for minutes (tests/data/aws_answers), assumed for ms, s and h. Days floor to
their multiples since 1970-01-01T00:00Z. A month, quarter or year floors to the calendar (UTC), only
one at a time: where several would begin isn't documented, nor is the first day of a week.
"""

from dataclasses import replace

from stampede.insights.language.syntax import Period, refusal

_FIXED_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_WITHIN_MS = {"ms": 1_000, "s": 60_000, "m": 3_600_000, "h": 86_400_000}
_NAMES = {
    "ms": ("ms", "msec", "millisecond"),
    "s": ("s", "sec", "second"),
    "m": ("m", "min", "minute"),
    "h": ("h", "hr", "hour"),
    "d": ("d", "day"),
    "week": ("w", "week"),
    "month": ("mo", "mon", "month"),
    "quarter": ("q", "qtr", "quarter"),
    "year": ("y", "yr", "year"),
}
_UNIT = {name: unit for unit, names in _NAMES.items() for name in names}
# "For all units and abbreviations that include more than one character, adding s to pluralize
# is supported."
_UNIT |= {f"{name}s": unit for unit, names in _NAMES.items() for name in names if len(name) > 1}


# "CloudWatch Logs caps your request according to the time unit that you choose"; "Datetime
# functions" of the guide.
_MOST = {"ms": 1000, "s": 60, "m": 60, "h": 24}


def capped(period: Period) -> tuple[Period, str | None]:
    """The period as the service interprets it, and a note if that differs: 300s means 60s there."""
    unit = _unit(period)
    most = _MOST.get(unit, period.count)
    if period.count <= most:
        return period, None
    note = (
        f"line {period.span.line}, column {period.span.column}: the service treats "
        f"{period.count}{period.unit} as {most}{period.unit}, and so does this evaluator; use a "
        "larger unit, as in bin(5m)"
    )
    return replace(period, count=most), note


def misplaced(period: Period) -> str:
    """What is wrong with a period, or something like one, outside the functions that take it."""
    written = f"{period.count}{period.unit}"
    unit = _UNIT.get(period.unit)
    if unit is None:
        return (
            f"{written} is neither a number nor a name; a name that begins with a digit needs "
            "backticks"
        )
    message = "a period is allowed only in bin, datefloor and dateceil"
    if unit not in _FIXED_MS:
        return message
    return f"{message}; as a number of milliseconds {written} is {period.count * _FIXED_MS[unit]}"


def floor(ms_sql: str, period: Period) -> str:
    """SQL of the start (ms) of the period that contains `ms_sql`."""
    unit = _unit(period)
    if unit in _FIXED_MS:
        return f"({ms_sql} - {_elapsed_ms(ms_sql, period)})"
    return f"epoch_ms(date_trunc('{unit}', make_timestamp(({ms_sql}) * 1000)))"


def ceiling(ms_sql: str, period: Period) -> str:
    """SQL of the first start of a period at or after `ms_sql`."""
    unit = _unit(period)
    start = floor(ms_sql, period)
    if unit in _FIXED_MS:
        length_ms, within_ms = period.count * _FIXED_MS[unit], _WITHIN_MS.get(unit)
        following = f"{start} + {length_ms}"
        if within_ms and within_ms % length_ms:
            following = f"least({following}, {ms_sql} - {_since(ms_sql, within_ms)} + {within_ms})"
        return f"CASE WHEN {start} = {ms_sql} THEN {ms_sql} ELSE {following} END"
    following = (
        f"epoch_ms(date_trunc('{unit}', make_timestamp(({ms_sql}) * 1000)) + INTERVAL 1 {unit})"
    )
    return f"CASE WHEN {start} = {ms_sql} THEN {ms_sql} ELSE {following} END"


def _elapsed_ms(ms_sql: str, period: Period) -> str:
    """SQL of the time since the start of the fixed-length period that contains `ms_sql`."""
    unit = _unit(period)
    length_ms, within_ms = period.count * _FIXED_MS[unit], _WITHIN_MS.get(unit)
    if within_ms and within_ms % length_ms:
        return f"({_since(ms_sql, within_ms)} % {length_ms})"
    return _since(ms_sql, length_ms)


def _since(ms_sql: str, length_ms: int) -> str:
    """SQL of the time since the last multiple of `length_ms`, also before 1970."""
    return f"((({ms_sql}) % {length_ms} + {length_ms}) % {length_ms})"


def _unit(period: Period) -> str:
    span, unit = period.span, _UNIT.get(period.unit)
    if unit is None:
        hint = "units are ms, s, m, h, d, mo, q and y"
        if period.unit.lower() in _UNIT:
            hint = "write units in lower case"
        raise refusal(span, f"unknown period unit {period.unit!r}; {hint}")
    if period.count < 1:
        raise refusal(span, "a period must be at least 1")
    if unit in _FIXED_MS:
        if period.count * _FIXED_MS[unit] > 1000 * 366 * _FIXED_MS["d"]:
            raise refusal(span, "a period must be at most a thousand years")
        return unit
    if unit == "week":
        raise refusal(span, "where a week begins isn't documented; use days, as in 7d")
    if period.count != 1:
        message = f"only one {unit} at a time is supported; where several begin isn't documented"
        raise refusal(span, message)
    return unit
