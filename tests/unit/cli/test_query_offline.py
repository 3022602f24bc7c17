"""`stampede query` over exported lines and stored runs, without AWS."""

import _thread
import csv
import gzip
import io
import json
import os
import shutil
import threading
from pathlib import Path

import duckdb
import pytest

from stampede.cli.command_line import main
from stampede.insights.commands.pipeline import Pipeline

FIRST_MS = 1_736_700_000_000


def sent(seq):
    return json.dumps({"cell": "c", "seq": seq, "message_id": f"m{seq}", "sent_at_ms": 1}) + "\n"


def line(seq, seconds=12.5, run_id="run-a"):
    record = {
        "concurrency_limit": 1,
        "download_time_seconds": seconds,
        "memory_size": 1024,
        "run_id": run_id,
        "message_id": f"m{seq}",
        "status": "ok",
        "warm_up": 0,
    }
    return json.dumps({"timestamp": FIRST_MS + seq, "message": json.dumps(record), "logStream": "s"}) + "\n"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text(line(0, 12.5) + line(1, 13.5, "run-b"))
    return tmp_path / "log.jsonl"


def summary(capsys, path, *more):
    assert main(["query", "download/summary", "--logs", str(path), "--format", "json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_lines_plain_compressed_and_as_parquet_give_the_same_typed_rows(logs, capsys):
    rows = summary(capsys, logs, "--export", "log.parquet")
    assert rows == [
        {"memory_size_mb": 1024, "concurrency": 1, "count": 2, "min_s": 12.5, "max_s": 13.5}
        | {"p25_s": 12.5, "avg_s": 13, "p75_s": 13.5}
    ]
    compressed = logs.with_suffix(".jsonl.gz")
    compressed.write_bytes(gzip.compress(logs.read_bytes()))
    assert summary(capsys, compressed) == rows
    assert summary(capsys, logs.with_suffix(".parquet")) == rows


def test_csv_and_a_table_have_what_the_service_prints_and_json_every_digit(logs, capsys):
    logs.write_text(line(0, 0.1) + line(1, 1.5) + line(2, 200 / 3))
    (file := logs.with_name("mine.cwli")).write_text(
        "stats avg(download_time_seconds) as mean, min(download_time_seconds) / 3 as third"
    )
    printed = {}
    for form in ("csv", "table", "json"):
        assert main(["query", str(file), "--logs", str(logs), "--format", form]) == 0
        printed[form] = capsys.readouterr().out
    assert printed["csv"] == "mean,third\n22.7556,0.03333\n"
    assert printed["table"].split()[-2:] == ["22.7556", "0.03333"]
    assert json.loads(printed["json"]) == [{"mean": pytest.approx(22.755555555555556), "third": 0.1 / 3}]


def test_where_narrows_the_query(logs, capsys):
    [row] = summary(capsys, logs, "--where", "run_id=run-b")
    assert (row["count"], row["min_s"]) == (1, 13.5)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("memory_sise=1024", "no line has the field memory_sise; did you mean memory_size?"),
        ("zzz=1", "no line has the field zzz"),
        ("memory_size=1", "no line fits the query and its filters"),
    ],
)
def test_a_field_that_no_line_has_is_named(where, words, logs, capsys):
    assert main(["query", "download/summary", "--logs", str(logs), "--where", where]) == 0
    assert capsys.readouterr().err.endswith(f"no rows: {words}\n")


def test_a_count_of_nothing_is_said_to_be_one(logs, capsys):
    assert main(["query", "download/published", "--logs", str(logs)]) == 0
    words = "nothing counted: no line fits the query and its filters and has its fields\n"
    assert capsys.readouterr().err.endswith(words)


@pytest.mark.parametrize(
    "text",
    [
        "stats sum(warm_up) as warm",
        "fields warm_up | limit 1",
        "fields nofield | limit 1",
        "fields 1/0 as x | limit 1",
        "stats sum(nofield) by nofield",
    ],
)
def test_a_row_of_events_that_are_there_is_not_called_nothing(text, logs, capsys):
    (logs.parent / "q.cwli").write_text(text)
    assert main(["query", "q.cwli", "--logs", str(logs)]) == 0
    assert "counted" not in capsys.readouterr().err


