"""Aggregates compared with NumPy, 64-bit integers with Python, and JSON discovery with json.loads,
on random rows."""

import json
import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event, values
from tests.unit.insights.nearest_rank import percentile

FINITE = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False, width=32)
# Possible values of a field in an event.
VALUES = (
    FINITE
    | st.integers(-(10**12), 10**12)
    | st.sampled_from([None, "abc", "", "12.5", "-3e2", True, [1], {"a": 1}])
)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), VALUES), min_size=1, max_size=60)


def as_text(value):
    """What the field counts as: missing, or a text."""
    if value is None or isinstance(value, list | dict):
        return None
    return (
        value
        if isinstance(value, str)
        else str(int(value))
        if isinstance(value, bool)
        else repr(value)
    )


def as_numbers(field):
    texts = (as_text(value) for value in field)
    return numpy.array([float(text) for text in texts if text not in (None, "", "abc")])


@given(ROWS, st.integers(0, 100))
def test_aggregates_agree_with_numpy(rows, percent):
    events = [
        event({"k": key, "x": x}, FIRST_MS + 7 * place) for place, (key, x) in enumerate(rows)
    ]
    query = f"""stats count(*) as rows, count(x) as n, count_distinct(x) as d,
        sum(x) as s, avg(x) as a,
        stddev(x) as sd, variance(x) as v, min(x * 1) as lo, max(x * 1) as hi, median(x) as m,
            pct(x, {percent}) as p,
        max(x * 1) - min(x * 1) as range, earliest(x) as e, latest(x) as l by k"""
    result = evaluate(query, events[::-1]).rows
    assert [row["k"] for row in result] == sorted({key for key, _ in rows})
    for row in result:
        group = row.pop("k")
        field = [x for key, x in rows if key == group]
        present = [x for x in field if as_text(x) is not None]
        numbers = as_numbers(field)
        expected = {"rows": len(field), "n": len(present), "d": len({as_text(x) for x in present})}
        expected |= {"e": present[0], "l": present[-1]} if present else {}
        expected |= {"m": percentile(numbers, 50), "p": percentile(numbers, percent)}
        if len(numbers):
            expected |= {"lo": numbers.min(), "hi": numbers.max(), "range": numpy.ptp(numbers)}
            scale = len(numbers) * max(abs(numbers))
            expected |= {"s": pytest.approx(numbers.sum(), abs=scale * 1e-12)}
            expected |= {"a": pytest.approx(numbers.mean(), abs=scale * 1e-12)}
            expected |= {"sd": pytest.approx(numbers.std(), rel=1e-6, abs=scale * 1e-7)}
            expected |= {"v": pytest.approx(numbers.var(), rel=1e-6, abs=(scale * 1e-7) ** 2)}
        assert row == expected


@given(
    st.lists(st.integers(-3, 3) | FINITE, max_size=90),
    st.integers(95, 105),
    st.decimals(0, 100, places=2),
)
def test_percentiles_of_about_100_distinct_values_are_exact_or_the_edge_of_a_bin(
    few, kinds, percent
):
    numbers = [
        *few,
        *(round(1.37**place - 40, 6) for place in range(max(0, kinds - len(set(few))))),
    ]
    [row] = evaluate(f"stats pct(x, {percent}) as p", values(*numbers)).rows
    assert row["p"] == pytest.approx(percentile(numbers, percent), rel=1e-9)


def test_a_percentage_is_exact_in_decimal():
    events = values(*[1] * 999, 2)
    assert evaluate("stats pct(x, 99.9) as p, pct(x, 99.91) as q", events).rows == [
        {"p": 1, "q": 2}
    ]


def test_a_note_says_that_bins_may_be_wider_if_a_result_has_one():
    exact, binned = (
        evaluate("stats pct(x, 50) as p", values(*range(number))) for number in (99, 100)
    )
    assert (exact.rows, exact.notes) == ([{"p": 49}], ())
    [note] = binned.notes
    assert binned.rows[0]["p"] == pytest.approx(1.001**3893) and "3.1 %" in note
    for query, notes in (
        ("stats pct(x, 50) as p | stats max(p) as p", binned.notes),
        ("stats pct(x, 0) as low, pct(x, 100) as high", ()),
    ):
        assert evaluate(query, values(*range(100))).notes == notes


@given(
    st.lists(
        st.integers(2**53 - 2, 2**53 + 9) | st.integers(-(2**63), 2**63 - 1),
        min_size=1,
        max_size=12,
    )
)
def test_64_bit_integers_are_computed_as_in_python(numbers):
    def exact(number):
        return number if -(2**63) <= number < 2**63 else pytest.approx(float(number), rel=1e-15)

    events = values(*numbers)
    query = (
        "fields x, x + 7 as a, x - 9007199254740992 as b, x * 3 as c, x % 10 as d, -x as e | sort "
        "x asc"
    )
    rows = evaluate(query, events).rows
    assert [row["x"] for row in rows] == sorted(numbers)
    for x, *results in (row.values() for row in rows):
        assert results == list(
            map(exact, (x + 7, x - 2**53, x * 3, int(math.copysign(abs(x) % 10, x)), -x))
        )
    [row] = evaluate("stats min(x), max(x), count_distinct(x), sum(x)", events).rows
    assert list(row.values()) == [
        min(numbers),
        max(numbers),
        len(set(numbers)),
        exact(sum(numbers)),
    ]
    assert evaluate(f"filter x = {numbers[0]} | stats count(*)", events).rows == [
        {"count(*)": numbers.count(numbers[0])}
    ]


KEYS = st.text(
    st.characters(exclude_categories=("C",), exclude_characters="`.@"), min_size=1, max_size=6
)
KEYS = KEYS.filter(lambda key: key.lower() not in ("true", "false", "null"))
SCALARS = st.text(max_size=10) | st.integers(-(2**53), 2**53) | FINITE | st.booleans() | st.none()


@given(
    st.dictionaries(KEYS, SCALARS, min_size=1, max_size=5), st.sampled_from(["", "INFO ", '{"x '])
)
def test_discovery_agrees_with_json_loads(record, before):
    fields = ", ".join(f"`{key}` as f{place}" for place, key in enumerate(record))
    [row] = evaluate(f"fields {fields}", [event(before + json.dumps(record))]).rows
    assert [row.get(f"f{place}") for place in range(len(record))] == list(record.values())
