"""Limits: how many rows a query may return by its own, and what the user reads of one in the middle."""

import pytest

from stampede.insights import evaluate, row_limit


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("fields a", None),
        ("fields a | limit 5", 5),
        ("limit 50 | filter a = 1 | limit 7", 7),
        ("limit 5 | stats count(*) by a", 5),
        ("limit 5 | fields jsonParse(@message) as m | unnest m.a into b", None),
        ("limit 5 | expand a | limit 9", 9),
        ("limit 5 | parse /(?<d>[0-9]+)/ multi", None),
        ("limit 5 | parse /(?<d>[0-9]+)/", 5),
    ],
)
def test_the_last_limit_bounds_the_rows_unless_a_command_behind_it_makes_several_of_one(query, most):
    assert row_limit(query) == most


@pytest.mark.parametrize("behind", ["filter a = 1", "stats count(*)", "dedup a", "sort a", "parse /(?<d>a)/ multi"])
def test_a_limit_before_commands_that_work_on_rows_is_noted(behind):
    [note] = evaluate(f"limit 2 | limit 1 | {behind}", []).notes
    assert "applied where it stands" in note


@pytest.mark.parametrize("query", ["filter a = 1 | sort a | limit 2", "limit 2 | parse /(?<d>a)/ | display d"])
def test_a_limit_that_means_the_same_at_the_end_is_not_noted(query):
    assert evaluate(query, []).notes == ()
