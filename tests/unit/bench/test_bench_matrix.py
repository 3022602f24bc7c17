"""`python -m bench.matrix`: its tables, what is left out, and what it keeps."""

import json

import pytest

from bench import download, matrix, session
from bench.errors import BenchError
from bench.matrix_table import Matrix, Row, keep, markdown


def table(name="http", notes=()):
    rows = (Row("download_file", "tmp", 2.0, 1.8, 100.4), Row("Python stream", "discard", 0.5, 0.3, 20.0))
    return Matrix(name, "1024 MiB over http", 5, "download_file", rows, notes)


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """The process's environment, signals and folder are as before when a test ends."""
    monkeypatch.setattr(session.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(session, "stay_on_loopback", lambda: None)
    monkeypatch.chdir(tmp_path)


def test_the_table_sets_every_client_beside_the_baseline():
    lines = markdown(table(notes=("Left out: rclone is missing.",))).splitlines()
    assert lines[0] == "1024 MiB over http:"
    assert lines[4:6] == [
        "| download_file | file | 2.00 | 1.80 | 100 | 1.0 x | 1.0 x |",
        "| Python stream | nowhere | 0.50 | 0.30 | 20 | 4.0 x | 6.0 x |",
    ]
    assert {line.count("|") for line in lines[2:6]} == {8}
    assert lines[-1] == "Left out: rclone is missing."


def test_a_table_takes_the_place_of_the_one_before_and_leaves_the_others(tmp_path):
    path = tmp_path / "results" / "matrix.json"
    for one in (table("http"), table("small"), table("http", notes=("again",))):
        keep(path, one)
    kept = {one["table"]: one for one in json.loads(path.read_text())}
    assert list(kept) == ["http", "small"]
    assert kept["http"]["notes"] == ["again"]
    assert kept["small"]["rows"][1] == {
        "client": "Python stream",
        "bytes_go_to": "discard",
        "wall_s": 0.5,
        "cpu_s": 0.3,
        "peak_mb": 20.0,
    }


@pytest.mark.parametrize("content", ["{", "{}", "[1]", '[{"name": "an entry of bench.json"}]'])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "matrix.json"
    path.write_text(content)
    with pytest.raises(BenchError, match="move it away"):
        keep(path, table())
    assert path.read_text() == content


def test_a_client_that_is_not_installed_is_a_line_that_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    made = download.Gateway("http://127.0.0.1:9", tmp_path, {})
    sides, [note] = matrix._there(made, [matrix.clients.rclone])
    assert sides == []
    assert "apt-get install rclone" in note


def test_every_method_of_the_function_has_its_default_sink_and_a_file():
    ways = matrix.python_ways()
    assert ("stream", "discard") in ways
    assert ("ranges", "memory") in ways
    assert {method for method, sink in ways if sink == "tmp"} == {method for method, _ in ways}
    assert len(set(ways)) == len(ways)
    assert "download_file" not in dict(ways)


def test_only_the_named_tables_are_measured_printed_and_kept(shell, monkeypatch, tmp_path, capsys):
    calls = []

    def measuring(name):
        return lambda runs: calls.append((name, runs)) or table(name)

    monkeypatch.setattr(matrix, "TABLES", {name: measuring(name) for name in ("http", "https", "small")})
    assert matrix.main(["--only", "small", "--only", "http", "--only", "small", "--runs", "6"]) == 0
    assert calls == [("small", 6), ("http", 6)]
    printed = capsys.readouterr().out
    assert printed.count("| Python stream | nowhere |") == 2
    assert "command: python -m bench.matrix --only small --only http --runs 6" in printed
    assert len(json.loads((tmp_path / "results" / "bench-matrix.json").read_text())) == 2


def test_a_failed_table_is_one_line_and_keeps_what_was_measured_before(shell, monkeypatch, tmp_path, capsys):
    def failing(runs):
        raise BenchError("go is missing: install it")

    monkeypatch.setattr(matrix, "TABLES", {"http": lambda runs: table("http"), "small": failing})
    assert matrix.main([]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: go is missing: install it"
    assert len(json.loads((tmp_path / "results" / "bench-matrix.json").read_text())) == 1
