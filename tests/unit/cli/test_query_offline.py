"""`stampede query` over exported lines and stored runs, without AWS."""

import _thread
import gzip
import json
import threading

import pytest

from stampede.cli.verbs import query
from stampede.insights.commands.pipeline import Pipeline

FIRST_MS = 1_736_700_000_000


def line(seq, seconds=12.5, run_id="r"):
    record = {
        "concurrency_limit": 1,
        "download_time_seconds": seconds,
        "memory_size": 1024,
        "run_id": run_id,
    }
    record |= {"message_id": f"m{seq}", "sandbox_id": "s", "status": "ok", "warm_up": 0}
    event = {"timestamp": FIRST_MS + seq, "message": json.dumps(record), "logStream": "s"}
    return json.dumps(event) + "\n"


@pytest.fixture
def logs(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(line(0, 12.5) + line(1, 13.5, "another"))
    return path


@pytest.fixture
def rows(stampede, logs):
    """A function that returns the rows of a query over log.jsonl or another file."""

    def ask(name, *arguments, file="log.jsonl"):
        done = stampede("query", name, "--logs", file, "--format", "json", *arguments)
        assert done.status == 0, done.err
        return json.loads(done.out)

    return ask


@pytest.fixture
def stored(logs, tmp_path):
    """A function that stores the lines as the run `r`, which sent two messages."""

    def store(**run):
        folder = tmp_path / "results" / "r"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"target": "local"} | run))
        sent = [
            {"cell": "c", "seq": seq, "message_id": f"m{seq}", "sent_at_ms": 1} for seq in (0, 9)
        ]
        (folder / "sent.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sent))
        (folder / "log_events.jsonl").write_text(logs.read_text())
        return folder

    return store


def test_plain_compressed_and_parquet_lines_give_the_same_typed_rows_by_any_file_name(
    rows, logs, stampede, tmp_path
):
    expected = {"memory_size_mb": 1024, "concurrency": 1, "count": 2, "min_s": 12.5, "max_s": 13.5}
    expected |= {"p25_s": 12.5, "avg_s": 13, "p75_s": 13.5}
    assert rows("download/summary", "--export", "log.parquet") == [expected]
    logs.with_suffix(".jsonl.gz").write_bytes(gzip.compress(logs.read_bytes()))
    (tmp_path / "lines.parquet").write_bytes(logs.read_bytes())
    for name in ("log.jsonl.gz", "log.parquet", "lines.parquet"):
        assert rows("download/summary", file=name) == [expected]
    [together] = rows("download/summary", "--logs", "log.parquet")
    assert together["count"] == 4
    [narrowed] = rows("download/summary", "--where", "run_id=another")
    assert (narrowed["count"], narrowed["min_s"]) == (1, 13.5)
    before = logs.read_bytes()
    done = stampede("query", "summary", "--logs", "lines.parquet", "--export", "lines.parquet")
    assert (done.status, (tmp_path / "lines.parquet").read_bytes()) == (2, before)


def test_csv_and_tables_have_the_digits_of_the_service_and_json_has_all(
    rows, stampede, logs, tmp_path
):
    logs.write_text(line(0, 0.1) + line(1, 1.5) + line(2, 200 / 3))
    mean, third = "avg(download_time_seconds) as mean", "min(download_time_seconds) / 3 as third"
    (tmp_path / "q.cwli").write_text(f"stats {mean}, {third}, max(none) as none")
    assert rows("q.cwli") == [{"mean": pytest.approx(22.755555555555556), "third": 0.1 / 3}]
    query = ("query", "q.cwli", "--logs", "log.jsonl", "--format")
    csv, table = stampede(*query, "csv").out, stampede(*query, "table").out
    assert csv == "mean,third,none\n22.7556,0.03333,\n"
    assert table.split()[-2:] == ["22.7556", "0.03333"]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("log.jsonl", line(0).encode() + b'{"timestamp": 5, "mess', "line 2"),
        ("log.jsonl", b'{"timestamp": 5, "message": "\xff"}\n', "UTF-8"),
        ("log.jsonl", b"PAR1 and no more", "Parquet"),
        ("q.cwli", b"fields a\n| pattern @message", "line 2, column 3"),
        ("q.cwli", b"fields \xff", "UTF-8"),
        ("log.jsonl", "".join(map(line, range(10_001))).encode(), "limit"),
    ],
)
def test_refused_lines_or_queries_are_named_and_nothing_is_printed(
    logs, stampede, tmp_path, file, content, words
):
    (tmp_path / "q.cwli").write_text("fields status")
    (tmp_path / file).write_bytes(content)
    done = stampede("query", "q.cwli", "--logs", "log.jsonl", "--export", "o.parquet")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err and (words == "limit" or file in done.err)
    assert not (tmp_path / "o.parquet").exists()


def test_a_name_means_the_query_of_the_runs_experiment_or_the_only_one(
    stampede, stored, tmp_path, monkeypatch
):
    for name in ("download/summary", "download/speed", "copy/summary"):
        (tmp_path / "saved" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "saved" / f"{name}.cwli").write_text(f"fields '{name}' as which | limit 1")
    monkeypatch.setattr(query, "QUERIES", tmp_path / "saved")
    stored(experiment="copy")
    for name, which in (
        ("summary", "copy/summary"),
        ("speed", "download/speed"),
        ("download/summary", "download/summary"),
    ):
        done = stampede("query", name, "--format", "csv")
        assert (done.out, "run r: the newest" in done.err) == (f"which\n{which}\n", True)
    done = stampede("query", "summary", "--logs", "log.jsonl")
    assert (done.status, "use copy/summary or download/summary" in done.err) == (2, True)


def test_a_stored_run_is_evaluated_locally_and_missing_records_are_reported(stampede, stored):
    folder = stored(experiment="copy_host")
    done = stampede("query", "download/summary", "--format", "json")
    assert [row["count"] for row in json.loads(done.out)] == [1]
    assert "no record of 1 of its 2 messages" in done.err and "`stampede drain --run r`" in done.err
    # Its records and lines that aren't records, such as a function's own, but no other run's.
    own = json.dumps({"timestamp": FIRST_MS, "message": "loaded 3 rows"})
    (folder / "log_events.jsonl").write_text((folder / "log_events.jsonl").read_text() + own)
    (folder / "own.cwli").write_text("stats count(*) as n")
    done = stampede("query", str(folder / "own.cwli"), "--format", "csv")
    assert done.out == "n\n2\n"
    (folder / "log_events.jsonl").unlink()
    done = stampede("query", "summary")
    assert (done.status, "`stampede drain --run r`" in done.err) == (2, True)


def test_ctrl_c_in_a_long_query_is_status_130_and_no_traceback(logs, stampede, monkeypatch):
    # takes seconds: DuckDB may see an interrupt only between parts of its work
    def endless(*_):
        threading.Timer(0.2, _thread.interrupt_main).start()
        return "SELECT count(*) FROM range(500000000) WHERE range % 7 = 8", []

    monkeypatch.setattr(Pipeline, "sql", endless)
    done = stampede("query", "summary", "--logs", "log.jsonl")
    assert (done.status, done.out, done.err) == (130, "", "stampede query: interrupted\n")
