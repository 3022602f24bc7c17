"""Floods whose seconds are given, so that what is made of them can be summed up by hand."""

import pytest

from loader.cost import foreseen


def each_takes(monkeypatch: pytest.MonkeyPatch, one_s: float) -> None:
    """Every operation takes so many seconds, N run at once from the first moment on, and nothing is lost."""

    def asked(question: foreseen.Question) -> foreseen.Flooded:
        work_s = question.messages * one_s
        return foreseen.Flooded(max(one_s, work_s / question.scenario.concurrency), work_s, one_s)

    monkeypatch.setattr(foreseen, "asked", asked)
