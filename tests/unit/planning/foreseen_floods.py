"""Floods with given seconds, so that sums over them can be done by hand."""

from types import SimpleNamespace

import pytest

from stampede.model.scenario import Scenario
from stampede.planning import predicting


def each_takes(monkeypatch: pytest.MonkeyPatch, one_s: float) -> None:
    """Make every operation take `one_s` seconds, with N at once from the start, no losses, and cold
    starts of one second."""

    def expect(scenario: Scenario, *_: object) -> SimpleNamespace:
        done, n = scenario.messages, scenario.concurrency
        drain_s = max(one_s, done * one_s / n)
        course = SimpleNamespace(
            succeeded=done, failed_attempts=0, avg_s=one_s, max_s=one_s, drain_s=drain_s
        )
        return SimpleNamespace(course=course, work=SimpleNamespace(before_s=0.0, cold_s=1.0))

    monkeypatch.setattr(predicting, "expect", expect)
