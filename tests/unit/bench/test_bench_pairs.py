"""`python -m bench`: what it makes of its runs, keeps, prints and ends with."""

import json
import os
from types import SimpleNamespace

import pytest

from bench import __main__ as bench
from bench import machine
from bench.errors import BenchError
from bench.pairs import Entry, Side, compare, in_turn, save


def entry(name, ours=4.0):
    return Entry(name, ours, 2.0, "messages/s", ours / 2, 5)


def side(name, *values):
    return Side(name, dict, [{"s": value} for value in values])


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """The process's environment, signals and folder are as before when a test ends."""
    monkeypatch.setattr(bench.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(bench, "stay_on_loopback", lambda: None)
    monkeypatch.chdir(tmp_path)


def test_sides_run_in_turn_after_one_run_that_does_not_count_and_their_medians_are_compared():
    turns, values = [], {"ours": iter([77.0, 2.0, 90.0, 2.0]), "peer": iter([77.0, 8.0, 8.0, 0.1])}

    def run(name):
        return lambda: turns.append(name) or {"s": next(values[name])}

    pair = [Side(name, run(name)) for name in values]
    in_turn(pair, 3)
    assert turns == ["ours", "peer"] * 4
    assert compare("a", *pair, "s", "s") == Entry("a", 2.0, 8.0, "s", 4.0, 3)
    assert compare("a", *pair, "s", "messages/s", more_is_better=True).ratio == 0.25


@pytest.mark.parametrize("bad", [(), (0.0,), (3.0, float("nan"))])
def test_runs_that_are_no_measurement_are_refused_with_the_side_named(bad):
    with pytest.raises(BenchError, match=r"^a: the runs of peer gave"):
        compare("a", side("ours", 1.0), side("peer", *bad), "s", "s")


def test_a_result_takes_the_place_of_the_one_before_and_leaves_the_others(tmp_path):
    for result in (entry("first"), entry("second"), entry("first", 8.0)):
        save(tmp_path / "bench.json", result)
    kept = json.loads((tmp_path / "bench.json").read_text())
    assert kept == [vars(entry("first", 8.0)), vars(entry("second"))]


@pytest.mark.parametrize("content", ["{", "[1]", '[{"name": "a"}]', "{}"])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(BenchError, match="move it away"):
        save(path, entry("first"))
    assert path.read_text() == content


def test_only_what_is_named_is_measured_and_a_failure_keeps_what_came_before(shell, monkeypatch, tmp_path, capsys):
    calls = []

    def two(runs):
        calls.append(runs)
        return [entry("one"), entry("two")], "a server"

    def failing(runs):
        raise BenchError("mvn is missing", "install it")

    monkeypatch.setattr(bench, "MEASUREMENTS", {("one", "two"): two, ("bad",): failing})
    assert bench.main(["--only", "two", "--only", "two", "--runs", "7"]) == 0
    assert calls == [7]
    printed = capsys.readouterr().out
    assert "2.00 x" in printed and "--only two --runs 7" in printed and "one" not in printed
    assert bench.main(["--only", "one", "--only", "bad"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: mvn is missing; install it"
    kept = json.loads((tmp_path / "results" / "bench.json").read_text())
    assert [stored["name"] for stored in kept] == ["two", "one"]


@pytest.mark.parametrize(("share", "marked"), [(0.25, True), (0.02, False), (None, False)])
def test_a_figure_measured_beside_much_other_work_is_marked_where_it_is_printed_and_kept(
    shell, monkeypatch, tmp_path, capsys, share, marked
):
    monkeypatch.setattr(bench, "MEASUREMENTS", {("one",): lambda runs: ([entry("one")], "a server")})
    monkeypatch.setattr(machine.Watch, "share", lambda self: share)
    assert bench.main([]) == 0
    assert ("so these don't count: one" in capsys.readouterr().out) is marked
    assert json.loads((tmp_path / "results" / "bench.json").read_text())[0]["others_share"] == share


def test_ctrl_c_ends_with_status_130_and_wrong_arguments_with_2(shell, monkeypatch):
    def interrupted(runs):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "MEASUREMENTS", {("one",): interrupted})
    assert bench.main([]) == 130
    for arguments in (["--only", "x"], ["--runs", "0"]):
        with pytest.raises(SystemExit) as left:
            bench.main(arguments)
        assert left.value.code == 2


def test_the_shells_account_and_proxy_are_left_out(monkeypatch):
    environment = {"AWS_PROFILE": "production", "AWS_ENDPOINT_URL": "https://example.com", "NO_PROXY": "internal"}
    monkeypatch.setattr(os, "environ", environment)
    bench.stay_on_loopback()
    assert not {"AWS_PROFILE", "AWS_ENDPOINT_URL"} & environment.keys()
    assert environment["NO_PROXY"] == "internal,127.0.0.1"


def test_other_work_is_what_the_processors_did_beyond_this_process_and_its_children(monkeypatch, tmp_path):
    def tell(busy_s, steal_s=0, idle_s=0):
        seconds = [busy_s, 0, 0, 999 + idle_s, 99 + idle_s, 0, 0, steal_s, 0, 0]
        ticks = [number * os.sysconf("SC_CLK_TCK") for number in seconds]
        (tmp_path / "stat").write_text("cpu  " + " ".join(map(str, ticks)) + "\ncpu0 1 2\n")

    clock, own = iter([0.0, 10.0, 0.0, 10.0]), iter([100.0, 101.0, 0.0, 0.0])
    monkeypatch.setattr(machine, "_PROC", tmp_path)
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(machine, "_own_s", lambda: next(own))
    tell(500)
    watch = machine.Watch()
    tell(504, steal_s=1, idle_s=5)  # in ten seconds, one of the five by this process
    assert watch.share() == pytest.approx(4 / 10 / (os.cpu_count() or 1))
    (tmp_path / "stat").unlink()
    assert machine.Watch().share() is None and machine.counts(None)
