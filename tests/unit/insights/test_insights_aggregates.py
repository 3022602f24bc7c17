"""Aggregates against values computed by hand or by NumPy over the same rows."""

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event, values
from tests.unit.insights.nearest_rank import percentile

FINITE = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False, width=32)
NUMBERS = [3.5, 1, 4, 1, 5.25, 9, 2, 6, 5, 3, 5.5]


def only(query, events):
    (row,) = evaluate(query, events).rows
    return row


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("count(*)", len(NUMBERS)),
        ("count()", len(NUMBERS)),
        ("count(x)", len(NUMBERS)),
        ("count_distinct(x)", 10),
        ("avg(x)", numpy.mean(NUMBERS)),
        ("min(x)", 1),
        ("max(x)", 9),
        ("sum(x)", numpy.sum(NUMBERS)),
        ("countDistinct(x)", 10),
        ("stddev(x)", numpy.std(NUMBERS)),
        ("variance(x)", numpy.var(NUMBERS)),
        ("sqrt(variance(x) * count(x) / (count(x) - 1))", numpy.std(NUMBERS, ddof=1)),
        ("median(x)", 4),
        ("pct(x, 0)", 1),
        ("pct(x, 25)", percentile(NUMBERS, 25)),
        ("pct(x, 75)", percentile(NUMBERS, 75)),
        ("pct(x, 99.9)", 9),
        ("pct(x, 100)", 9),
        ("earliest(x)", 3.5),
        ("latest(x)", 5.5),
        ("sortsFirst(x)", 1),
        ("sortsLast(x)", 9),
        ("max(x) - min(x)", 8),
        ("sum(x) / count(x)", numpy.mean(NUMBERS)),
        ("sum(x * 2 + 1)", numpy.sum(NUMBERS) * 2 + len(NUMBERS)),
        ("floor(avg(x) * 10) / 10", math.floor(numpy.mean(NUMBERS) * 10) / 10),
    ],
)
def test_an_aggregate_agrees_with_numpy(aggregate, expected):
    assert only(f"stats {aggregate} as y", values(*NUMBERS))["y"] == pytest.approx(expected, rel=1e-12)


def test_missing_and_non_numeric_values_are_ignored():
    row = only("stats count(*) as rows, count(x) as n, avg(x) as mean, sum(x) as total", values(1, None, "abc", "3", 5))
    assert row == {"rows": 5, "n": 4, "mean": 3, "total": 9}


def test_an_aggregate_over_nothing_is_left_out():
    row = only("stats count(y) as n, avg(y) as a, max(y) as m, stddev(y), variance(y), earliest(y) as e", values(1))
    assert row == {"n": 0}


def test_min_and_max_of_strings_go_by_unicode_order():
    assert only("stats min(x) as low, max(x) as high", values("b", "a", "C")) == {"low": "C", "high": "b"}


def test_earliest_and_latest_go_by_timestamp_and_not_by_order_of_arrival():
    events = [event({"x": ms}, FIRST_MS + ms) for ms in (5, 1, 9, 3)]
    assert only("stats earliest(x) as e, latest(x) as l", events) == {"e": 1, "l": 9}


def test_sorts_first_and_last_put_strings_before_numbers():
    assert only("stats sortsFirst(x) as f, sortsLast(x) as l", values(7, "a10", "a9", 12)) == {"f": "a9", "l": 12}


def test_groups_of_several_keys_come_in_the_order_of_the_keys():
    events = [event({"a": a, "b": b, "x": a * 10 + n}) for n in range(2) for a in (2, 1) for b in ("u", "t")]
    result = evaluate("stats sum(x) as total by a, b", events)
    assert result.columns == ["a", "b", "total"]
    assert [(row["a"], row["b"], row["total"]) for row in result.rows] == [
        (1, "t", 21),
        (1, "u", 21),
        (2, "t", 41),
        (2, "u", 41),
    ]


def test_groups_by_bin_come_newest_first_until_they_are_sorted():
    events = [event({"a": a}, FIRST_MS + 60_000 * minute) for minute in (0, 2, 1) for a in (2, 1)]
    rows = evaluate("stats count(*) as n by a, bin(1m) as t", events).rows
    assert [(row["t"][14:16], row["a"]) for row in rows] == [(m, a) for m in ("42", "41", "40") for a in (1, 2)]
    rows = evaluate("stats count(*) as n by bin(1m) as t | sort t asc", events).rows
    assert [row["t"][14:16] for row in rows] == ["40", "41", "42"]


def test_rows_without_a_key_form_a_group_without_that_column():
    rows = evaluate("stats count(*) as n by x", values("a", None, "a")).rows
    assert rows == [{"x": "a", "n": 2}, {"n": 1}]


@given(st.lists(st.integers(-3, 3) | FINITE, max_size=90), st.integers(95, 105), st.decimals(0, 100, places=2))
def test_percentiles_of_about_100_distinct_values_are_of_the_rank_or_of_its_bin(few, kinds, percent):
    numbers = [*few, *(round(1.37**place - 40, 6) for place in range(max(0, kinds - len(set(few)))))]
    row = only(f"stats pct(x, {percent}) as p, count_distinct(x * 1) as kinds", values(*numbers))
    assert row["p"] == pytest.approx(percentile(numbers, percent), rel=1e-9)


def test_a_note_says_that_bins_may_be_wider_where_a_result_has_one():
    exact, binned = (evaluate("stats pct(x, 50) as p", values(*range(number))) for number in (99, 100))
    assert (exact.rows, exact.notes) == ([{"p": 49}], ())
    [note] = binned.notes
    assert binned.rows[0]["p"] == pytest.approx(1.001**3893) and "up to 3.1 % less" in note
    again = evaluate("stats pct(x, 50) as p | stats max(p) as p", values(*range(100)))
    assert (again.rows, again.notes) == (binned.rows, binned.notes)
    assert evaluate("stats pct(x, 0) as low, pct(x, 100) as high", values(*range(100))).notes == ()


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), FINITE), min_size=1, max_size=60), st.integers(0, 100))
def test_grouped_aggregates_agree_with_numpy_over_random_rows(rows, percent):
    events = [event({"k": key, "x": x}) for key, x in rows]
    query = f"stats count(*) as n, sum(x) as s, avg(x) as a, min(x) as lo, max(x) as hi, pct(x, {percent}) as p by k"
    result = {row["k"]: row for row in evaluate(query, events).rows}
    assert set(result) == {key for key, _ in rows}
    for key, row in result.items():
        xs = numpy.array([x for k, x in rows if k == key])
        scale = max(1.0, float(numpy.abs(xs).max())) * len(xs)
        assert row["n"] == len(xs)
        assert (row["lo"], row["hi"]) == (xs.min(), xs.max())
        assert row["s"] == pytest.approx(xs.sum(), abs=scale * 1e-12)
        assert row["a"] == pytest.approx(xs.mean(), abs=scale * 1e-12)
        assert row["p"] == percentile(xs, percent)
