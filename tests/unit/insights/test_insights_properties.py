"""Every aggregate against NumPy (or plain Python) over random rows, and JSON discovery against json.loads."""

import json
import math
import re

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event
from tests.unit.insights.nearest_rank import percentile

FINITE = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False, width=32)
# What a field may hold in one event, and whether it counts as a number there.
VALUES = (
    FINITE | st.integers(-(10**12), 10**12) | st.sampled_from([None, "abc", "", "12.5", "-3e2", True, [1], {"a": 1}])
)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), VALUES), min_size=1, max_size=60)
NUMERIC_STRINGS = {"12.5": 12.5, "-3e2": -300.0}


def as_number(value):
    if isinstance(value, str):
        return NUMERIC_STRINGS.get(value)
    return None if value is None or isinstance(value, list | dict) else float(value)


def as_text(value):
    if isinstance(value, bool):
        return str(int(value))
    return None if value is None or isinstance(value, list | dict) else value if isinstance(value, str) else repr(value)


@given(ROWS, st.integers(0, 100))
def test_all_aggregates_agree_with_numpy_over_random_rows(rows, percent):
    events = [event({"k": key, "x": x}, FIRST_MS + place) for place, (key, x) in enumerate(rows)]
    query = (
        f"stats count(*) as rows, count(x) as n, count_distinct(x) as d, sum(x) as s, avg(x) as a, min(x * 1) as lo,"
        f" max(x * 1) as hi, stddev(x) as sd, variance(x) as v, median(x) as m, pct(x, {percent}) as p,"
        " pct(x, 50) as p50, earliest(x) as e, latest(x) as l by k"
    )
    result = {row["k"]: row for row in evaluate(query, events).rows}
    assert set(result) == {key for key, _ in rows}
    for key, row in result.items():
        values = [x for k, x in rows if k == key]
        present = [x for x in values if as_text(x) is not None]
        numbers = numpy.array([number for x in values if (number := as_number(x)) is not None])
        assert row["rows"] == len(values)
        assert row["n"] == len(present)
        assert row["d"] <= len(present) and (row["d"] > 0) == bool(present)
        assert ("e" in row, "l" in row) == (bool(present), bool(present))
        if not len(numbers):
            assert not {"s", "a", "lo", "hi", "sd", "v"} & set(row)
            assert (row["m"], row["p"]) == (0, 0)
            continue
        scale = max(1.0, float(numpy.abs(numbers).max())) * len(numbers)
        assert (row["lo"], row["hi"]) == (numbers.min(), numbers.max())
        for name, expected in [
            ("s", numbers.sum()),
            ("a", numbers.mean()),
        ]:
            assert row[name] == pytest.approx(expected, abs=scale * 1e-12), name
        assert row["m"] == row["p50"] == percentile(numbers, 50)
        assert row["p"] == percentile(numbers, percent)
        assert row["sd"] == pytest.approx(numpy.std(numbers), rel=1e-6, abs=scale * 1e-7)
        assert row["v"] == pytest.approx(numpy.var(numbers), rel=1e-6, abs=(scale * 1e-7) ** 2)


def sort_key(value):
    """The order of sort: text before numbers; text by chunks, digits by length and then value, the rest by Unicode."""
    number, text = as_number(value), as_text(value)
    if number is not None and value != "-3e2":
        return (1, number, [text])
    chunks = re.findall("[0-9]+|[^0-9]+", text)
    return (0, 0.0, [f"0{len(chunk):09d}{chunk}" if "0" <= chunk[0] <= "9" else chunk for chunk in chunks])


@given(ROWS)
def test_min_max_sorts_first_and_sorts_last_agree_with_plain_python(rows):
    events = [event({"k": key, "x": x}, FIRST_MS) for key, x in rows]
    query = "stats min(x) as lo, max(x) as hi, sortsFirst(x) as f, sortsLast(x) as l, count_distinct(x) as d by k"
    result = {row["k"]: row for row in evaluate(query, events).rows}
    for key, row in result.items():
        present = [x for k, x in rows if k == key and as_text(x) is not None]
        assert row["d"] == len({as_text(x) for x in present})
        if not present:
            assert not {"lo", "hi", "f", "l"} & set(row)
            continue
        numbers = [number for x in present if (number := as_number(x)) is not None]
        read = {"-3e2": -300.0}
        lowest, highest = read.get(row["lo"], row["lo"]), read.get(row["hi"], row["hi"])
        ordered = sorted(present, key=sort_key)
        assert (lowest, highest) == ((min(numbers), max(numbers)) if numbers else (ordered[0], ordered[-1]))
        assert sort_key(row["f"]) == sort_key(ordered[0])
        assert sort_key(row["l"])[:2] == sort_key(ordered[-1])[:2]