def test_a_saved_query_of_another_experiment_than_the_runs_is_named(logs, capsys):
    folder = logs.parent / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"target": "local", "experiment": "copy_host"}')
    (folder / "sent.jsonl").write_text(sent(0))
    (folder / "log_events.jsonl").write_text(line(0, run_id="run-b"))
    assert main(["query", "slowdowns"]) == 0
    err = capsys.readouterr().err
    assert "run run-a: the newest\n" in err and err.endswith("no rows: no line fits the query and its filters\n")
    assert main(["query", "speed"]) == 0
    message = "no rows: speed is a query of download, and the run is of copy_host; name another run with --run\n"
    assert capsys.readouterr().err.endswith(message)


def test_csv_has_a_header_and_leaves_missing_values_empty(logs, capsys):
    (logs.parent / "q.cwli").write_text("fields none, status | limit 1")
    assert main(["query", "q.cwli", "--logs", str(logs), "--format", "csv"]) == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [["none", "status"], ["", "ok"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json\n", "log.jsonl, line 1: Malformed JSON"),
        (line(0).encode() + b'{"timestamp": 5, "mess', "log.jsonl, line 2: Malformed JSON"),
        (line(0).encode() + b'{"timestamp": 5}\n', "log.jsonl, line 2: log event without message"),
        (line(0).encode() + b'\n{"message": "x"}\n', "log.jsonl, line 3: log event without timestamp"),
        (b"[1, 2]\n", "log.jsonl, line 1: not a JSON object"),
        (b'{"timestamp": 5, "message": "\xff"}\n', "log.jsonl, line 1: not UTF-8"),
        (b"PAR1 and no more", "log.jsonl can't be read as Parquet"),
        (b"\x1f\x8b and no more", "log.jsonl: the gzip file is cut off or damaged"),
        (gzip.compress(line(0).encode() + b"not json\n", mtime=0), "log.jsonl, line 2: Malformed JSON"),
        (b"\xef\xbb\xbf" + line(0).encode(), "log.jsonl: begins with a byte order mark"),
    ],
)
def test_a_file_that_is_something_else_is_one_line_and_status_2(logs, capsys, content, words):
    logs.write_bytes(content)
    assert main(["query", "summary", "--logs", str(logs)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("stampede: --logs: ")
    assert words in printed.err
    assert printed.err.count("\n") == 1


def test_several_files_of_any_form_are_one_set_of_lines(logs, capsys):
    summary(capsys, logs, "--export", "log.parquet")
    logs.with_suffix(".jsonl.gz").write_bytes(gzip.compress(line(2, 20.0).encode()))
    rows = summary(capsys, logs, "--logs", "log.jsonl.gz", "--logs", "log.parquet")
    assert [(row["count"], row["max_s"]) for row in rows] == [(5, 20)]


@pytest.mark.parametrize("content", [b"", b"\n\n", gzip.compress(b"", mtime=0)])
def test_a_file_without_lines_has_no_rows_and_a_count_of_0(logs, capsys, content):
    logs.write_bytes(content)
    assert summary(capsys, logs) == []
    (logs.parent / "q.cwli").write_text("stats count(*) as n")
    assert main(["query", "q.cwli", "--logs", str(logs), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 0}]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("1 AS timestamp, 'x' AS text", "other.parquet has no column message"),
        ("'noon' AS timestamp, 'x' AS message", "other.parquet: the column timestamp is VARCHAR"),
    ],
)
def test_a_parquet_file_with_other_columns_is_one_line_and_status_2(logs, capsys, columns, words):
    duckdb.sql(f"COPY (SELECT {columns}) TO 'other.parquet' (FORMAT parquet)")
    assert main(["query", "summary", "--logs", str(logs), "--logs", "other.parquet"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("stampede: --logs: ") and words in printed.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.cwli", "there is no file none.cwli"),
        ("folder.cwli", "folder.cwli is a folder"),
        ("pipe.cwli", "pipe.cwli is a pipe or a device"),
    ],
)
def test_what_is_no_file_is_named_as_what_it_is_also_among_others(logs, capsys, name, words):
    (logs.parent / "folder.cwli").mkdir()
    os.mkfifo(logs.parent / "pipe.cwli")
    assert main(["query", "summary", "--logs", str(logs), "--logs", name]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert f"{words}; give a file of log events" in printed.err
    assert main(["query", name, "--logs", str(logs)]) == 2
    assert f"NAME|FILE: {words}; " in capsys.readouterr().err.replace("'", "")


def test_lines_are_not_written_over_themselves(logs, capsys):
    logs = logs.rename(logs.with_suffix(".parquet"))  # what is in it tells that it isn't Parquet
    before = logs.read_bytes()
    assert main(["query", "summary", "--logs", "log.parquet", "--export", str(logs)]) == 2
    assert "holds the lines that are read" in capsys.readouterr().err
    assert logs.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("fields a\n| pattern @message", "q.cwli: line 2, column 3: the command pattern is not supported"),
        ("stats count(*) by", "q.cwli: line 1, column 18"),
        ("filter a like /(?=x)/", "look-ahead"),
    ],
)
def test_a_query_that_is_refused_names_the_file_and_prints_nothing(logs, capsys, query, words):
    (logs.parent / "q.cwli").write_text(query)
    assert main(["query", "q.cwli", "--logs", str(logs), "--export", "o.parquet"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert words in printed.err
    assert not (logs.parent / "o.parquet").exists()


def test_a_query_file_that_is_no_text_is_refused(logs, capsys):
    (logs.parent / "q.cwli").write_bytes(b"\xff\xfe")
    assert main(["query", "q.cwli", "--logs", str(logs)]) == 2
    assert "can't be read as UTF-8 text" in capsys.readouterr().err


def test_a_result_that_was_cut_off_is_an_error_unless_the_query_has_a_limit(logs, capsys):
    logs.write_text("".join(line(seq) for seq in range(10_001)))
    (logs.parent / "q.cwli").write_text("fields status")
    assert main(["query", "q.cwli", "--logs", str(logs)]) == 2
    assert capsys.readouterr().out == ""
    (logs.parent / "q.cwli").write_text("fields status | limit 10001")
    assert main(["query", "q.cwli", "--logs", str(logs), "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 10_002


def test_a_period_that_the_service_caps_is_reported(logs, capsys):
    (logs.parent / "q.cwli").write_text("stats count(*) as n by bin(300s)")
    assert main(["query", "q.cwli", "--logs", str(logs)]) == 0
    assert "treats 300s as 60s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("no/such/folder/o.parquet", "must be a file in a folder that exists, got 'no/such/folder/o.parquet'"),
        ("x.txt", "must be a file that ends in .parquet, got 'x.txt'"),
    ],
)
def test_an_export_that_cannot_be_written_is_refused_before_anything_is_read(file, words, logs, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["query", "summary", "--logs", str(logs), "--export", file])
    assert capsys.readouterr().err == f"stampede query: argument --export: {words}; see `stampede query --help`\n"


@pytest.mark.parametrize(("option", "value"), [("--outputs", "nix"), ("--region", "nix"), ("--target", "aws")])
def test_what_says_which_stack_is_refused_where_none_is_asked(option, value, logs, capsys, monkeypatch):
    folder = logs.parent / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"target": "local"}')
    (folder / "log_events.jsonl").write_text(logs.read_text())
    assert main(["query", "summary", "--run", "run-a", option, value]) == 2
    why = "run run-a was on the embedded AWS: its stored lines are queried; leave it out"
    if option == "--target":
        why = "run run-a was on this machine; leave --target out and unset STAMPEDE_TARGET"
    assert capsys.readouterr() == ("", f"stampede: {option}: {why}\n")
    assert main(["query", "summary", "--logs", str(logs), option, value]) == 2
    assert capsys.readouterr() == ("", f"stampede: {option}: --logs needs no stack; leave it out\n")
    monkeypatch.setenv("STAMPEDE_TARGET", "aws")  # of a whole shell, and not of this command
    assert main(["query", "summary", "--logs", str(logs)]) == 0


def test_a_file_that_is_not_what_its_name_says_is_said_to_be_none_of_it(logs, capsys):
    shutil.copy(logs, "good.parquet")  # what can be read is read
    Path("bad.parquet").write_bytes(b"PAR2 or so\n")
    assert main(["query", "summary", "--logs", "good.parquet"]) == 0
    assert main(["query", "summary", "--logs", "bad.parquet"]) == 2
    assert "(despite its name the file isn't Parquet)" in capsys.readouterr().err


def test_no_name_of_a_query_is_refused(logs, capsys):
    assert main(["query", "", "--logs", str(logs)]) == 2
    assert "NAME|FILE: must be the name of a query, or a .cwli file, got ''" in capsys.readouterr().err


def test_a_run_and_exported_lines_are_not_queried_together(logs, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["query", "summary", "--run", "r", "--logs", str(logs)])
    assert "argument --logs: not allowed with argument --run" in capsys.readouterr().err


def test_a_stored_local_run_is_evaluated_here_and_missing_records_are_reported(logs, capsys):
    folder = logs.parent / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"target": "local"}')
    (folder / "sent.jsonl").write_text(sent(0) + sent(9))
    (folder / "log_events.jsonl").write_text(logs.read_text())
    assert main(["query", "summary", "--run", "run-a", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert [row["count"] for row in json.loads(printed.out)] == [1]
    said = " ".join(printed.err.split())
    assert "run run-a has no record of 1 of its 2 messages among the stored lines" in said
    assert "`stampede drain --run run-a` accounts for them" in said


def test_a_message_that_the_account_has_as_a_dead_letter_is_said_to_be_one(logs, capsys):
    folder = logs.parent / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"target": "local"}')
    (folder / "sent.jsonl").write_text(sent(0) + sent(9))
    (folder / "accounting.json").write_text('[{"cell": "c", "sent": 2, "succeeded": 1, "dead_lettered": 1}]')
    (folder / "log_events.jsonl").write_text(logs.read_text())
    assert main(["query", "summary", "--run", "run-a"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "of its 2 messages among these lines: the account lists 1 as dead-lettered or unanswered" in said


def test_figures_of_the_emulators_own_lines_are_said_to_be_its_own(logs, capsys):
    folder = logs.parent / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"target": "local"}')
    (folder / "log_events.jsonl").write_text(logs.read_text())
    assert main(["query", "reports", "--run", "run-a", "--format", "json"]) == 0
    assert "REPORT lines of this run" not in capsys.readouterr().err, "there are none"
    report = "REPORT RequestId: r Duration: 5.1 ms Billed Duration: 6 ms Memory Size: 128 MB Max Memory Used: 40 MB"
    with (folder / "log_events.jsonl").open("a") as lines:
        lines.write(json.dumps({"timestamp": 1, "message": report}) + "\n")
    assert main(["query", "reports", "--run", "run-a", "--format", "json"]) == 0
    assert "REPORT lines of this run are the embedded AWS's" in " ".join(capsys.readouterr().err.split())
    assert main(["query", "reports", "--run", "run-a", "--target", "aws"]) == 2
    assert "run run-a was on this machine" in capsys.readouterr().err


def test_ctrl_c_in_a_long_query_is_status_130_and_no_traceback(logs, capsys, monkeypatch):
    def endless(*_):  # seconds: DuckDB may come to see an interrupt only when a thread has done its part
        threading.Timer(0.2, _thread.interrupt_main).start()
        return "SELECT count(*) FROM range(500000000) WHERE range % 7 = 8", []

    monkeypatch.setattr(Pipeline, "sql", endless)
    assert main(["query", "summary", "--logs", str(logs)]) == 130
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "stampede query: interrupted\n")
