"""The result besides its rows: the service's form, the maximum number of rows, and the value
of now()."""

import time

import pytest

from stampede.insights import evaluate, row_limit
from tests.unit.insights.download_log import event, values


def test_event_rows_end_with_a_pointer_as_on_the_service_and_stats_rows_do_not():
    first, second = evaluate("fields x, none", values(1, 2)).as_service()
    assert first[0] == {"field": "x", "value": "2"}
    assert [pair["field"] for pair in second] == ["x", "@ptr"]
    assert first[-1] != second[-1]
    counts = evaluate("stats count(*) as n by x | sort x asc | limit 1", values(1, 2))
    assert counts.as_service() == [[{"field": "x", "value": "1"}, {"field": "n", "value": "1"}]]
    [[only]] = evaluate("display @ptr | limit 1", values(1)).as_service()
    assert only["field"] == "@ptr"


def test_now_is_the_clock_unless_given():
    [given], [now] = (
        evaluate("fields now() as n", values(1), now_s=now_s).rows
        for now_s in (1_736_700_000.9, None)
    )
    assert given == {"n": 1_736_700_000}
    assert abs(now["n"] - time.time()) < 60


def test_without_a_limit_the_result_is_truncated_to_ten_thousand_rows():
    events = [event(f"line {n}", n) for n in range(10_002)]
    result = evaluate("fields @message", events)
    assert (len(result.rows), result.truncated) == (10_000, True)
    assert result.rows[0] == {"@message": "line 10001"}
    assert not evaluate("fields @message", events[:10_000]).truncated
    longer = evaluate("fields @message | limit 10001", events)
    assert (len(longer.rows), longer.truncated) == (10_001, False)


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("fields a", None),
        ("limit 50 | filter a = 1 | limit 7", 7),
        ("limit 5 | fields jsonParse(@message) as m | unnest m.a into b", None),
        ("limit 5 | expand a | limit 9", 9),
        ("limit 5 | parse /(?<d>[0-9]+)/ multi", None),
        ("limit 5 | parse /(?<d>[0-9]+)/", 5),
    ],
)
def test_the_last_limit_bounds_the_rows_unless_a_later_command_multiplies_them(query, most):
    assert row_limit(query) == most


@pytest.mark.parametrize(
    "behind", ["filter a = 1", "stats count(*)", "dedup a", "sort a", "parse /(?<d>a)/ multi"]
)
def test_a_limit_before_commands_that_work_on_rows_is_noted(behind):
    [note] = evaluate(f"limit 2 | limit 1 | {behind}", []).notes
    assert "applied where it stands" in note
    assert evaluate("filter a = 1 | sort a | limit 2 | parse /(?<d>a)/ | display d", []).notes == ()
