"""An exported Parquet file answers every query as the lines do, whether a field has a column
or not."""

import json
import os

import duckdb
import pytest

from stampede.insights import EventsError, evaluate, export, read_notes
from tests.unit.insights.download_log import FIRST_MS, event, record, report

FLOW = (
    "2 123456789010 eni-1235b8ca123456789 10.0.0.1 10.0.0.2 20641 22 6 20 4249 1418530010 "
    "1418530070 ACCEPT OK"
)
MESSAGES = [
    record(seq=0),
    "START RequestId: r-1 Version: $LATEST\n",
    '[INFO] {"seq": 1, "a.b": "dotted", "late": {"x": 1}}',
    {"seq": "2", "a": {"b": 7}, "odd \"'key": "q", "flag": True, "none": None, "bytes": 5},
    report("r-1", 12.5, 1024),
    "{broken",
    '{"seq": 1.50, "text": "a\\u00e9\\"b"}',
    '{"seq": ' + "7" * 5_000 + "}",
    '[INFO] {"seq": ' + "8" * 5_000 + "}",
    FLOW,
    '{"bytes": 1,}',
    {"B": 1, "b": 2},
    *[{"x": 1}] * 2_500,
    {"x": 5, "not_among_the_first": 5, "protocol": "h2"},
]
EVENTS = [event(message, FIRST_MS + place) for place, message in enumerate(MESSAGES)]
EVENTS[0] |= {"logStream": "a", "ingestionTime": FIRST_MS + 5, "log": "0:g"}
QUERIES = [
    "fields @timestamp, @message, @logStream, @log, @ingestionTime | sort @timestamp asc",
    "fields seq, status, a.b, late.x, `odd \"'key`, flag, none, text, @type, @duration | sort "
    "@timestamp asc",
    "stats count(*) as n, sum(seq) as s, sum(not_among_the_first) as t, "
    "max(download_time_seconds) as m by status",
    "filter a.b = 7 or a.b = 'dotted' | fields a.b | sort @timestamp asc",
    "stats sum(B) as upper, sum(b) as lower, count(b_1) as none",
    "stats sum(bytes) as s, count(*) as n by protocol, srcAddr",
]


@pytest.fixture
def exported(tmp_path):
    assert export(EVENTS, tmp_path / "run's [1].parquet") == len(EVENTS)
    return tmp_path / "run's [1].parquet"


def test_an_export_answers_as_its_events_do_alone_and_together_with_lines(exported, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps(event({"seq": 9})) + "\n")
    for query in QUERIES:
        assert evaluate(query, exported).rows == evaluate(query, EVENTS).rows
    both = "stats count(*) as n, max(not_among_the_first) as m"
    assert evaluate(both, [exported, more]).rows == [{"n": len(EVENTS) + 1, "m": 5}]
    longest = evaluate(
        "filter strlen(seq) = 5000 | fields seq | sort @timestamp asc", exported
    ).rows
    assert longest == [{"seq": "7" * 5_000}, {"seq": "8" * 5_000}]


def test_a_plain_file_with_timestamps_is_enough(tmp_path):
    path = tmp_path / "plain.parquet"
    duckdb.sql(
        "COPY (SELECT TIMESTAMP '2025-01-12 16:40:00' + INTERVAL (n) SECOND AS timestamp, "
        f"'{{\"x\": ' || n || '}}' AS message, 'more' AS other FROM range(3) t(n)) TO '{path}' "
        "(FORMAT parquet)"
    )
    assert evaluate("stats sum(x) as s, max(@timestamp) as t", path).rows == [
        {"s": 3, "t": "2025-01-12 16:40:02.000"}
    ]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("1 AS timestamp", "has no column message"),
        ("'x' AS message", "has no column timestamp"),
        ("'noon' AS timestamp, 'x' AS message", "the column timestamp is VARCHAR"),
        ("1 AS timestamp, 'x' AS message, 3 AS \"json:/a\"", "the column json:/a is INTEGER"),
        ("NULL::BIGINT AS timestamp, 'x' AS message", "log event without timestamp"),
        ("1 AS timestamp, NULL::VARCHAR AS message", "log event without message"),
    ],
)
def test_a_file_with_a_wrong_column_is_refused_with_its_name(tmp_path, columns, words):
    path = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}' (FORMAT parquet)")
    with pytest.raises(EventsError, match=words):
        evaluate("fields @message", path)


@pytest.mark.parametrize("at", [4, 12])
def test_a_damaged_file_is_named(exported, at):
    content = bytearray(exported.read_bytes())
    content[at : at + 4] = b"\xff" * 4
    exported.write_bytes(content)
    with pytest.raises(EventsError, match="can't be read as Parquet"):
        evaluate("stats max(@timestamp), count(@message), count(@logStream) by n", exported)


def test_notes_are_kept_with_the_file_and_other_files_have_none(exported, tmp_path):
    notes = {"made from": '{"it\'s": "\u00e9"}', "b": ""}
    assert read_notes(exported) == {}
    export(EVENTS, exported, notes)
    assert read_notes(exported) == notes
    (tmp_path / "lines").write_text("no Parquet")
    assert not any(read_notes(tmp_path / name) for name in ("lines", "missing", ""))


def test_an_export_that_fails_leaves_nothing_behind(tmp_path):
    lines = tmp_path / "bad.jsonl"
    lines.write_text('{"timestamp": 1, "message": "ok"}\n{"timestamp": 1}\n')
    with pytest.raises(EventsError, match=r"bad\.jsonl, line 2: log event without message"):
        export(lines, tmp_path / "o.parquet")
    assert list(tmp_path.iterdir()) == [lines]


def test_a_pipe_or_device_is_refused_and_left_alone(tmp_path):
    """For root, /dev/full would otherwise become a regular file, and be lost to every
    other program."""
    pipe = tmp_path / "run.parquet"
    os.mkfifo(pipe)
    with pytest.raises(EventsError, match="isn't a file"):
        export([event("x")], pipe)
    assert pipe.is_fifo()


def test_a_byte_order_mark_is_refused_as_a_query_refuses_it(tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text('\ufeff{"timestamp": 5, "message": "a"}\n')
    for read in (lambda: export(lines, tmp_path / "o.parquet"), lambda: evaluate("limit 1", lines)):
        with pytest.raises(EventsError, match="byte order mark"):
            read()
