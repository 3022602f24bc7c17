"""Randomly damaged lines count as JSON exactly if Python's strict parser accepts them."""

import json

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event

SEEDS = [
    '{"a": 1, "b": [1, 2.5, "x,]", []], "c": "NaN,}"}',
    '{"b": "Infinity", "a": "text \\"quoted\\" ,}"}',
    '{"a":-1.5e3,"b":null}\n',
    '{ "a" : true , "b" : [ ] , "c" : [ "]" , [ 1 ] ] }',
    '{"a": "\\u00e9\\\\", "b": -0}',
    '{"b": [[[1]]], "a": "I"}',
]
DAMAGE = [
    ",",
    ", ",
    "}",
    "]",
    "[",
    '"',
    "\\",
    "NaN",
    "-Infinity",
    "Infinity",
    " ",
    "\n",
    "0",
    "-",
    ".",
    "e",
    "'",
    ":",
]


@st.composite
def damaged(draw):
    line = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(1, len(line)))
        line = (
            line[:place] + draw(st.sampled_from(DAMAGE)) + line[place + draw(st.integers(0, 1)) :]
        )
    return line


def strict(text):
    def refuse(word):
        raise ValueError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return None


@settings(phases=[Phase.generate])  # no shrinking: the failing item is named
@given(st.lists(damaged(), min_size=40, max_size=60))
def test_a_damaged_line_has_fields_only_where_it_still_is_json(lines):
    events = [event(line, FIRST_MS + place) for place, line in enumerate(lines)]
    query = (
        "fields ispresent(a) as found, jsonParse(@message) as m, ispresent(m.a) as parsed | sort "
        "@timestamp asc"
    )
    rows = evaluate(query + " | display found, parsed", events).rows
    for line, row in zip(lines, rows, strict=True):
        read = strict(line)
        value = read.get("a") if isinstance(read, dict) else None
        assert (line, row["parsed"]) == (line, value is not None)
        # If a line isn't JSON but begins with an object, that object's fields are discovered.
        if read is not None or all(strict(line[:end]) is None for end in range(2, len(line))):
            is_scalar = value is not None and not isinstance(value, dict | list)
            assert (line, row["found"]) == (line, is_scalar)
