"""The sources of events: files and dictionaries, good and bad."""

import codecs
import gzip
import json
import tracemalloc

import duckdb
import pytest

from stampede.insights import EventsError, evaluate, export
from tests.unit.insights.download_log import FIRST_MS, event, record

COUNT = "stats count(*) as n"
SUM = "stats sum(x) as s"


def write(path, *events):
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def refused(events, query="fields @message, @ingestionTime"):
    with pytest.raises(EventsError) as caught:
        evaluate(query, events)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_gives_the_same_rows_as_its_events(tmp_path):
    events = [
        event(record(seq=n), FIRST_MS + n, logStream=f"s{n % 2}", ingestionTime=FIRST_MS + 9)
        for n in range(20)
    ]
    query = "fields seq, @logStream, @ingestionTime, run_id | sort seq asc"
    path = write(tmp_path / "log_events.jsonl", *events)
    rows = evaluate(query, path).rows
    assert rows == evaluate(query, events).rows == evaluate(query, iter(events)).rows
    assert rows[3]["@logStream"] == "s1"


def test_files_are_one_set_of_events_and_their_names_are_taken_literally(tmp_path):
    path = write(tmp_path / "a[1]*?'x.jsonl", event({"x": 7}))
    other = write(tmp_path / "a1bc'x.jsonl", event({"x": 1000}))
    assert evaluate(SUM, path).rows == [{"s": 7}]
    assert evaluate(SUM, [path, other]).rows == [{"s": 1007}]
    assert refused([path, tmp_path / "none"]).startswith(f"there is no file {tmp_path / 'none'}")


@pytest.fixture(params=["gzip", "zstd"])
def compressed(request, tmp_path):
    """A compressed file of 2,000 events, in several blocks, whatever its name."""
    lines, path = tmp_path / "lines.jsonl", tmp_path / "log.jsonl"
    write(lines, *(event(f"{n * 7919**3:x}" * 20, FIRST_MS + n) for n in range(2_000)))
    if request.param == "gzip":
        path.write_bytes(gzip.compress(lines.read_bytes()))
    else:
        read = f"read_json('{lines}', columns = {{timestamp: 'BIGINT', message: 'VARCHAR'}})"
        duckdb.sql(f"COPY (FROM {read}) TO '{path}' (FORMAT json, COMPRESSION zstd)")
    return path


def test_a_compressed_file_is_read_whole_or_refused(compressed):
    whole = compressed.read_bytes()
    assert evaluate(COUNT, compressed).rows == [{"n": 2_000}]
    compressed.write_bytes(whole + whole)
    assert evaluate(COUNT, compressed).rows == [{"n": 4_000}]
    places = [5, 9, 20, *range(100, len(whole), len(whole) // 12), len(whole) - 9, len(whole) - 1]
    damaged = [whole[:place] for place in places] + [whole + b"garbage"]
    if whole[:1] == b"\x1f":  # has a checksum
        damaged += [whole[:place] + bytes(255 - byte for byte in whole[place:]) for place in places]
    for content in damaged:
        compressed.write_bytes(content)
        assert "log.jsonl: the" in refused(compressed, COUNT)
        assert "file is cut off or damaged" in refused(compressed, COUNT)


# A field that makes a dictionary no event, and a word of the message.
BAD_EVENTS = [
    ({"timestamp": None}, "no timestamp"),
    ({"timestamp": 1_736_700_000_000_000}, "not in ms since 1970"),
    ({"message": {"a": 1}}, "no message"),
    ({"message": "\ud800"}, "can't be stored"),
    ({"logStream": 5}, "logStream is not of type str"),
]


@pytest.mark.parametrize(("change", "words"), BAD_EVENTS)
def test_a_bad_event_is_named_by_its_number(change, words):
    message = refused([event("ok"), event("x") | change])
    assert words in message and message.startswith(("event 2", "events 2"))


def test_events_other_than_dictionaries_are_refused_and_many_dictionaries_are_stored():
    assert "event 2 is a str" in refused([event("ok"), "text"])
    assert evaluate(COUNT, (event("x", number) for number in range(20_005))).rows == [{"n": 20_005}]


GOOD = '{"timestamp": 1736700000000, "message": "ok"}'
# Unusual lines that are readable.
ODD = [
    '{"timestamp": 2, "message": {"a": 1}}',
    '{"timestamp": 2, "message": true}',
    '{"timestamp": 2, "message": ""}',
    '{"timestamp": " 2 ", "message": "x"}',
    '{"timestamp": 2.4, "message": "x"}',
    '{"timestamp": 1.7367e12, "message": "x"}',
    '{"timestamp": -2, "message": "x"}',
    '{"timestamp": 0, "message": "x"}',
    '{"timestamp": 1, "message": "x", "ingestionTime": 1}',
    '{"timestamp": 2, "message": "x", "logStream": 5, "log": {"a": []}}',
    '{"timestamp": 2, "message": "x", "logStream": null, "ingestionTime": "7"}',
    '{"timestamp": 2, "message": "x", "ingestionTime": 99999999999999999}',
    '{"timestamp": 2, "message": "x",}',
    '{"timestamp": 2, "message": "inf,}", "other": [-inf, nAn, INFINITY,], "other": NaN}',
    '{"timestamp": 2, "message": "\\u0000 \\ud83d\\ude00"}',
    '{"timestamp": 2, "message": "x", "deep": ' + "[" * 3_000 + "]" * 3_000 + "}",
    '{"timestamp": 2, "message": "x", "digits": ' + "7" * 5_000 + "}",
    "  " + GOOD + " \r",
    " \t",
]
NO_TIME, NO_JSON = "log event without timestamp", "Malformed JSON"
BAD = [
    ('{"timestamp": 2, "message": null}', "log event without message"),
    ('{"message": "x"}', NO_TIME),
    ('{"timestamp": true, "message": "x"}', NO_TIME),
    ('{"timestamp": "2.5x", "message": "x"}', NO_TIME),
    ('{"timestamp": 1736700000000000, "message": "x"}', "not in ms since 1970"),
    ('{"timestamp": NaN, "message": "x"}', NO_TIME),
    ('{"timestamp": 2, "message": "x", "ingestionTime": true}', "ingestionTime is not a time"),
    ('{"timestamp": 2, "message": "x", "ingestionTime": "noon"}', "ingestionTime is not a time"),
    ('{"timestamp": 2, "message": "x", "message": "y"}', "the key message appears twice"),
    ('{"timestamp": 2, "message": "x"', NO_JSON),
    ('{"timestamp": 2, "message": "\t"}', NO_JSON),
    ('{"timestamp": 2, "message": "\\ud800"}', "half of a surrogate pair"),
    ("INF", "not a JSON object"),
]


@pytest.mark.parametrize(("bad", "words"), BAD)
def test_the_unreadable_line_is_named(tmp_path, bad, words):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*ODD, bad, GOOD]) + "\n")
    message = refused(path)
    assert message.startswith(f"{path}, line {len(ODD) + 1}: ") and words in message


