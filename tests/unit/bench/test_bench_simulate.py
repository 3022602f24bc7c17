"""`simulate_10k`: both sides simulate the same flood, or the comparison doesn't count."""

import pytest

from bench import simulate
from bench.errors import BenchError


def test_the_model_and_simpy_agree_on_when_a_flood_has_drained():
    ours, peer = (drain_s(3_000, 1_050) for drain_s in (simulate.drain_s, simulate.simpy_drain_s))
    assert ours == pytest.approx(peer, rel=simulate.SAME_DRAIN)


def test_sides_that_do_not_simulate_the_same_are_not_compared(monkeypatch):
    monkeypatch.setattr(simulate, "drain_s", lambda: 100.0)
    monkeypatch.setattr(simulate, "simpy_drain_s", lambda: 103.0)
    with pytest.raises(BenchError, match=r"drain in 100.0 and 103.0 s"):
        simulate.against_simpy(1)
