"""Floods whose seconds are given, so that what is made of them can be summed up by hand."""

import pytest

from loader.cost import foreseen


def each_takes(monkeypatch: pytest.MonkeyPatch, one_s: float) -> None:
    """Every operation takes so many seconds, N run at once from the first moment on, nothing is lost, and a new
    environment starts in one second."""

    def asked(question: foreseen.Question) -> foreseen.Foreseen:
        n, work_s = question.scenario.concurrency, question.scenario.messages * one_s
        return foreseen.Foreseen(
            share_at_n=1.0,
            time_to_n_s=0.0,
            most_at_once=n,
            avg_s=one_s,
            drain_s=max(one_s, work_s / n),
            working_s=work_s,
            longest_s=one_s,
            start_s=1.0,
        )

    monkeypatch.setattr(foreseen, "asked", asked)
