"""Periods, and dates as text, compared with Python's datetime and strftime."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import QueryError, check, evaluate
from stampede.insights.expressions.functions.dates import DateFormatError, parse_date, parse_pattern
from tests.unit.insights.download_log import event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DIRECTIVES = "%Y %m %d %H %M %S %y %j %I %p %a %A %b %B %u %w %% %F %T %R %D %z"
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
LOCAL = st.datetimes(datetime(1100, 1, 2), datetime(5000, 1, 1), timezones=OFFSETS)
# 17:43:52.987, and the start of the period that contains it; CWL_QuerySyntax-Stats has the
# units' names.
MS = 1_755_798_232_987
PERIODS = {
    "2025-08-21 17:43:52.987": "1ms 1msec 1millisecond 1msecs 1milliseconds",
    "2025-08-21 17:43:52.000": "1s 1sec 1second 1secs 1seconds 1000ms",
    "2025-08-21 17:43:50.000": "25s 10s",
    "2025-08-21 17:43:00.000": "1m 1min 1minute 1mins 1minutes",
    "2025-08-21 17:25:00.000": "25m",
    "2025-08-21 17:00:00.000": "1h 1hr 1hour 1hrs 1hours",
    "2025-08-21 14:00:00.000": "7h",
    "2025-08-21 00:00:00.000": "1d 1day 1days 7d",
    "2025-08-01 00:00:00.000": "1mo 1mon 1month 1mons 1months",
    "2025-07-01 00:00:00.000": "1q 1qtr 1quarter 1qtrs 1quarters",
    "2025-01-01 00:00:00.000": "1y 1yr 1year 1yrs 1years",
}


def milliseconds(moment):
    return (moment - EPOCH) // timedelta(milliseconds=1)


def computed(expressions, ms=MS):
    """The values of several expressions at one moment; to evaluate them together takes little more
    than one."""
    named = ", ".join(f"{expression} as t{number}" for number, expression in enumerate(expressions))
    [row] = evaluate(f"fields {named}", [event("x", ms)]).rows
    return list(row.values())


@pytest.mark.parametrize("start", PERIODS)
def test_a_period_in_any_unit_begins_where_the_previous_one_ends(start):
    periods = PERIODS[start].split()
    bins, floors, ceils = (
        [form.format(period) for period in periods]
        for form in ("bin({})", "datefloor(@timestamp, {})", "toMillis(dateceil(@timestamp, {}))")
    )
    ends = computed(ceils)
    assert set(computed(bins + floors) + computed(bins, max(MS, min(ends) - 1))) == {start}
    for floor, ceil, end in zip(floors, ceils, ends, strict=True):
        assert computed([f"toMillis({floor})", ceil], end) == [end, end]
        assert end == MS or computed([ceil], end - 1) == [end]


def test_a_period_that_does_not_divide_the_next_unit_ends_with_it():
    ends = ("17:50:00", "18:00:00", "18:25:00")
    at = MS
    for end in ends:
        [time, at] = computed(
            ["dateceil(@timestamp, 25m)", "toMillis(dateceil(@timestamp, 25m))"], at + 1
        )
        assert time[11:19] == end
    assert computed(["bin(1h)", "bin(1mo)", "bin(7d)"], -1) == [
        "1969-12-31 23:00:00.000",
        "1969-12-01 00:00:00.000",
        "1969-12-25 00:00:00.000",
    ]


@pytest.mark.parametrize(
    ("most", "beyond"), [("1000ms", "5000ms"), ("60s", "61s"), ("60m", "90m"), ("24h", "25h")]
)
def test_a_period_beyond_the_cap_of_its_unit_is_the_cap_and_is_noted(most, beyond):
    for form in ("bin({})", "datefloor(@timestamp, {})", "dateceil(@timestamp, {})"):
        capped, exact = (
            evaluate(f"fields {form.format(x)} as t", [event("x", MS)]) for x in (beyond, most)
        )
        assert (capped.rows, exact.notes) == (exact.rows, ())
        [note] = capped.notes
        assert f"{beyond} as {most}" in note
        assert note.startswith(f"line 1, column {8 + form.index('{')}: ")


@given(st.lists(LOCAL, min_size=1, max_size=40))
def test_dates_are_formatted_and_parsed_as_in_python(moments):
    events = [event("x", milliseconds(moment)) for moment in moments]
    rows = evaluate(
        f'fields toMillis(@timestamp) as ms, formatDate(@timestamp, "{DIRECTIVES}") as d', events
    ).rows
    written = {row["ms"]: row["d"] for row in rows}
    for moment in moments:
        ms, day = milliseconds(moment), datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        assert written[ms] == moment.astimezone(UTC).strftime(DIRECTIVES)
        for text, java, parsed in (
            (moment.isoformat(timespec="milliseconds"), "yyyy-MM-dd'T'HH:mm:ss.SSSxxx", ms),
            (moment.strftime("%Y%m%d%H%M%S%z"), "yyyyMMddHHmmssXX", ms // 1000 * 1000),
            (moment.strftime("%d/%m/%Y"), "dd/MM/uuuu", milliseconds(day)),
        ):
            assert parse_date(text, java) == parsed


@given(
    st.text("yMdHmsSXxZauE'-/:. T[]{}#", max_size=24), st.text("0123456789-:/T.Z+ ", max_size=24)
)
def test_any_java_format_and_any_text_give_a_time_nothing_or_a_refusal(java, text):
    try:
        parse_pattern(java)
    except DateFormatError:
        with pytest.raises(QueryError):
            check(f'fields parseDate(a, "{java}")')
        return
    moment_ms = parse_date(text, java)
    assert moment_ms is None or isinstance(moment_ms, int)
