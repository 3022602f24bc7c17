"""`python -m bench`: what it makes of its runs, keeps, prints and ends with."""

import json
import os
from contextlib import contextmanager

import pytest

from bench import __main__ as bench
from bench import ratios
from bench.ratios import Compared, Entry, Measurement, compare, measure, save
from stampede.errors import RunError


def entry(name, ours=4.0):
    return Entry(name, ours, 2.0, "messages/s", ours / 2, 5, 0.0)


def measurement(*names, run=lambda: {"s": 2.0}, most_runs=None):
    @contextmanager
    def sides():
        yield run, lambda: {"s": 4.0}

    return Measurement(dict.fromkeys(names, Compared("s", "s", 1)), sides, most_runs)


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """The process's environment, signals and folder are as before when a test ends."""
    monkeypatch.setattr(bench.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(bench, "stay_on_loopback", lambda: None)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("most_runs", "first"), [(None, [77.0]), (3, [])])
def test_sides_run_in_turn_and_their_medians_are_compared(most_runs, first):
    turns = []
    values = {"ours": iter([*first, 2.0, 90.0, 2.0]), "peer": iter([*first, 8.0, 8.0, 0.1])}

    def run(name):
        return lambda: turns.append(name) or {"s": next(values[name])}

    @contextmanager
    def sides():
        yield run("ours"), run("peer")

    compared = {"a": Compared("s", "s", 1), "b": Compared("s", "1/s", 1, more_is_better=True)}
    less, more = measure(Measurement(compared, sides, most_runs), 3)
    assert turns == ["ours", "peer"] * (3 + len(first))
    assert (less.ours, less.peer, less.unit, less.ratio, less.runs) == (2.0, 8.0, "s", 4.0, 3)
    assert more.ratio == 0.25


@pytest.mark.parametrize("bad", [[0.0], [3.0, float("nan")]])
def test_runs_that_are_no_measurement_are_refused_with_the_side_named(bad):
    with pytest.raises(RunError, match=r"^a: the peer gave"):
        compare("a", Compared("s", "s", 1), [{"s": 1.0}], [{"s": value} for value in bad], 0.0)


def test_a_result_takes_the_place_of_the_one_before_and_leaves_the_others(tmp_path):
    for result in (entry("first"), entry("second"), entry("first", 8.0)):
        save(tmp_path / "bench.json", result)
    kept = json.loads((tmp_path / "bench.json").read_text())
    assert kept == [vars(entry("first", 8.0)), vars(entry("second"))]


@pytest.mark.parametrize("content", ["{", "[1]", '[{"ours": 1}]', "7"])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(RunError, match="move it away"):
        save(path, entry("first"))
    assert path.read_text() == content


def test_only_what_is_named_is_measured_and_a_failure_keeps_what_came_before(shell, monkeypatch, tmp_path, capsys):
    def failing():
        raise RunError("mvn is missing", "install it")

    monkeypatch.setattr(bench, "MEASUREMENTS", (measurement("one", "two"), measurement("bad", run=failing)))
    assert bench.main(["--only", "two", "--runs", "7"]) == 0
    assert "2.00 x" in capsys.readouterr().out
    assert bench.main(["--only", "one", "--only", "bad"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: mvn is missing; install it"
    kept = json.loads((tmp_path / "results" / "bench.json").read_text())
    assert [(stored["name"], stored["runs"]) for stored in kept] == [("two", 7), ("one", 5)]


@pytest.mark.parametrize(("others_s", "marked"), [(0.25, True), (0.02, False)])
def test_a_figure_measured_beside_much_other_work_is_marked(shell, monkeypatch, capsys, tmp_path, others_s, marked):
    clock, others = iter([0.0, 1.0]), iter([0.0, others_s * os.cpu_count()])
    monkeypatch.setattr(bench, "MEASUREMENTS", (measurement("one"),))
    monkeypatch.setattr(ratios.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(ratios, "others_cpu_s", lambda: next(others))
    assert bench.main([]) == 0
    assert ("too busy" in capsys.readouterr().out) is marked
    assert json.loads((tmp_path / "results" / "bench.json").read_text())[0]["others_share"] == others_s


def test_other_work_is_what_the_processors_did_beyond_this_process_and_its_children(monkeypatch, tmp_path):
    used = ratios.resource.struct_rusage([3, 1, *range(14)])
    monkeypatch.setattr(ratios.resource, "getrusage", lambda who: used)
    seconds = [100, 10, 1, 999, 99, 2, 3, 4, 999, 999]  # 999 and 99 are idle, and what guests have is counted before
    ticks = [number * os.sysconf("SC_CLK_TCK") for number in seconds]
    (tmp_path / "stat").write_text("cpu  " + " ".join(map(str, ticks)) + "\ncpu0 1 2\n")
    monkeypatch.setattr(ratios, "STAT", tmp_path / "stat")
    assert ratios.others_cpu_s() == pytest.approx(120 - 2 * (3 + 1))


def test_ctrl_c_ends_with_status_130_and_wrong_arguments_with_2(shell, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "MEASUREMENTS", (measurement("one", run=interrupted),))
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