def test_odd_lines_are_events(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\r\n".join(["", *ODD]), newline="")
    query = "fields @message, @ingestionTime, @logStream, toMillis(@timestamp) as t | sort t asc"
    rows = evaluate(query, path).rows
    assert [row["t"] for row in rows] == [-2, 0, 1, *[2] * 13, 1_736_700_000_000, 1_736_700_000_000]
    assert rows[2] == {"@message": "x", "@ingestionTime": "1970-01-01 00:00:00.001", "t": 1}
    assert {'{"a":1}', "true", "", "\0 😀"} < {row["@message"] for row in rows}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (codecs.BOM_UTF8 + GOOD.encode(), ": begins with a byte order mark"),
        (GOOD.encode("utf-16"), ": begins with a byte order mark"),
        (
            b'{"timestamp": 2, "message": {"a": 1}}\n{"timestamp": 2, "message": "\xff"}\n',
            ", line 2: not UTF-8",
        ),
        (
            f'{GOOD}\n{{"timestamp": true, "message": "x"}}\n'.encode(),
            ", line 2: log event without timestamp",
        ),
    ],
)
def test_of_several_files_the_bad_one_is_named(tmp_path, content, words):
    good = write(tmp_path / "good.jsonl", event("ok"))
    for path, written in (
        (tmp_path / "log.jsonl", content),
        (tmp_path / "log.jsonl.gz", gzip.compress(content)),
    ):
        path.write_bytes(written)
        assert refused([good, path]).startswith(f"{path}{words}")


def test_a_line_that_is_too_long_is_named(tmp_path):
    path = write(tmp_path / "log.jsonl", event("ok"), event("x" * (34 * 2**20)))
    assert "line 2: longer than 16 MiB" in refused(path)


def test_a_line_without_end_is_refused_without_being_held(tmp_path):
    """A few MB of gzip may hold a line of gigabytes."""
    path, line_bytes = tmp_path / "log.jsonl.gz", 200 * 2**20
    path.write_bytes(gzip.compress(b'{"timestamp": 1, "message": "' + bytes(line_bytes), 1))
    tracemalloc.start()
    try:
        assert "line 1: longer than 16 MiB" in refused(path)
        assert tracemalloc.get_traced_memory()[1] < line_bytes / 2
    finally:
        tracemalloc.stop()


OBJECTS = [
    {"slice": 0, "line": n, "to": f"copies/{n}", "type": None, "why": "n{o", "from": "a, b"}
    for n in range(40)
]
WHICH = {"run_id": "r", "attempt": 1}


@pytest.mark.parametrize("before", ["", "INFO "])
def test_fields_after_the_first_200_of_a_line_are_not_discovered_and_that_is_noted(
    tmp_path, before
):
    counts = (
        "filter run_id = 'r' | stats count(*) as n, count(failed.32.line) as at_32, "
        "count(failed.33.line) as at_33"
    )
    for fields, found, notes in (
        (WHICH | {"failed": OBJECTS}, 1, 1),
        ({"failed": OBJECTS} | WHICH, 0, 1),
        ({"failed": OBJECTS[:33]} | WHICH, 1, 0),
    ):
        events = [event({"run_id": "other"}), event(before + json.dumps(fields))]
        result = evaluate(counts, events)
        assert result.rows == [{"n": found, "at_32": found, "at_33": 0}]
        assert ["200 fields" in note for note in result.notes] == [True] * notes
        export(events, tmp_path / "log.parquet")
        assert evaluate(counts, tmp_path / "log.parquet").rows == result.rows
