"""`python -m bench`: what it makes of its runs, keeps and prints, and what it ends with."""

import json
import os
from contextlib import contextmanager

import pytest

from bench import __main__ as bench
from bench import ratios
from bench.ratios import Compared, Entry, Measurement, compare, measure, save
from stampede.errors import RunError


def measurement(*names, run=lambda: {"s": 2.0}):
    @contextmanager
    def sides():
        yield run, lambda: {"s": 4.0}

    return Measurement(dict.fromkeys(names, Compared("s", "s", 1)), sides)


@pytest.fixture
def make_bench(monkeypatch, tmp_path):
    """Return a function that runs `make bench` with its arguments over measurements; gives the
    status and the file."""
    monkeypatch.setattr(bench.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(os, "environ", {"AWS_PROFILE": "production", "NO_PROXY": "internal"})
    monkeypatch.chdir(tmp_path)

    def run(*measurements, arguments=()):
        monkeypatch.setattr(bench, "MEASUREMENTS", measurements)
        status = bench.main(arguments)
        path = tmp_path / bench.OUTPUT
        return status, json.loads(path.read_text()) if path.exists() else []

    return run


@pytest.mark.parametrize(("most_runs", "first"), [(None, [77.0]), (3, [])])
def test_sides_run_in_turn_and_their_medians_are_compared(most_runs, first):
    turns, ours, peer = [], iter([*first, 2.0, 90.0, 2.0]), iter([*first, 8.0, 8.0, 0.1])

    @contextmanager
    def sides():
        yield (
            lambda: turns.append("ours") or {"s": next(ours)},
            lambda: turns.append("peer") or {"s": next(peer)},
        )

    compared = {"a": Compared("s", "s", 1), "b": Compared("s", "1/s", 1, more_is_better=True)}
    less, more = measure(Measurement(compared, sides, most_runs), 3)
    assert turns == ["ours", "peer"] * (3 + len(first))
    assert (less.ours, less.peer, less.ratio, less.runs, more.ratio) == (2.0, 8.0, 4.0, 3, 0.25)


def test_runs_that_are_no_measurement_are_refused_with_the_side_named():
    peer = [{"s": 3.0}, {"s": float("nan")}]
    with pytest.raises(RunError, match=r"^a: the peer gave"):
        compare("a", Compared("s", "s", 1), [{"s": 1.0}], peer, 0.0)


def test_a_result_takes_the_place_of_the_one_before_and_of_nothing_else(
    tmp_path,
):
    path = tmp_path / "bench.json"
    for name, ours in (("first", 4.0), ("second", 4.0), ("first", 8.0)):
        save(path, Entry(name, ours, 2.0, "messages/s", ours / 2, 5, 0.0))
    assert [(kept["name"], kept["ours"]) for kept in json.loads(path.read_text())] == [
        ("first", 8),
        ("second", 4),
    ]
    path.write_text("[{}]")
    with pytest.raises(RunError, match="move it away"):
        save(path, Entry("first", 4.0, 2.0, "s", 2.0, 5, 0.0))
    assert path.read_text() == "[{}]"


def test_only_what_is_named_is_measured_and_what_ends_a_bench_keeps_what_came_before(
    make_bench, capsys
):
    def failing():
        raise RunError("mvn is missing", "install it")

    def interrupted():
        raise KeyboardInterrupt

    measurements = (
        measurement("one", "two"),
        measurement("bad", run=failing),
        measurement("long", run=interrupted),
    )
    status, kept = make_bench(*measurements, arguments=["--only", "two", "--runs", "7"])
    assert (status, [(entry["name"], entry["ratio"], entry["runs"]) for entry in kept]) == (
        0,
        [("two", 2, 7)],
    )
    assert os.environ["NO_PROXY"] == "internal,127.0.0.1" and "AWS_PROFILE" not in os.environ
    status, kept = make_bench(*measurements, arguments=["--only", "one", "--only", "bad"])
    assert (status, [entry["name"] for entry in kept]) == (1, ["two", "one"])
    assert capsys.readouterr().err.splitlines()[-1] == "bench: mvn is missing; install it"
    assert make_bench(*measurements, arguments=["--only", "long"]) == (130, kept)


def test_a_figure_measured_beside_much_other_work_is_marked(make_bench, monkeypatch, capsys):
    clock, others = iter([0.0, 1.0]), iter([0.0, 0.25 * os.cpu_count()])
    monkeypatch.setattr(ratios.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(ratios, "others_cpu_s", lambda: next(others))
    assert make_bench(measurement("one"))[1][0]["others_share"] == 0.25
    assert "too busy" in capsys.readouterr().out


def test_other_work_is_what_the_processors_did_beyond_this_process_and_its_children(
    monkeypatch, tmp_path
):
    # 99 and 9 are idle, and what guests have is counted before
    seconds = [10_000, 10, 1, 99, 9, 2, 3, 4, 99, 99]
    ticks = [str(number * os.sysconf("SC_CLK_TCK")) for number in seconds]
    (tmp_path / "stat").write_text(f"cpu  {' '.join(ticks)}\ncpu0 1 2\n")
    monkeypatch.setattr(ratios, "STAT", tmp_path / "stat")
    own_s = sum(os.times()[:4])
    assert ratios.others_cpu_s() == pytest.approx(10_020 - own_s, abs=0.5)