@given(ROWS)
def test_earliest_and_latest_agree_with_the_first_and_last_event_that_has_the_field(rows):
    events = [event({"k": key, "x": x}, FIRST_MS + 7 * place) for place, (key, x) in enumerate(rows)]
    query = "stats earliest(x) as e, latest(x) as l by k"
    for row in evaluate(query, list(reversed(events))).rows:
        present = [x for k, x in rows if k == row["k"] and as_text(x) is not None]
        expected = {"e": present[0], "l": present[-1]} if present else {}
        assert {name: value for name, value in row.items() if name != "k"} == expected


@given(ROWS, st.sampled_from(["x > 0", "ispresent(x)", "isNumeric(x)", "x = 'abc'"]))
def test_a_filter_and_a_sum_over_if_count_the_same(rows, condition):
    events = [event({"k": key, "x": x}) for key, x in rows]
    filtered = evaluate(f"filter {condition} | stats count(*) as n by k", events).rows
    summed = evaluate(f"stats sum(if({condition}, 1, 0)) as n by k | filter n > 0", events).rows
    assert filtered == summed


@given(
    ROWS,
    st.sampled_from(
        ["max(x) - min(x)", "sum(x) / count(x)", "avg(x * 2) / 2", "floor(sum(x))", "pct(x, 90) - median(x)"]
    ),
)
def test_arithmetic_over_aggregates_agrees_with_numpy(rows, expression):
    events = [event({"k": key, "x": x}) for key, x in rows]
    result = {row["k"]: row.get("y") for row in evaluate(f"stats {expression} as y by k", events).rows}
    for key, value in result.items():
        present = [x for k, x in rows if k == key and as_text(x) is not None]
        numbers = numpy.array([number for x in present if (number := as_number(x)) is not None])
        if not len(numbers):
            assert value == (0 if "pct" in expression else None)
            continue
        expected = {
            "max(x) - min(x)": numbers.max() - numbers.min(),
            "sum(x) / count(x)": numbers.sum() / len(present),
            "avg(x * 2) / 2": numbers.mean(),
            "floor(sum(x))": math.floor(math.fsum(numbers)),
            "pct(x, 90) - median(x)": percentile(numbers, 90) - percentile(numbers, 50),
        }[expression]
        scale = max(1.0, float(numpy.abs(numbers).max())) * len(numbers)
        assert value == pytest.approx(expected, abs=scale * 1e-11 + (1 if "floor" in expression else 0))


@given(st.lists(st.text(max_size=8) | st.integers(), max_size=30))
def test_count_distinct_is_exact(values):
    rows = evaluate("stats count_distinct(x) as d", [event({"x": x}) for x in values]).rows
    assert rows == [{"d": len({str(x) for x in values})}]


@given(st.lists(st.tuples(st.integers(0, 10_000_000), st.sampled_from([1, 5, 17, 60])), min_size=1, max_size=40))
def test_bins_floor_as_whole_numbers_do(rows):
    seconds = rows[0][1]
    events = [event("x", FIRST_MS + ms) for ms, _ in rows]
    result = evaluate(f"stats count(*) as n by toMillis(bin({seconds}s)) as t", events).rows
    expected: dict[int, int] = {}
    for ms, _ in rows:
        minute, within = divmod(FIRST_MS + ms, 60_000)
        start = minute * 60_000 + within // (seconds * 1000) * (seconds * 1000)
        expected[start] = expected.get(start, 0) + 1
    assert result == [{"t": start, "n": expected[start]} for start in sorted(expected)]


SCALARS = st.text(max_size=10) | st.integers(-(2**53), 2**53) | FINITE | st.booleans() | st.none()
KEYS = st.text(st.characters(exclude_categories=("C",), exclude_characters="`.@"), min_size=1, max_size=6)


@given(st.dictionaries(KEYS, SCALARS, min_size=1, max_size=5), st.sampled_from(["", "INFO ", '{"x ']))
def test_discovery_finds_in_a_line_what_json_loads_finds(record, before):
    fields = ", ".join(f"`{key}` as f{place}" for place, key in enumerate(record))
    words = {"true", "false", "null"}
    if words & {key.lower() for key in record}:
        return
    (row,) = evaluate(f"fields {fields}", [event(before + json.dumps(record))]).rows
    for place, value in enumerate(record.values()):
        assert row.get(f"f{place}") == value


@given(st.lists(FINITE, min_size=1, max_size=30))
def test_the_strings_of_numbers_read_back_as_the_rounded_numbers(values):
    result = evaluate("fields x * 1 as y | sort @timestamp asc", [event({"x": x}, n) for n, x in enumerate(values)])
    for row, x in zip(result.as_strings(), values, strict=True):
        assert float(row["y"]) == pytest.approx(x, rel=5e-4 if abs(x) < 1 else 0, abs=0 if abs(x) < 1 else 5.1e-5)
