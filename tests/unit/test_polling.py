"""Polling: at once, after each pause, and at the deadline."""

import itertools

from stampede import polling
from stampede.polling import growing, looks
from tests.fakes.own_sleep import replace_sleep


def looked_at(monkeypatch, pauses_s, within_s, look_s=0.0):
    """The times of the polls, on a clock that moves by sleeps and by `look_s` a poll."""
    now_s, moments = [0.0], []

    def sleep(seconds):
        now_s[0] += seconds

    replace_sleep(monkeypatch, polling, sleep, clock=lambda: now_s[0])
    for number in looks(pauses_s, within_s):
        assert number == len(moments)
        moments.append(now_s[0])
        sleep(look_s)
    return moments


def test_the_last_poll_is_at_the_deadline_or_after_the_last_pause(monkeypatch):
    assert looked_at(monkeypatch, growing(1, 2, 5), within_s=12) == [0, 1, 3, 7, 12]
    assert looked_at(monkeypatch, [1, 1], within_s=12) == [0, 1, 2]


def test_there_is_one_poll_after_the_deadline_and_none_after_a_poll_that_passed_it(monkeypatch):
    assert looked_at(monkeypatch, itertools.repeat(1), within_s=-1) == [0]
    assert looked_at(monkeypatch, itertools.repeat(1), within_s=5, look_s=4) == [0, 5]
