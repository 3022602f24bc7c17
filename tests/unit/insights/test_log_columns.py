"""A run's columns answer for its lines only while they hold exactly those; writing them never fails a run."""

import json
import os
import shutil

import pytest

from loader.unfinished_cell import set_aside
from stampede.insights import EventsError, evaluate, export, log_columns, read_notes
from stampede.insights.backends import Local
from stampede.runs.folder import RunFolder

QUERIES = [
    "fields @ptr, @timestamp, @message, @logStream",
    "fields seq, cell, @type | sort @timestamp asc",
    "stats count(*) as n, sum(seq) as s by cell | sort cell",
]


def event(seq, cell="a"):
    message = json.dumps({"run_id": "r", "cell": cell, "seq": seq}) if seq % 3 else f"REPORT RequestId: {seq}"
    return {"timestamp": 1_736_700_000_000 + seq // 2, "message": message, "logStream": f"s{seq % 2}"}


def add(folder, *seqs, cell="a"):
    folder.append("log_events.jsonl", [event(seq, cell) for seq in seqs])


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path, "r")
    add(made, *range(9))
    log_columns.store(made, at_end=False)
    return made


@pytest.fixture
def lines(folder):
    return folder.path / "log_events.jsonl"


def columns_of(folder):
    return folder.path / "log_events.parquet"


def seqs(path):
    return [row["seq"] for row in evaluate("filter ispresent(seq) | fields seq | sort @timestamp asc", path).rows]


@pytest.mark.parametrize("query", QUERIES)
def test_the_columns_give_the_rows_of_the_lines_in_their_order(query, lines):
    columns = log_columns.stored(lines)
    assert evaluate(query, columns).as_service() == evaluate(query, lines).as_service() != []


def same_length(folder, lines):
    text = lines.read_text()
    lines.write_text(text.replace('\\"seq\\": 1', '\\"seq\\": 7'))


def same_length_and_old_time(folder, lines):
    """What a copy to another folder leaves where it keeps seconds only."""
    state = lines.stat()
    os.utime(lines, ns=(state.st_atime_ns, state.st_mtime_ns // 10**9 * 10**9 - 10**9))


def cell_set_aside(folder, lines):
    folder.append("sent.jsonl", [{"cell": "a", "seq": seq, "sent_at_ms": 1} for seq in range(9)])
    set_aside(folder, "a")


def torn(folder, lines):
    with lines.open("a") as file:
        file.write('{"timestamp": 1, "mess')


def columns_cut_off(folder, lines):
    with columns_of(folder).open("r+b") as file:
        file.truncate(columns_of(folder).stat().st_size - 9)


def columns_of_another_hand(folder, lines):
    export(lines, columns_of(folder))


@pytest.mark.parametrize(
    "happen",
    [
        lambda folder, lines: add(folder, 9),
        same_length,
        same_length_and_old_time,
        cell_set_aside,
        torn,
        columns_cut_off,
        columns_of_another_hand,
        lambda folder, lines: columns_of(folder).write_bytes(b""),
        lambda folder, lines: columns_of(folder).unlink(),
        lambda folder, lines: lines.unlink(),
    ],
)
def test_columns_that_are_not_exactly_the_lines_are_not_used(happen, folder, lines):
    assert log_columns.stored(lines) == columns_of(folder)
    happen(folder, lines)
    assert log_columns.stored(lines) is None


def test_a_run_is_asked_through_its_columns_while_they_are_its_lines(folder, lines):
    notes = read_notes(columns_of(folder))
    export([event(100)], columns_of(folder), notes)  # told apart from the lines by what they hold
    assert [row["seq"] for row in Local.of_run(lines).ask("filter ispresent(seq) | fields seq").rows] == [100]
    add(folder, 10)
    assert Local.of_run(lines).ask("stats max(seq) as m").rows == [{"m": 10}]


def test_columns_that_are_damaged_inside_leave_the_lines_to_answer(folder, lines):
    local = Local.of_run(lines)
    with columns_of(folder).open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 200)
    assert log_columns.stored(lines) is not None
    assert local.ask("stats max(seq) as m, count(*) as n").rows == [{"m": 8, "n": 9}]


def test_a_copy_that_keeps_times_keeps_its_columns(folder, lines, tmp_path):
    shutil.copytree(folder.path, tmp_path / "copy")  # as cp -p, rsync -t
    assert log_columns.stored(tmp_path / "copy" / lines.name) is not None


def test_lines_that_are_the_same_are_not_written_again(folder, lines):
    before = columns_of(folder).stat()
    log_columns.store(folder, at_end=True)
    after = columns_of(folder).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_many_lines_are_not_written_again_after_every_cell(folder, lines, monkeypatch):
    monkeypatch.setattr(log_columns, "_ALWAYS_BELOW_BYTES", 0)
    add(folder, 9, 10)
    log_columns.store(folder, at_end=False)
    assert log_columns.stored(lines) is None
    add(folder, 11, 12, 13)
    log_columns.store(folder, at_end=False)
    assert seqs(log_columns.stored(lines)) == seqs(lines)
    add(folder, 14)
    log_columns.store(folder, at_end=True)
    assert seqs(log_columns.stored(lines)) == seqs(lines)


def test_what_a_killed_writer_left_is_replaced(folder, lines):
    beside = folder.path / ".log_events.parquet.part"
    beside.write_bytes(b"PAR1 and no more")
    add(folder, 9, 10)
    log_columns.store(folder, at_end=True)
    assert seqs(log_columns.stored(lines)) == seqs(lines)
    assert not beside.exists()


@pytest.mark.parametrize(
    ("happen", "reason"),
    [
        (lambda folder: (folder.path / ".log_events.parquet.part").mkdir(), "can't be written"),
        (lambda folder: torn(folder, folder.path / "log_events.jsonl"), "line 11: Malformed JSON"),
    ],
)
def test_columns_that_cannot_be_written_are_one_line_and_no_failure(happen, reason, folder, lines, capsys):
    add(folder, 9)
    happen(folder)
    log_columns.store(folder, at_end=True)
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert "log_events.parquet wasn't written, so queries over the run read the lines" in output and reason in output
    assert log_columns.stored(lines) is None


def test_a_run_without_lines_has_no_columns(tmp_path, capsys):
    folder = RunFolder.create(tmp_path, "empty")
    log_columns.store(folder, at_end=True)
    assert (list(folder.path.iterdir()), capsys.readouterr().err) == ([], "")


def test_a_last_line_that_is_being_written_is_left_out_and_a_bad_one_before_it_is_named(lines):
    before = Local.of_run(lines).ask(QUERIES[2])
    with lines.open("a") as file:
        file.write('{"timestamp": 1736700000000, "mess')
    assert Local.of_run(lines).ask(QUERIES[2]) == before
    lines.write_text("broken\n" + lines.read_text())
    with pytest.raises(EventsError, match="line 1: Malformed JSON"):
        Local.of_run(lines).ask(QUERIES[2])
