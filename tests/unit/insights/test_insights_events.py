"""Where events come from: files and dictionaries, good and bad."""

import codecs
import gzip
import json
from pathlib import Path

import duckdb
import pytest

from stampede.insights import EventsError, QueryError, evaluate, export
from stampede.insights.events.whole_files import check_zstd
from tests.unit.insights.download_log import FIRST_MS, event, record


def write(path: Path, *events: dict) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
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
    check_zstd(zstd)
    zstd.write_bytes(whole + b"garbage")
    with pytest.raises(EventsError, match="cut off or damaged"):
        evaluate("stats count(*) as n", zstd)


@pytest.mark.parametrize("kept", [slice(20), slice(60), slice(-100), slice(-9), slice(-1)])
@pytest.mark.parametrize("damage", ["cut off", "other bytes"])
def test_a_gzip_file_that_was_cut_off_or_changed_anywhere_is_refused(tmp_path, kept, damage):
    path = tmp_path / "log.jsonl.gz"
    whole = gzip.compress("".join(json.dumps(event(f"m{n}", n)) + "\n" for n in range(5_000)).encode())
    rest = whole[kept.stop :]
    path.write_bytes(whole[kept] + (b"" if damage == "cut off" else bytes(255 - byte for byte in rest)))
    with pytest.raises(EventsError, match=r"log\.jsonl\.gz: the gzip file is cut off or damaged; copy it again"):
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
    with pytest.raises(EventsError, match=r"there is no file /nowhere/x\.jsonl"):
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
        ({"timestamp": 1.0, "message": "x"}, "event 2 has no timestamp"),
        ({"timestamp": "1", "message": "x"}, "event 2 has no timestamp"),
        ({"timestamp": 1, "message": True}, "event 2 has no message"),
        ({"timestamp": 1, "message": "x", "ingestionTime": True}, "event 2: ingestionTime is not of type int"),
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


GOOD = '{"timestamp": 1736700000000, "message": "ok"}'
# Lines that are read, though not as plain as most.
ODD = [
    '{"timestamp": 2, "message": {"a": 1}}',
    '{"timestamp": 2, "message": [1, "x"]}',
    '{"timestamp": 2, "message": 1.5}',
    '{"timestamp": 2, "message": true}',
    '{"timestamp": 2, "message": ""}',
    '{"timestamp": "2", "message": "x"}',
    '{"timestamp": " 2 ", "message": "x"}',
    '{"timestamp": 2.4, "message": "x"}',
    '{"timestamp": 1.7367e12, "message": "x"}',
    '{"timestamp": -2, "message": "x"}',
    '{"timestamp": 0, "message": "x"}',
    '{"timestamp": 1, "message": "x", "ingestionTime": 1}',
    '{"timestamp": 2, "message": "x", "logStream": 5, "log": {"a": []}}',
    '{"timestamp": 2, "message": "x", "logStream": null, "ingestionTime": null}',
    '{"timestamp": 2, "message": "x", "ingestionTime": "7"}',
    '{"timestamp": 2, "message": "x", "ingestionTime": 99999999999999999}',
    '{"timestamp": 2, "message": "x",}',
    '{"timestamp": 2, "message": "x", "other": NaN, "other": 1}',
    '{"timestamp": 2, "message": "inf,}", "other": [-inf, nAn, INFINITY,]}',
    '{"timestamp": 2, "message": "x", "Message": "y"}',
    '{"timestamp": 2, "message": "\\u0000 \\ud83d\\ude00"}',
    '{"timestamp": 2, "message": "x", "deep": ' + "[" * 3_000 + "]" * 3_000 + "}",
    '{"timestamp": 2, "message": "x", "digits": ' + "7" * 5_000 + "}",
    "  " + GOOD + " \r",
    " \t",
]
BAD = [
    ('{"timestamp": 2}', "log event without message"),
    ('{"timestamp": 2, "message": null}', "log event without message"),
    ('{"message": "x"}', "log event without timestamp"),
    ('{"timestamp": true, "message": "x"}', "log event without timestamp"),
    ('{"timestamp": false, "message": "x"}', "log event without timestamp"),
    ('{"timestamp": "true", "message": "x"}', "log event without timestamp"),
    ('{"timestamp": "1e3", "message": "x"}', "log event without timestamp"),
    ('{"timestamp": "2.5x", "message": "x"}', "log event without timestamp"),
    ('{"timestamp": "", "message": "x"}', "log event without timestamp"),
    ('{"timestamp": [2], "message": "x"}', "log event without timestamp"),
    ('{"timestamp": 1e20, "message": "x"}', "log event without timestamp"),
    ('{"timestamp": NaN, "message": "x"}', "log event without timestamp"),
    ('{"timestamp": 2, "message": "x", "ingestionTime": true}', "ingestionTime is not a time"),
    ('{"timestamp": 2, "message": "x", "ingestionTime": "noon"}', "ingestionTime is not a time"),
    ('{"timestamp": 2, "timestamp": 3, "message": "x"}', "the key timestamp appears twice"),
    ('{"timestamp": 2, "message": "x", "message": "y"}', "the key message appears twice"),
    ('{"timestamp": 2, "message": "x"', "Malformed JSON"),
    ('{"timestamp": 2, "message": "x"} {}', "Malformed JSON"),
    ("{'timestamp': 2, 'message': 'x'}", "Malformed JSON"),
    ('{"timestamp": 2, "message": "\\ud800"}', "half of a surrogate pair"),
    ('{"timestamp": 2, "message": "\t"}', "Malformed JSON"),
    ('[{"timestamp": 2, "message": "x"}]', "not a JSON object"),
    ('"text"', "not a JSON object"),
    ("5", "not a JSON object"),
    ("INF", "not a JSON object"),
]


