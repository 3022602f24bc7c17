"""What counts as JSON, as Python's strict reading has it, over lines that were damaged at random."""

import json
import random
import time

import pytest

from stampede.insights import evaluate
from stampede.insights.evaluation import connect
from stampede.insights.events.strict_json import is_lax_message
from tests.unit.insights.download_log import FIRST_MS, event

_SEEDS = [
    '{"a": 1, "b": [1, 2.5, "x,]", []], "c": "NaN,}"}',
    '{"b": "Infinity", "a": "text \\"quoted\\" ,}"}',
    '{"a":-1.5e3,"b":null}\n',
    '{ "a" : true , "b" : [ ] , "c" : [ "]" , [ 1 ] ] }',
    '{"a": "\\u00e9\\\\", "b": -0}',
    '{"b": [[[1]]], "a": "I"}',
]
_DAMAGE = [",", ", ", "}", "]", "[", '"', "\\", "NaN", "-Infinity", "Infinity", " ", "\n", "0", "-", ".", "e", "'", ":"]


def _damaged(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        line = draw.choice(_SEEDS)
        for _ in range(draw.randrange(1, 3)):
            place = draw.randrange(1, len(line) + 1)
            line = line[:place] + draw.choice(_DAMAGE) + line[place + draw.randrange(2) :]
        lines.append(line)
    return lines


def _strict(text: str) -> dict | list | None:
    def refuse(word):
        raise ValueError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return None


@pytest.mark.hypothesis
def test_a_damaged_line_has_fields_only_where_it_still_is_json(seed):
    lines = [*_SEEDS, *_damaged(900, seed)]
    events = [event(line, FIRST_MS + n) for n, line in enumerate(lines)]
    query = "fields ispresent(a) as found, jsonParse(@message) as m, ispresent(m.a) as parsed | sort @timestamp asc"
    rows = evaluate(query + " | display found, parsed", events).rows
    compared = 0
    for line, row in zip(lines, rows, strict=True):
        read = _strict(line)
        value = read.get("a") if isinstance(read, dict) else None
        assert (line, row["parsed"]) == (line, int(value is not None))
        if read is not None or not _holds_json(line):
            assert (line, row["found"]) == (line, int(value is not None and not isinstance(value, dict | list)))
            compared += 1
    assert compared > 700


def _holds_json(line: str) -> bool:
    """Whether a line that isn't JSON begins with an object that is, whose fields are discovered."""
    return any(_strict(line[:end]) is not None for end in range(2, len(line)))


def test_looking_for_infinities_costs_no_more_than_reading_the_line_where_it_says_info():
    line = '{"level": "INFO", "location": "handler:12", ' + ", ".join(f'"key_{n}": {n}' for n in range(40)) + "}"
    with connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("CREATE TABLE events AS SELECT $1 AS message FROM range(4_000)", [line])
        look, read = (
            _cpu_seconds(connection, f"SELECT count(*) FROM events WHERE {condition}")
            for condition in (is_lax_message(), "json_valid(message)")
        )
    assert look < 3 * read  # it was 9 times


def _cpu_seconds(connection, statement: str) -> float:
    times = []
    for _ in range(5):
        started = time.process_time()
        connection.execute(statement).fetchall()
        times.append(time.process_time() - started)
    return min(times)
