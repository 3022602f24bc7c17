"""Fields beside numbers: which texts count as a number, and that short cuts for speed give the same answer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import event, values

# JSON text of a field, and whether it equals the number 0 and the number 7.
FIELDS = [
    ("0", True, False),
    ("0.0", True, False),
    ("-0", True, False),
    ("0e5", True, False),
    ("7", False, True),
    ("7.0", False, True),
    ("70e-1", False, True),
    ('"7"', False, True),
    ('"+7.0"', False, True),
    ('"0"', True, False),
    ('" 7"', False, False),
    ('"7_0"', False, False),
    ('"0x7"', False, False),
    ('"inf"', False, False),
    ("1e999", False, False),
    ('"1e999"', False, False),
    ("true", False, False),
    ("false", True, False),
    ('""', False, False),
]
MISSING = ["null", "[7]", '{"a": 7}', "NaN", "-Infinity"]  # with the last two the line isn't JSON


def matching(condition, fields):
    """Those of the fields, each that of a line, for which a condition holds."""
    events = [event(f'{{"x": {field}}}', number) for number, field in enumerate(fields)]
    rows = evaluate(f"filter {condition} | fields toMillis(@timestamp) as number | sort number", events).rows
    return [fields[row["number"]] for row in rows]


@pytest.mark.parametrize("number", ["0", "7", "7.0"])
def test_a_field_equals_a_number_when_it_reads_as_that_number(number):
    fields = [field for field, _, _ in FIELDS]
    equal = [field for field, zero, seven in FIELDS if (zero if number == "0" else seven)]
    for condition in (f"x = {number}", f"{number} = x"):
        assert matching(condition, fields) == equal, condition
    for condition in (f"x != {number}", f"{number} != x"):
        assert matching(condition, fields) == [field for field in fields if field not in equal], condition


@pytest.mark.parametrize("condition", ["x = 7", "x != 7", "not x = 7"])
def test_a_missing_field_neither_equals_a_number_nor_differs_from_it(condition):
    assert matching(condition, [*MISSING, "7", "8"]) == ["7" if condition == "x = 7" else "8"]


def test_whole_numbers_with_more_digits_than_a_double_equal_only_themselves():
    events = values(2**53, 2**53 + 1)
    assert evaluate("filter x = 9007199254740992 | fields x", events).rows == [{"x": 2**53}]
    assert evaluate("filter x = 9007199254740993 | fields x", events).rows == [{"x": 2**53 + 1}]


@given(st.lists(st.integers(2**53 - 2, 2**53 + 9) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12))
def test_integers_of_64_bits_are_computed_as_python_does(numbers):
    def exact(number):
        return number if -(2**63) <= number < 2**63 else pytest.approx(float(number), rel=1e-15)

    query = "fields x, x + 7 as a, x - 9007199254740992 as b, x * 3 as c, x % 10 as d, -x as e | sort x asc"
    for row in evaluate(query, values(*numbers)).rows:
        x = row["x"]
        results = (x + 7, x - 2**53, x * 3, int(math.copysign(abs(x) % 10, x)), -x)
        assert [row[name] for name in "abcde"] == [exact(result) for result in results]
    assert [row["x"] for row in evaluate(query, values(*numbers)).rows] == sorted(numbers)
    (row,) = evaluate("stats sum(x) as s, min(x) as lo, max(x) as hi, count_distinct(x) as d", values(*numbers)).rows
    assert (row["lo"], row["hi"]) == (min(numbers), max(numbers))
    assert row["d"] == len(set(numbers))
    assert row["s"] == exact(sum(numbers))


@pytest.mark.parametrize(("field", "number"), [("1e999", None), ('"1e999"', None), ("NaN", None), ('"1.5e3"', 1500)])
def test_what_is_no_finite_number_is_left_out_of_sums_and_quantiles(field, number):
    events = [event(f'{{"x": {field}}}'), *values(1)]
    rows = evaluate("stats sum(x) as s, avg(x) as a, median(x) as m", events).rows
    numbers = [1] if number is None else [1, number]
    assert rows == [{"s": sum(numbers), "a": sum(numbers) / len(numbers), "m": 1}]


def test_one_field_may_be_a_key_under_two_names():
    rows = evaluate("stats count(*) as n by x as a, x as b | sort b desc", values(1, 2, 2)).rows
    assert rows == [{"a": 2, "b": 2, "n": 2}, {"a": 1, "b": 1, "n": 1}]


def test_a_field_read_as_a_number_before_stats_is_read_again_after_it():
    query = "filter x > 1 | stats sum(x) as total by x | filter x > 2 | stats max(x) as most, sum(total) as all"
    assert evaluate(query, values(1, 2, 3, 3, "4")).rows == [{"most": 4, "all": 10}]


def test_two_names_of_one_field_hold_the_same_in_every_command():
    query = "fields x as a, x as b | filter a > 1 and b < 3 | sort b asc, a asc | fields a + b as c"
    assert evaluate(query, values(1, 2, 3)).rows == [{"a": 2, "b": 2, "c": 4}]
