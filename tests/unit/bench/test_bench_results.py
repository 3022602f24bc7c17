"""`python -m bench` and `python -m bench.matrix`: what they make of their runs, keep, print and end with."""

import json

import pytest

from bench import __main__ as entries
from bench import machine, matrix, session
from bench.errors import BenchError
from bench.matrix_table import Matrix, Row, keep, markdown
from bench.measure import Entry, Samples, alternate, save
from bench.other_work import Watch


def entry(name, ours=4.0):
    return Entry(name, ours, 2.0, "messages/s", ours / 2, 5)


def table(name):
    rows = (Row("download_file", "tmp", 2.0, 1.8, 100.4), Row("Python stream", "discard", 0.5, 0.3, 20.0))
    return Matrix(name, "1024 MiB over http", 5, "download_file", rows, ("Left out: rclone is missing.",))


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """The process's environment, signals and folder are as before when a test ends."""
    monkeypatch.setattr(session.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(session, "stay_on_loopback", lambda: None)
    monkeypatch.setattr(machine, "prologue", lambda: "it gives: loopback 3.2 GB/s")
    monkeypatch.chdir(tmp_path)


def test_sides_run_in_turn_and_their_medians_give_a_ratio_above_one_when_ours_is_better():
    turns, values = [], {"ours": iter([2.0, 90.0, 2.0]), "peer": iter([8.0, 8.0, 0.1])}

    def side(name):
        return lambda: turns.append(name) or next(values[name])

    samples = alternate(side("ours"), side("peer"), 3, "s")
    assert turns == ["ours", "peer"] * 3
    assert samples.entry("a", "s", higher_is_better=False) == Entry("a", 2.0, 8.0, "s", 4.0, 3)
    assert samples.entry("a", "messages/s", higher_is_better=True).ratio == 0.25


@pytest.mark.parametrize("bad", [(), (0.0,), (float("nan"),)])
def test_runs_that_are_no_measurement_are_refused_with_the_side_named(bad):
    with pytest.raises(BenchError, match=r"^a: the runs of peer gave"):
        Samples((1.0,), bad).entry("a", "s", higher_is_better=False)


def test_a_result_takes_the_place_of_the_one_before_and_leaves_the_others(tmp_path):
    for result in (entry("first"), entry("second"), entry("first", 8.0)):
        save(tmp_path / "bench.json", [result])
    for result in (table("http"), table("small"), table("http")):
        keep(tmp_path / "matrix.json", result)
    kept = json.loads((tmp_path / "bench.json").read_text())
    assert kept == [vars(entry("first", 8.0)), vars(entry("second"))]
    assert [stored["table"] for stored in json.loads((tmp_path / "matrix.json").read_text())] == ["http", "small"]


@pytest.mark.parametrize(
    ("put", "result"), [(save, [entry("first")]), (keep, table("http"))], ids=["entries", "tables"]
)
@pytest.mark.parametrize("content", ["{", "[1]", '[{"name": "a"}]'])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, put, result, content):
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(BenchError, match="move it away"):
        put(path, result)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("command", "registry", "measured", "output", "printed"),
    [
        (entries, "ENTRIES", lambda name: (entry(name), "a server"), "bench.json", "2.00 x"),
        (
            matrix,
            "TABLES",
            table,
            "bench-matrix.json",
            "| Python stream | nowhere | 0.50 | 0.30 | 20 | 4.0 x | 6.0 x |",
        ),
    ],
    ids=["entries", "tables"],
)
def test_only_what_is_named_is_measured_and_a_failure_keeps_what_came_before(
    shell, monkeypatch, tmp_path, capsys, command, registry, measured, output, printed
):
    calls = []

    def failing(runs):
        raise BenchError("mvn is missing: install it")

    def measuring(name):
        return lambda runs: calls.append((name, runs)) or measured(name)

    monkeypatch.setattr(command, registry, {"one": measuring("one"), "two": measuring("two"), "bad": failing})
    assert command.main(["--only", "two", "--only", "two", "--runs", "7"]) == 0
    assert calls == [("two", 7)]
    stdout = capsys.readouterr().out
    assert printed in stdout
    assert "it gives: loopback 3.2 GB/s" in stdout
    assert "--only two --runs 7" in stdout
    assert command.main(["--only", "one", "--only", "bad"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: mvn is missing: install it"
    assert len(json.loads((tmp_path / "results" / output).read_text())) == 2


@pytest.mark.parametrize(
    ("registry", "command", "measured", "mark"),
    [
        (
            "ENTRIES",
            entries,
            lambda name: (entry(name), "a server"),
            "was too busy (above 10%), so these don't count: one",
        ),
        ("TABLES", matrix, table, "too busy for this table to count: other work took 25% of it"),
    ],
    ids=["entries", "tables"],
)
def test_a_figure_measured_beside_much_other_work_is_marked_where_it_is_printed_and_kept(
    shell, monkeypatch, tmp_path, capsys, registry, command, measured, mark
):
    monkeypatch.setattr(command, registry, {"one": lambda runs: measured("one")})
    for share, marked in ((0.25, True), (0.02, False), (None, False)):
        monkeypatch.setattr(Watch, "share", lambda self, share=share: share)
        assert command.main([]) == 0
        assert (mark in capsys.readouterr().out) is marked
    kept = json.loads((tmp_path / "results" / command.OUTPUT.name).read_text())
    assert kept[0].get("others_share", "a table's note") in (None, "a table's note")


def test_results_of_before_other_work_was_watched_are_still_added_to(tmp_path):
    old = {key: value for key, value in vars(entry("old")).items() if key != "others_share"}
    (tmp_path / "bench.json").write_text(json.dumps([old]))
    save(tmp_path / "bench.json", [entry("new")])
    assert [stored["name"] for stored in json.loads((tmp_path / "bench.json").read_text())] == ["old", "new"]


def test_a_client_far_slower_than_the_baseline_keeps_its_ratio():
    rows = (Row("boto3", "bucket", 2.0, 2.0, 48), Row("AWS CLI", "bucket", 1000.0, 600.0, 60))
    text = markdown(Matrix("copy", "1,000 calls", 1, "boto3", rows, ()))
    assert "| AWS CLI | bucket | 1000.00 | 600.00 | 60 | 0.002 x | 0.003 x |" in text


def test_ctrl_c_ends_with_status_130_and_wrong_arguments_with_2(shell, monkeypatch, capsys):
    def interrupted(runs):
        raise KeyboardInterrupt

    monkeypatch.setattr(entries, "ENTRIES", {"one": interrupted})
    assert entries.main([]) == 130
    for arguments, message in (
        (["--only", "x"], "invalid choice: 'x'"),
        (["--runs", "0"], "'0' is not a number of runs"),
    ):
        with pytest.raises(SystemExit) as left:
            entries.main(arguments)
        assert left.value.code == 2
        assert message in capsys.readouterr().err
