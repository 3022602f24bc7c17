"""Periods: every unit by each of its names, the caps of the service, and what has no documented beginning."""

from datetime import UTC, datetime, timedelta

import pytest

from stampede.insights import QueryError, evaluate
from tests.unit.insights.download_log import event

MOMENT = datetime(2025, 8, 21, 17, 43, 52, 987_000, tzinfo=UTC)
MS = round(MOMENT.timestamp() * 1000)
# CWL_QuerySyntax-Stats: every unit with its abbreviations; those of more than one letter may be plural.
UNITS = {
    "2025-08-21 17:43:52.987": "ms msec millisecond msecs milliseconds",
    "2025-08-21 17:43:52.000": "s sec second secs seconds",
    "2025-08-21 17:43:00.000": "m min minute mins minutes",
    "2025-08-21 17:00:00.000": "h hr hour hrs hours",
    "2025-08-21 00:00:00.000": "d day days",
    "2025-08-01 00:00:00.000": "mo mon month mons months",
    "2025-07-01 00:00:00.000": "q qtr quarter qtrs quarters",
    "2025-01-01 00:00:00.000": "y yr year yrs years",
}
CAPS = [("1000ms", "5000ms"), ("60s", "61s"), ("60m", "90m"), ("24h", "25h")]


def only(expression, ms=MS):
    [row] = evaluate(f"fields {expression} as t", [event("x", ms)]).rows
    return row["t"]


def all_of(expressions, ms=MS):
    """The values of several expressions at one moment; to evaluate them together takes little more than one."""
    named = ", ".join(f"{expression} as t{number}" for number, expression in enumerate(expressions))
    [row] = evaluate(f"fields {named}", [event("x", ms)]).rows
    return [row[f"t{number}"] for number in range(len(expressions))]


@pytest.mark.parametrize("start", UNITS)
def test_every_unit_floors_by_each_of_its_names(start):
    names = UNITS[start].split()
    assert all_of([f"bin(1{name})" for name in names]) == [start] * len(names)
    assert all_of([f"datefloor(@timestamp, 1{name})" for name in names]) == [start] * len(names)


@pytest.mark.parametrize("start", UNITS)
def test_every_unit_ceils_to_the_next_start_and_leaves_a_start_alone(start):
    names = UNITS[start].split()
    floors = [f"toMillis(datefloor(@timestamp, 1{name}))" for name in names]
    ceils = [f"toMillis(dateceil(@timestamp, 1{name}))" for name in names]
    [floor], [ceiling] = set(all_of(floors)), set(all_of(ceils))
    assert floor <= MS <= ceiling
    assert set(all_of(ceils, floor)) == {floor}
    assert set(all_of(floors, ceiling)) == {ceiling}


@pytest.mark.parametrize(("most", "beyond"), CAPS)
def test_a_period_beyond_the_cap_of_its_unit_is_the_cap_and_is_noted(most, beyond):
    capped = evaluate(f"fields bin({beyond}) as t", [event("x", MS)])
    exact = evaluate(f"fields bin({most}) as t", [event("x", MS)])
    assert capped.rows == exact.rows
    assert exact.notes == ()
    [note] = capped.notes
    assert f"the service treats {beyond} as {most}" in note and note.startswith("line 1, column 12: ")


def test_the_caps_hold_in_datefloor_and_dateceil_too():
    result = evaluate("fields datefloor(@timestamp, 300s) as f, dateceil(@timestamp, 300s) as c", [event("x", MS)])
    assert result.rows == [{"f": "2025-08-21 17:43:00.000", "c": "2025-08-21 17:44:00.000"}]
    assert len(result.notes) == 2


@pytest.mark.parametrize(
    ("period", "starts"),
    [
        ("25m", "17:25:00 17:50:00 18:00:00"),
        ("25s", "17:43:50 17:44:00 17:44:25"),
        ("7h", "14:00:00 21:00:00 00:00:00"),
    ],
)
def test_a_period_that_does_not_divide_the_next_unit_begins_again_with_it(period, starts):
    ms = MS
    for start in starts.split():
        assert only(f"bin({period})", ms)[11:19] == start
        end = only(f"toMillis(dateceil(@timestamp, {period}))", ms + 1)
        assert only(f"dateceil(@timestamp, {period})", end) == only(f"bin({period})", end)
        ms = end


def test_several_days_floor_to_their_multiples_since_1970():
    days = (MOMENT - datetime(1970, 1, 1, tzinfo=UTC)).days
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days // 7 * 7)
    assert only("bin(7d)") == f"{start:%Y-%m-%d} 00:00:00.000"


@pytest.mark.parametrize("period", ["1w", "2weeks", "2mo", "3qtrs", "10y"])
def test_periods_whose_beginning_is_not_documented_are_refused(period):
    with pytest.raises(QueryError, match="isn't documented"):
        only(f"bin({period})")


def test_times_before_1970_floor_downwards():
    assert only("bin(1h)", -1) == "1969-12-31 23:00:00.000"
    assert only("bin(1mo)", -1) == "1969-12-01 00:00:00.000"
