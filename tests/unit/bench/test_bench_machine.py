"""What a machine can do, and how much of it other work takes."""

import os
from types import SimpleNamespace

import pytest

from bench import abilities, machine, other_work
from bench.other_work import Watch

CORES = os.cpu_count() or 1
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def proc(monkeypatch, tmp_path):
    """A /proc of two numbers: what all processors did, and what a process named `java (x)` did, in seconds."""

    def tell(busy_s, java_s, steal_s=0):
        ticks = [busy_s * TICKS, 0, 0, 999 * TICKS, 99 * TICKS, 0, 0, steal_s * TICKS, 0, 0]
        (tmp_path / "stat").write_text("cpu  " + " ".join(map(str, ticks)) + "\ncpu0 1 2\n")
        (tmp_path / "77").mkdir(exist_ok=True)
        between = " ".join(["0"] * 9)
        (tmp_path / "77" / "stat").write_text(f"77 (java (x)) S 1 {between} {java_s * TICKS} 0 0 0")

    monkeypatch.setattr(other_work, "_PROC", tmp_path)
    clock, own = iter(range(0, 1000, 10)), iter([100.0, 101.0])
    monkeypatch.setattr(other_work, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(other_work, "_own_s", lambda: next(own))
    return tell


def test_other_work_is_what_the_processors_did_beyond_this_process_and_its_children(proc):
    proc(busy_s=500, java_s=20)
    watch = Watch()
    proc(busy_s=500 + 4, java_s=20 + 2, steal_s=1)  # in ten seconds, one of them by this process
    assert watch.share() == pytest.approx(4 / 10 / CORES)
    assert watch.names() == ["java (x) 0.10"]  # asked ten seconds later


def test_where_the_system_tells_nothing_the_share_is_unknown_and_the_figure_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(other_work, "_PROC", tmp_path / "none")
    watch = Watch()
    assert (watch.share(), watch.names()) == (None, [])
    assert other_work.counts(None)


def test_what_a_machine_can_do_is_measured_and_a_busy_machine_is_named_with_what_keeps_it_busy(monkeypatch, capsys):
    for name in ("_LOOPBACK_BYTES", "_TOUCHED_BYTES", "_TLS_BYTES"):
        monkeypatch.setattr(abilities, name, 4 * 2**20)
    monkeypatch.setattr(abilities, "_ROUNDS", 10_000)
    monkeypatch.setattr(Watch, "share", lambda self: 0.42)
    monkeypatch.setattr(Watch, "names", lambda self: ["java 0.81"])
    measured = abilities.measure()
    assert all(value > 0 for value in vars(measured).values())
    note = machine.prologue()
    assert note.startswith("measured: loopback ")
    assert "42% of it" in note
    assert "other work takes 42% of its processors (java 0.81)" in " ".join(capsys.readouterr().err.split())
