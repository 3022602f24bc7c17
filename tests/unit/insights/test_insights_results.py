"""The result: typed rows, the service's strings, the default limit."""

import time

import pytest

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event, report


def test_numbers_are_typed_and_the_rest_is_text():
    message = {"i": 5, "f": 2.5, "s": "5", "b": True, "n": None, "o": {"x": 1}, "e": ""}
    (row,) = evaluate("fields i, f, s, b, n, o, e, o.x, i / 2 as half, i = 5 as five", [event(message)]).rows
    assert row == {"i": 5, "f": 2.5, "s": "5", "b": 1, "e": "", "o.x": 1, "half": 2.5, "five": 1}
    assert isinstance(row["i"], int) and isinstance(row["s"], str) and row["b"] is not True


def test_absent_fields_are_left_out_of_the_row_but_stay_columns():
    result = evaluate("fields a, b", [event({"a": 1})])
    assert (result.columns, result.rows) == (["a", "b"], [{"a": 1}])


def test_timestamps_are_printed_with_milliseconds():
    rows = evaluate(
        "fields @timestamp, fromMillis(1) as t, toMillis(@timestamp) as ms", [event("x", FIRST_MS + 7)]
    ).rows
    assert rows == [{"@timestamp": "2025-01-12 16:40:00.007", "t": "1970-01-01 00:00:00.001", "ms": FIRST_MS + 7}]


def test_strings_are_those_of_the_service():
    events = [event(report("r", 12.5, 128, 64)), event({"bytes": 1073741824, "tiny": 0.00012, "s": "x"})]
    result = evaluate("fields @memorySize, @duration, bytes, bytes * 10 as ten, tiny * 1 as t, s, 0 * 1 as z", events)
    assert result.as_strings() == [
        {"@memorySize": "128000000", "@duration": "12.5", "z": "0"},
        {"bytes": "1073741824", "ten": "10737418240", "t": "0.00012", "s": "x", "z": "0"},
    ]


PRINTED = {
    "642.93421": "642.9342",
    "39.493": "39.493",
    "1.0": "1",
    "127019801.9802": "127019801.9802",
    "93.46005": "93.4601",
    "0.69394": "0.6939",
    "0.000201453": "0.0002015",
    "3.334375e-09": "0.000000003334",
    "0.99996": "1",
    "-0.5": "-0.5",
    "1e+20": "100000000000000000000",
    "1000000000000000.5": "1000000000000000.5",
    "-12.00004": "-12",
}


def test_computed_numbers_are_printed_with_four_decimals_or_digits_and_logged_ones_as_logged():
    events = [event(f'{{"x": {number}}}', FIRST_MS + place) for place, number in enumerate(PRINTED)]
    result = evaluate("fields x, x * 1 as y | sort @timestamp asc", events)
    assert [row["y"] for row in result.as_strings()] == list(PRINTED.values())
    assert [row["y"] for row in result.rows] == [float(number) for number in PRINTED]
    logged = [row["x"] for row in result.as_strings()]
    assert (logged[0], logged[6], logged[7]) == ("642.93421", "0.000201453", "0.000000003334375")
    assert evaluate("stats min(x) as low, avg(x) as mean", events[5:6]).as_strings() == [
        {"low": "0.69394", "mean": "0.6939"}
    ]


def test_rows_of_events_end_with_a_pointer_as_the_service_has_them_and_rows_of_stats_do_not():
    events = [event({"a": n}, FIRST_MS + n) for n in (1, 2)]
    first, second = evaluate("fields a, none", events).as_service()
    assert first[0] == {"field": "a", "value": "2"}
    assert [pair["field"] for pair in second] == ["a", "@ptr"]
    assert first[-1] != second[-1]
    assert evaluate("stats count(*) as n by a | sort a asc | limit 1", events).as_service() == [
        [{"field": "a", "value": "1"}, {"field": "n", "value": "1"}]
    ]
    [[only]] = evaluate("display @ptr | limit 1", events).as_service()
    assert only["field"] == "@ptr"


def test_what_now_is_can_be_given_and_is_the_clock_otherwise():
    (row,) = evaluate("fields now() as n", [event("x")], now_s=1_736_700_000.9).rows
    assert row == {"n": 1_736_700_000}
    (row,) = evaluate("fields now() as n", [event("x")]).rows
    assert abs(row["n"] - time.time()) < 60


def test_without_a_limit_ten_thousand_rows_come_back_and_the_cut_is_noted():
    events = [event(f"line {n}", n) for n in range(10_001)]
    result = evaluate("fields @message", events)
    assert (len(result.rows), result.truncated) == (10_000, True)
    assert result.rows[0] == {"@message": "line 10000"}
    assert not evaluate("fields @message", events[:10_000]).truncated


def test_a_limit_may_exceed_the_default():
    events = [event(f"line {n}", n) for n in range(10_002)]
    result = evaluate("fields @message | limit 10001", events)
    assert (len(result.rows), result.truncated) == (10_001, False)


@pytest.mark.parametrize("condition", ["ok = 'true'", "'False' != ok", "ok in [1, 'true']", "ok like 'true'"])
def test_a_field_beside_true_in_quotes_gives_a_note_about_booleans(condition):
    (note,) = evaluate(f"filter {condition} or {condition}", [event({"ok": True})]).notes
    assert "in quotes matches only text: a JSON" in note
    assert evaluate(f"parse 'ok=*' as up | filter {condition.replace('ok', 'up')}", [event("x")]).notes == ()
