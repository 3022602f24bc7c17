"""Parquet: what export writes answers every query as the lines do, whether a field has a column or not."""

import json
import os

import duckdb
import pytest

from stampede.insights import EventsError, evaluate, export, read_notes
from tests.unit.insights.download_log import FIRST_MS, event, record, report

EVENTS = [
    event(record(seq=0), FIRST_MS, logStream="a", ingestionTime=FIRST_MS + 5, log="0:g"),
    event("START RequestId: r-1 Version: $LATEST\n", FIRST_MS + 1, logStream="a"),
    event('[INFO] {"seq": 1, "a.b": "dotted", "late": {"x": 1}}', FIRST_MS + 2),
    event({"seq": "2", "a": {"b": 7}, "odd \"'key": "q", "flag": True, "none": None}, FIRST_MS + 3),
    event(report("r-1", 12.5, 1024, 99), FIRST_MS + 4),
    event("{broken", FIRST_MS + 5),
    event('{"seq": 1.50, "text": "a\\u00e9\\"b"}', FIRST_MS + 6),
]
QUERIES = [
    "fields @timestamp, @message, @logStream, @log, @ingestionTime | sort @timestamp asc",
    "fields seq, status, a.b, late.x, `odd \"'key`, flag, none, text, @type, @duration | sort @timestamp asc",
    "stats count(*) as n, sum(seq) as s, max(download_time_seconds) as m by status",
    "filter a.b = 7 or a.b = 'dotted' | fields a.b | sort @timestamp asc",
]


@pytest.fixture
def exported(tmp_path):
    assert export(EVENTS, tmp_path / "run's [1].parquet") == len(EVENTS)
    return tmp_path / "run's [1].parquet"


@pytest.mark.parametrize("query", QUERIES)
def test_an_export_answers_as_its_events_do(query, exported):
    assert evaluate(query, exported).rows == evaluate(query, EVENTS).rows


def test_fields_have_columns_of_their_own_and_queries_read_only_those(exported):
    columns = [row[0] for row in duckdb.sql(f"DESCRIBE FROM read_parquet('{_literal(exported)}')").fetchall()]
    assert columns[:4] == ["timestamp", "message", "logStream", "log"]
    assert {"json:/seq", "json:/status", "json:/a.b", "json:/odd \"'key", "json:/flag"} < set(columns)
    assert "json:/late" not in columns and "json:/a" not in columns


def test_a_key_that_the_first_events_lack_is_read_from_the_message(tmp_path):
    events = [event({"x": 1}, FIRST_MS + n) for n in range(2_500)] + [event({"late": 5}, FIRST_MS)]
    export(events, tmp_path / "o.parquet")
    assert evaluate("stats sum(late) as s, count(x) as n", tmp_path / "o.parquet").rows == [{"s": 5, "n": 2_500}]


def test_keys_that_differ_in_case_alone_are_not_taken_for_another(tmp_path):
    export([event({"A": 1, "a": 2}), event({"a": 3})], tmp_path / "o.parquet")
    assert evaluate("stats sum(A) as upper, sum(a) as lower, count(a_1) as none", tmp_path / "o.parquet").rows == [
        {"upper": 1, "lower": 5, "none": 0}
    ]


def test_lines_and_exports_are_read_together(exported, tmp_path):
    (tmp_path / "more.jsonl").write_text(json.dumps(event({"seq": 9})) + "\n")
    assert evaluate("stats count(seq) as n, max(seq) as m", [exported, tmp_path / "more.jsonl"]).rows == [
        {"n": 5, "m": 9}
    ]


def test_a_plain_file_with_timestamps_will_do(tmp_path):
    path = tmp_path / "plain.parquet"
    duckdb.sql(
        "COPY (SELECT TIMESTAMP '2025-01-12 16:40:00' + INTERVAL (n) SECOND AS timestamp,"
        f" '{{\"x\": ' || n || '}}' AS message, 'more' AS other FROM range(3) t(n)) TO '{path}' (FORMAT parquet)"
    )
    assert evaluate("stats sum(x) as s, max(@timestamp) as t", path).rows == [{"s": 3, "t": "2025-01-12 16:40:02.000"}]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("1 AS timestamp", "has no column message"),
        ("'x' AS message", "has no column timestamp"),
        ("'noon' AS timestamp, 'x' AS message", "the column timestamp is VARCHAR"),
        ("1 AS timestamp, 2 AS message", "the column message is INTEGER"),
        ("1 AS timestamp, 'x' AS message, 3 AS \"json:/a\"", "the column json:/a is INTEGER"),
        ("NULL::BIGINT AS timestamp, 'x' AS message", "log event without timestamp"),
        ("1 AS timestamp, NULL::VARCHAR AS message", "log event without message"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_column(tmp_path, columns, words):
    path = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}' (FORMAT parquet)")
    with pytest.raises(EventsError, match=words):
        evaluate("fields @message", path)


def test_notes_are_kept_with_the_file_and_other_files_have_none(exported, tmp_path):
    notes = {"made from": '{"it\'s": "\u00e9"}', "b": ""}
    assert read_notes(exported) == {}
    export(EVENTS, exported, notes)
    assert read_notes(exported) == notes
    (tmp_path / "lines").write_text("no Parquet")
    assert read_notes(tmp_path / "lines") == read_notes(tmp_path / "missing") == read_notes(tmp_path) == {}


def test_an_export_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"timestamp": 1, "message": "ok"}\n{"timestamp": 1}\n')
    with pytest.raises(EventsError, match=r"bad\.jsonl, line 2: log event without message"):
        export(tmp_path / "bad.jsonl", tmp_path / "o.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def _literal(path):
    return str(path).replace("'", "''").replace("[", "[[]")


def test_a_pipe_or_a_device_is_refused_and_stays_what_it_is(tmp_path):
    """For root /dev/full would otherwise become a regular file, and every other program would lose it."""
    pipe = tmp_path / "run.parquet"
    os.mkfifo(pipe)
    with pytest.raises(EventsError, match=r"run\.parquet can't be written: it isn't a file"):
        export([event(record(), 0)], pipe)
    assert pipe.is_fifo()
