"""Dates as text against Python's own strftime and datetime, over random moments and any text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import QueryError, check, evaluate
from stampede.insights.expressions.functions.dates import DateFormatError, parse_date, parse_pattern, strftime_format
from tests.unit.insights.download_log import event

DIRECTIVES = "%Y %m %d %H %M %S %y %j %I %p %a %A %b %B %u %w %% %F %T %R %D %z"
MOMENTS = st.datetimes(datetime(1100, 1, 1), datetime(5000, 1, 1), timezones=st.just(UTC))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
LOCAL = st.datetimes(datetime(1100, 1, 2), datetime(5000, 1, 1), timezones=OFFSETS)


def milliseconds(moment):
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@given(st.lists(MOMENTS, min_size=1, max_size=40))
def test_every_directive_is_written_as_pythons_strftime_writes_it(moments):
    events = [event("x", milliseconds(moment)) for moment in moments]
    rows = evaluate(f'fields toMillis(@timestamp) as ms, formatDate(@timestamp, "{DIRECTIVES}") as d', events).rows
    written = {row["ms"]: row["d"] for row in rows}
    assert written == {milliseconds(moment): moment.strftime(DIRECTIVES) for moment in moments}


@given(LOCAL)
def test_a_written_date_is_read_back_to_the_millisecond(moment):
    text = moment.isoformat(timespec="milliseconds")
    assert parse_date(text, "yyyy-MM-dd'T'HH:mm:ss.SSSxxx") == milliseconds(moment)
    compact = moment.strftime("%Y%m%d%H%M%S%z")
    assert parse_date(compact, "yyyyMMddHHmmssXX") == milliseconds(moment) // 1000 * 1000
    assert parse_date(moment.strftime("%d/%m/%Y"), "dd/MM/uuuu") == milliseconds(
        datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    )


@given(st.text("yMdHmsSXxZauE'-/:. T[]{}#", max_size=24), st.text("0123456789-:/T.Z+ ", max_size=24))
def test_any_format_and_any_text_give_a_number_nothing_or_a_documented_error(java, text):
    try:
        parse_pattern(java)
    except DateFormatError as error:
        assert "\n" not in str(error)
        with pytest.raises(QueryError):
            check(f'fields parseDate(a, "{java}")')
        return
    moment_ms = parse_date(text, java)
    assert moment_ms is None or isinstance(moment_ms, int)


@given(st.text("%YmdHMSqQzZ {}\\\n'", max_size=16))
def test_any_strftime_format_is_evaluated_or_refused(written):
    try:
        strftime_format(written)
    except DateFormatError:
        return
    quoted = written.replace("\\", "\\\\").replace("'", "\\'")
    moment = datetime(2025, 1, 12, 16, 40, tzinfo=UTC)
    if not quoted:
        return
    [row] = evaluate(f"fields formatDate(@timestamp, '{quoted}') as d", [event("x", milliseconds(moment))]).rows
    assert row["d"] == moment.strftime(written)
