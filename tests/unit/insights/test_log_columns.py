"""A run's columns answer for its lines only while they match exactly; failing to write them never
fails a run."""

import json
import os
import shutil

import pytest

from stampede.errors import UsageError
from stampede.insights import EventsError, evaluate, export, log_columns, read_notes
from stampede.insights.backends import Local
from stampede.runs.folder import RunFolder

QUERIES = [
    "fields @ptr, @timestamp, @message, @logStream",
    "fields seq, cell, @type | sort @timestamp asc",
    "stats count(*) as n, sum(seq) as s by cell | sort cell",
]


def event(seq, cell="a"):
    message = (
        json.dumps({"run_id": "r", "cell": cell, "seq": seq})
        if seq % 3
        else f"REPORT RequestId: {seq}"
    )
    return {
        "timestamp": 1_736_700_000_000 + seq // 2,
        "message": message,
        "logStream": f"s{seq % 2}",
    }


def add(folder, *seqs):
    folder.append("log_events.jsonl", [event(seq) for seq in seqs])


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path, "r")
    add(made, *range(9))
    log_columns.store(made, at_end=False)
    return made


@pytest.fixture
def lines(folder):
    return folder.path / "log_events.jsonl"


@pytest.fixture
def columns(folder):
    return folder.path / "log_events.parquet"


def highest(path):
    return evaluate("stats max(seq) as m", path).rows[0]["m"]


def test_the_columns_give_the_rows_of_the_lines_in_their_order(lines, columns, folder, tmp_path):
    assert log_columns.stored(lines) == columns
    for query in QUERIES:
        assert evaluate(query, columns).as_service() == evaluate(query, lines).as_service() != []
    shutil.copytree(folder.path, tmp_path / "copy")  # like cp -p, rsync -t
    assert log_columns.stored(tmp_path / "copy" / lines.name) is not None


def change_within(lines, columns):
    lines.write_text(lines.read_text().replace('\\"seq\\": 1', '\\"seq\\": 7'))


@pytest.mark.parametrize(
    "happen",
    [
        change_within,
        lambda lines, columns: os.truncate(columns, 100),
        lambda lines, columns: export(lines, columns),  # by hand
        lambda lines, columns: lines.unlink(),
    ],
)
def test_columns_that_do_not_match_the_lines_are_not_used(happen, lines, columns):
    happen(lines, columns)
    assert log_columns.stored(lines) is None


def test_a_run_is_queried_through_its_columns_while_they_match(folder, lines, columns):
    query, notes = "stats max(seq) as m", read_notes(columns)
    whole = columns.read_bytes()
    footer = whole[-8 - int.from_bytes(whole[-8:-4], "little") :]
    columns.write_bytes(b"PAR1" + b"\xff" * (len(whole) - 4 - len(footer)) + footer)
    assert log_columns.stored(lines) is not None
    assert Local.of_run(lines).ask(query).rows == [{"m": 8}]
    export([event(100)], columns, notes)  # with other contents than the lines
    assert Local.of_run(lines).ask(query).rows == [{"m": 100}]
    add(folder, 10)
    assert Local.of_run(lines).ask(query).rows == [{"m": 10}]


def test_columns_are_written_for_new_lines_but_large_ones_not_after_every_cell(
    folder, lines, columns, monkeypatch
):
    before = columns.stat()
    log_columns.store(folder, at_end=True)
    assert columns.stat().st_ino == before.st_ino
    monkeypatch.setattr(log_columns, "_ALWAYS_BELOW_BYTES", 0)
    add(folder, 10)
    log_columns.store(folder, at_end=False)
    assert log_columns.stored(lines) is None
    add(folder, 11, 12, 13, 14)  # grown by half
    log_columns.store(folder, at_end=False)
    assert highest(log_columns.stored(lines)) == 14
    add(folder, 16)
    beside = folder.path / ".log_events.parquet.part"
    beside.write_bytes(b"PAR1 and no more")  # left by a killed writer
    log_columns.store(folder, at_end=True)
    assert highest(log_columns.stored(lines)) == 16
    assert not beside.exists()


def block_writing(folder, lines):
    (folder.path / ".log_events.parquet.part").mkdir()


def tear_last_line(folder, lines):
    with lines.open("a") as file:
        file.write('{"timestamp": 1, "mess')


@pytest.mark.parametrize(
    ("happen", "reason"), [(block_writing, "can't be written"), (tear_last_line, "line 11: ")]
)
def test_a_failure_to_write_columns_is_one_line_and_not_an_error(
    happen, reason, folder, lines, capsys
):
    add(folder, 9)
    happen(folder, lines)
    log_columns.store(folder, at_end=True)
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and reason in output
    assert "log_events.parquet wasn't written" in output
    assert log_columns.stored(lines) is None


def test_a_run_without_lines_has_no_columns(tmp_path, capsys):
    folder = RunFolder.create(tmp_path, "empty")
    log_columns.store(folder, at_end=True)
    assert (list(folder.path.iterdir()), capsys.readouterr().err) == ([], "")


def test_an_incomplete_last_line_is_ignored_and_a_bad_earlier_one_is_named(folder, lines):
    before = Local.of_run(lines).ask(QUERIES[2])
    tear_last_line(folder, lines)
    assert Local.of_run(lines).ask(QUERIES[2]) == before
    lines.write_text("broken\n" + lines.read_text())
    with pytest.raises(EventsError, match="line 1: Malformed JSON"):
        Local.of_run(lines).ask(QUERIES[2])


def test_an_incomplete_answer_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(event(seq)) + "\n" for seq in range(10_001)))
    with pytest.raises(UsageError, match="10,000 rows"):
        Local((path,)).ask("fields seq")
