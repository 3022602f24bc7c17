"""`python -m bench`: what it accepts, and how it ends."""

import pytest

from bench import __main__ as command
from bench import session
from bench.errors import BenchError
from bench.measure import Entry


@pytest.fixture(autouse=True)
def shell(monkeypatch, tmp_path):
    """The process's environment, signals and folder are as before when a test ends."""
    monkeypatch.setattr(session.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(session, "stay_on_loopback", lambda: None)
    monkeypatch.chdir(tmp_path)


def measuring(name, calls):
    def measure(runs):
        calls.append((name, runs))
        return Entry(name, 4.0, 2.0, "messages/s", 2.0, runs), "a server"

    return measure


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nonsense"], "argument --only: invalid choice: 'nonsense'"),
        (["--runs", "0"], "argument --runs: '0' is not a number of runs; use a whole number from 1 to 100"),
        (["--runs", "-3"], "argument --runs"),
        (["--runs", "1.5"], "argument --runs: '1.5' is not a number of runs"),
        (["--runs", "²"], "argument --runs: '²' is not a number of runs"),
    ],
)
def test_a_wrong_argument_is_named_and_ends_with_status_2(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        command.main(arguments)
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_only_the_named_entries_are_measured_once_each_and_written(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr(command, "ENTRIES", {name: measuring(name, calls) for name in ("one", "two", "three")})
    assert command.main(["--only", "three", "--only", "one", "--only", "three", "--runs", "7"]) == 0
    assert calls == [("three", 7), ("one", 7)]
    assert (tmp_path / "results" / "bench.json").read_text().count('"name"') == 2
    printed = capsys.readouterr().out
    assert "command: python -m bench --only three --only one --runs 7" in printed
    assert "three: a server" in printed


def test_a_failed_measurement_is_one_line_and_keeps_what_was_measured_before(monkeypatch, tmp_path, capsys):
    def failing(runs):
        raise BenchError("mvn is missing: install it")

    monkeypatch.setattr(command, "ENTRIES", {"good": measuring("good", []), "bad": failing})
    assert command.main([]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: mvn is missing: install it"
    assert '"good"' in (tmp_path / "results" / "bench.json").read_text()


def test_ctrl_c_ends_with_status_130_and_says_so(monkeypatch, capsys):
    def interrupted(runs):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "ENTRIES", {"one": interrupted})
    assert command.main([]) == 130
    assert "the servers are stopped" in capsys.readouterr().err
