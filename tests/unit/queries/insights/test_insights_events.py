"""Where events come from: files and dictionaries, good and bad."""

import gzip
import json
from pathlib import Path

import duckdb
import pytest

from queries.insights import EventsError, evaluate
from queries.insights.zstd_frames import check_whole
from tests.unit.queries.insights.download_log import FIRST_MS, event, record


def write(path: Path, *events: dict) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return path


def test_a_file_gives_the_same_rows_as_its_events(tmp_path):
    events = [event(record(seq=n), FIRST_MS + n, logStream=f"s{n % 2}", ingestionTime=FIRST_MS + 9) for n in range(20)]
    query = "fields seq, @logStream, @ingestionTime, run_id | sort seq asc"
    path = write(tmp_path / "log_events.jsonl", *events)
    assert evaluate(query, path).rows == evaluate(query, events).rows == evaluate(query, iter(events)).rows
    assert evaluate(query, path).rows[3]["@logStream"] == "s1"


def test_several_files_are_one_set_of_events(tmp_path):
    paths = [write(tmp_path / f"{n}.jsonl", event({"x": n})) for n in range(3)]
    assert evaluate("stats sum(x) as s, count(*) as n", paths).rows == [{"s": 3, "n": 3}]


def test_a_path_with_glob_characters_and_quotes_is_taken_literally(tmp_path):
    path = write(tmp_path / "a[1]*?'x.jsonl", event({"x": 7}))
    write(tmp_path / "a1bc'x.jsonl", event({"x": 1000}))
    assert evaluate("stats sum(x) as s", path).rows == [{"s": 7}]


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "log_events.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(event({"x": 7})).encode()))
    assert evaluate("stats sum(x) as s", path).rows == [{"s": 7}]


def test_a_file_of_zstd_is_read_whatever_its_name(tmp_path):
    lines, path = write(tmp_path / "lines.jsonl", event({"x": 7}), event({"x": 5})), tmp_path / "log.jsonl"
    columns = "columns = {timestamp: 'BIGINT', message: 'VARCHAR'}"
    duckdb.sql(f"COPY (FROM read_json('{lines}', {columns})) TO '{path}' (FORMAT json, COMPRESSION zstd)")
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert evaluate("stats sum(x) as s", path).rows == [{"s": 12}]


@pytest.fixture
def zstd(tmp_path):
    """A zstd file of 2,000 events in several blocks."""
    path = tmp_path / "log.jsonl.zst"
    line = "(1736700000000 + n)::BIGINT AS timestamp, md5(n::VARCHAR) || repeat(md5((n * 7)::VARCHAR), 9) AS message"
    duckdb.sql(f"COPY (SELECT {line} FROM range(2000) t(n)) TO '{path}' (FORMAT json, COMPRESSION zstd)")
    return path


