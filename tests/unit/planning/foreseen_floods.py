"""Floods whose seconds are given, so that what is made of them can be summed up by hand."""

from types import SimpleNamespace

import pytest

from stampede.planning import predicting


def each_takes(monkeypatch: pytest.MonkeyPatch, one_s: float) -> None:
    """Every operation takes so many seconds, N run at once from the first moment on, nothing is
    lost, and a new environment starts in one second."""

    def expected(question: predicting.Question) -> SimpleNamespace:
        done, n = question.scenario.messages, question.scenario.concurrency
        drain_s = max(one_s, done * one_s / n)
        course = SimpleNamespace(
            succeeded=done, failed_attempts=0, avg_s=one_s, max_s=one_s, drain_s=drain_s
        )
        return SimpleNamespace(course=course, work=SimpleNamespace(before_s=0.0, cold_s=1.0))

    monkeypatch.setattr(predicting, "expected", expected)
