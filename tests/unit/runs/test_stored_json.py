"""A stored line has the value that Python's json gives it, and lines that json refuses
are refused."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stampede.runs.stored_json import decoded

SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(
    SINGLE, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


@given(VALUES.map(json.dumps))
@example('{"seq": 18446744073709551616, "bytes": -9223372036854775809}')
@example("[NaN, Infinity, -Infinity, 1e400, -1e400, -0, -0.0]")
@example(' {"a": 1}\t\r')
def test_a_line_has_the_value_that_json_gives_it(line):
    assert repr(decoded(line)) == repr(decoded(line.encode())) == repr(json.loads(line))


def test_half_of_a_surrogate_pair_becomes_a_question_mark():
    assert decoded('{"a": "\\ud800b", "c": NaN, "c": 3}') == {"a": "?b", "c": 3}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[NaN, " * 100_000,
        b'{"a": 1,}',
        b'{"a": 1} {"a": 2}',
        b'"\x01"',
        b'"\xff"',
        b"\xef\xbb\xbf{}",
    ],
)
def test_a_line_that_json_refuses_is_refused(line):
    with pytest.raises(ValueError):
        decoded(line)