def test_a_file_of_zstd_that_was_cut_off_anywhere_is_refused(zstd):
    whole = zstd.read_bytes()
    assert evaluate("stats count(*) as n", zstd).rows == [{"n": 2_000}]
    for length in [5, 6, 9, 20, *range(100, len(whole), len(whole) // 40), len(whole) - 1]:
        zstd.write_bytes(whole[:length])
        with pytest.raises(EventsError, match=r"log\.jsonl\.zst: the zstd file is cut off or damaged"):
            evaluate("stats count(*) as n", zstd)


def test_frames_of_zstd_behind_one_another_are_one_file(zstd):
    whole = zstd.read_bytes()
    skippable = bytes.fromhex("502a4d18") + (3).to_bytes(4, "little") + b"abc"
    zstd.write_bytes(whole + whole)
    assert evaluate("stats count(*) as n", zstd).rows == [{"n": 4_000}]
    zstd.write_bytes(whole + skippable)
    check_whole(zstd)
    zstd.write_bytes(whole + b"garbage")
    with pytest.raises(EventsError, match="cut off or damaged"):
        evaluate("stats count(*) as n", zstd)


@pytest.mark.parametrize("length", [20, 60, -100, -9, -1])
def test_a_gzip_file_that_was_cut_off_anywhere_is_refused(tmp_path, length):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(
        gzip.compress("".join(json.dumps(event(f"m{n}", n)) + "\n" for n in range(5_000)).encode())[:length]
    )
    with pytest.raises(EventsError, match=r"log\.jsonl\.gz, after line \d+: the file can't be read on"):
        evaluate("stats count(*) as n", path)


def test_members_of_gzip_behind_one_another_are_one_file(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    member = gzip.compress((json.dumps(event("m")) + "\n").encode() * 1_000)
    path.write_bytes(member * 3)
    assert evaluate("stats count(*) as n", path).rows == [{"n": 3_000}]


def test_a_message_that_is_no_string_counts_by_its_json_text(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"timestamp": "5", "message": {"x": 7}}\n{"timestamp": 6.4, "message": 12}\n')
    rows = evaluate("fields toMillis(@timestamp) as t, @message, x | sort t asc", path).rows
    assert rows == [{"t": 5, "@message": '{"x":7}', "x": 7}, {"t": 6, "@message": "12"}]


def test_no_events_give_no_rows_but_a_total(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert evaluate("fields a", []).rows == []
    assert evaluate("stats count(*) as n", tmp_path / "empty.jsonl").rows == [{"n": 0}]
    assert evaluate("stats count(*) as n by a", []).rows == []


def test_a_missing_file_is_named():
    with pytest.raises(EventsError, match=r"no file /nowhere/x\.jsonl"):
        evaluate("fields a", "/nowhere/x.jsonl")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"timestamp": 1, "mess', "Malformed JSON"),
        ('{"timestamp": "noon", "message": "x"}', "line 2"),
        ('{"timestamp": 1}', "log event without message"),
        ('{"message": "x"}', "log event without timestamp"),
        ("[1, 2]", "JSON"),
        ('{"timestamp": 1736700000000000, "message": "x"}', "not in ms since 1970"),
    ],
)
def test_a_bad_line_in_a_file_is_one_clear_line(tmp_path, line, words):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(event("ok")) + "\n" + line + "\n")
    with pytest.raises(EventsError, match=words) as caught:
        evaluate("fields @message", path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"message": "x"}, "event 2 has no timestamp"),
        ({"timestamp": 1}, "event 2 has no message"),
        ({"timestamp": True, "message": "x"}, "event 2 has no timestamp"),
        ({"timestamp": 1.5, "message": "x"}, "event 2 has no timestamp"),
        ({"timestamp": 1, "message": {"a": 1}}, "event 2 has no message"),
        ({"timestamp": 1, "message": "x", "logStream": 5}, "event 2: logStream is not of type str"),
        ({"timestamp": 1_736_700_000_000_000, "message": "x"}, "is not in ms since 1970"),
        ({"timestamp": 1, "message": "x", "ingestionTime": 2**70}, "can't be stored"),
        ({"timestamp": 1, "message": "\ud800"}, "can't be stored"),
        ("text", "event 2 is a str"),
    ],
)
def test_a_bad_event_is_named_by_its_number(bad, words):
    with pytest.raises(EventsError, match=words):
        evaluate("fields a", [event("ok"), bad])


def test_names_and_values_cannot_smuggle_in_sql():
    events = [event({"it's; drop": "a'b", "x": 1}), event({"x": 2})]
    query = """fields `it's; drop` as `k" --` | filter `it's; drop` = "a'b" and @message like /'|;/"""
    assert evaluate(query, events).rows == [{'k" --': "a'b"}]
    rows = evaluate("""parse @message "a'*\\"" as `'); --` | stats count(*) as `n'` by `'); --`""", events).rows
    assert rows == [{"'); --": "b", "n'": 1}, {"n'": 1}]


def test_a_number_beyond_all_calendars_makes_no_timestamp():
    events = [event({"x": x}) for x in (1e300, 1e15, -1e15, 1_736_700_000_000)]
    rows = evaluate("fields dateceil(fromMillis(x), 1000d) as t | filter ispresent(t)", events).rows
    assert rows == [{"t": "2027-07-01 00:00:00.000"}]