@pytest.mark.parametrize(("bad", "words"), BAD)
def test_the_line_that_is_named_is_the_one_that_cannot_be_read(tmp_path, bad, words):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*ODD, bad, GOOD]) + "\n")
    with pytest.raises(EventsError) as caught:
        evaluate("fields @message, @ingestionTime", path)
    assert str(caught.value).startswith(f"{path}, line {len(ODD) + 1}: ")
    assert words in str(caught.value)


def test_odd_lines_are_events(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(ODD))
    query = "fields @message, @ingestionTime, @logStream, toMillis(@timestamp) as t | sort t asc"
    rows = evaluate(query, path).rows
    assert len(rows) == len(ODD) - 1
    assert [row["t"] for row in rows] == [-2, 0, 1, *[2] * 19, 1_736_700_000_000, 1_736_700_000_000]
    assert rows[2] == {"@message": "x", "@ingestionTime": "1970-01-01 00:00:00.001", "t": 1}
    assert {'{"a":1}', '[1,"x"]', "1.5", "true", "", "\0 😀"} < {row["@message"] for row in rows}


def test_line_ends_of_windows_and_none_at_the_end_are_fine_but_a_cut_off_line_is_not(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(f"\r\n{GOOD}\r\n\r\n{GOOD}", newline="")
    assert evaluate("stats count(*) as n", path).rows == [{"n": 2}]
    path.write_text(f"\r\n{GOOD}\r\n\r\n{GOOD[:-3]}", newline="")
    with pytest.raises(EventsError, match="line 4: Malformed JSON"):
        evaluate("fields @message", path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (codecs.BOM_UTF8 + GOOD.encode(), ": begins with a byte order mark"),
        (GOOD.encode("utf-16"), ": begins with a byte order mark"),
        (b'{"timestamp": 2, "message": {"a": 1}}\n{"timestamp": 2, "message": "\xff"}\n', ", line 2: not UTF-8"),
    ],
)
def test_what_is_not_plain_utf_8_is_reported(tmp_path, content, words):
    for path, written in ((tmp_path / "log.jsonl", content), (tmp_path / "log.jsonl.gz", gzip.compress(content))):
        path.write_bytes(written)
        with pytest.raises(EventsError) as caught:
            evaluate("fields @message", path)
        assert str(caught.value).startswith(f"{path}{words}")


def test_the_file_of_several_is_named(tmp_path):
    good, bad = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    good.write_text("\n".join(ODD))
    bad.write_bytes(gzip.compress(f'{GOOD}\n{{"timestamp": true, "message": "x"}}\n'.encode()))
    with pytest.raises(EventsError, match=r"b\.jsonl\.gz, line 2: log event without timestamp"):
        evaluate("fields @message", [good, bad])
    with pytest.raises(EventsError, match=r"b\.jsonl\.gz, line 2: log event without timestamp"):
        export([good, bad], tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("true AS timestamp, 'x' AS message", "true and false are not times"),
        ("2 AS timestamp", "log event without message"),
    ],
)
def test_a_zstd_file_is_named_without_the_line(tmp_path, columns, words):
    path = tmp_path / "log.jsonl.zst"
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}' (FORMAT json, COMPRESSION zstd)")
    with pytest.raises(EventsError) as caught:
        evaluate("fields @message", path)
    assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)


def test_a_line_that_is_too_long_is_named(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(GOOD + "\n" + json.dumps(event("x" * (34 * 2**20))) + "\n")
    with pytest.raises(EventsError, match=r"line 2: longer than 16 MiB; a message in CloudWatch has at most 1 MiB"):
        evaluate("fields @message", path)


def test_a_custom_flow_log_in_a_file_is_refused_by_its_field_whatever_its_times(tmp_path):
    line = "eni-1235b8ca123456789 10.0.0.220 203.0.113.5 10.0.1.5 203.0.113.5"
    path = write(tmp_path / "log.jsonl", event("start"), event(line, 1), event({"bytes": 5}, 2))
    with pytest.raises(QueryError, match="line 1, column 8: no event has srcAddr, and 1 line looks like VPC flow logs"):
        evaluate("fields srcAddr", path)
    assert evaluate("stats sum(bytes) as s", path).rows == [{"s": 5}]


def test_a_number_of_thousands_of_digits_is_written_as_it_was_logged(tmp_path):
    events = [event('{"a": ' + "7" * 5_000 + "}"), event('[INFO] {"a": ' + "8" * 5_000 + "}")]
    export(events, tmp_path / "log.parquet")
    for stored in (events, tmp_path / "log.parquet"):
        assert {row["a"] for row in evaluate("fields a", stored).rows} == {"7" * 5_000, "8" * 5_000}


def test_an_export_of_flow_logs_answers_as_its_lines_do(tmp_path):
    flow = "2 123456789010 eni-1235b8ca123456789 10.0.0.1 10.0.0.2 20641 22 6 20 4249 1418530010 1418530070 ACCEPT OK"
    events = [event(flow), event({"bytes": 5, "protocol": "h2"}), event('[INFO] {"bytes": 7}'), event('{"bytes": 1,}')]
    export(events, tmp_path / "log.parquet")
    query = "stats sum(bytes) as s, count(*) as n by protocol, srcAddr"
    assert evaluate(query, tmp_path / "log.parquet").rows == evaluate(query, events).rows
    assert evaluate("stats sum(bytes) as s", tmp_path / "log.parquet").rows == [{"s": 4261}]


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
