"""No event is fetched twice, none is missed, and memory follows their rate and not their number."""

import itertools

import pytest

from loader import log_events
from loader.log_events import LOCAL_OVERLAP_MS, OVERLAP_MS, LogEvents


class Logs:
    """Stands in for boto3's client of CloudWatch Logs: gives the events since `startTime`, in pages of 3."""

    def __init__(self):
        self.events = []

    def get_paginator(self, name):
        assert name == "filter_log_events"
        return self

    def paginate(self, logGroupName, startTime):
        found = sorted((event for event in self.events if event[0] >= startTime), key=lambda event: event[0])
        for start in range(0, max(len(found), 1), 3):
            yield {
                "events": [
                    {"timestamp": at_ms, "message": text + "\n", "logStreamName": "s"}
                    for at_ms, text in found[start : start + 3]
                ]
            }


paginate = Logs.paginate


@pytest.fixture
def logs():
    return Logs()


def texts(pages):
    return [event["message"] for page in pages for event in page]


def test_each_event_comes_once_also_one_that_shows_late(logs):
    events = LogEvents(logs, "group", 0)
    logs.events = [(1_000 + i, f"a{i}") for i in range(7)]
    assert texts(events.fetch()) == [f"a{i}" for i in range(7)]
    logs.events += [(1_002, "late"), (1_000 + OVERLAP_MS, "new")]
    assert texts(events.fetch()) == ["late", "new"]
    assert texts(events.fetch()) == []


def test_a_fetch_asks_only_for_the_time_in_which_events_come_late(logs, monkeypatch):
    asked = []
    monkeypatch.setattr(
        Logs, "paginate", lambda self, **wanted: asked.append(wanted["startTime"]) or paginate(self, **wanted)
    )
    events = LogEvents(logs, "group", 0, overlap_ms=LOCAL_OVERLAP_MS)
    logs.events = [(100_000, "a")]
    assert texts(events.fetch()) == ["a"]
    assert texts(events.fetch()) == []
    assert asked == [0, 100_000 - LOCAL_OVERLAP_MS]


def test_events_of_an_earlier_process_are_not_fetched_again(logs):
    logs.events = [(1_000, "old"), (1_001, "new")]
    known = [{"timestamp": 1_000, "message": "old", "logStream": "s"}]
    assert texts(LogEvents(logs, "group", 0, known).fetch()) == ["new"]


def test_the_same_text_at_another_time_is_another_event(logs):
    logs.events = [(1_000, "x"), (1_001, "x")]
    assert texts(LogEvents(logs, "group", 0).fetch()) == ["x", "x"]


def test_a_service_that_ends_at_a_full_page_without_a_token_is_asked_for_the_rest(logs, monkeypatch):
    monkeypatch.setattr(log_events, "MOST_EVENTS_IN_A_PAGE", 3)
    monkeypatch.setattr(Logs, "paginate", lambda self, **asked: itertools.islice(paginate(self, **asked), 1))
    logs.events = [(1_000 + i, f"a{i}") for i in range(8)]
    events = LogEvents(logs, "group", 0)
    assert texts(events.fetch()) == [f"a{i}" for i in range(8)]
    logs.events = [(1_000, f"b{i}") for i in range(4)]  # all in one millisecond: no way on, and no loop without end
    assert texts(LogEvents(logs, "group", 0).fetch()) == ["b0", "b1", "b2"]


def test_events_that_are_not_asked_for_again_are_forgotten(logs, monkeypatch):
    monkeypatch.setattr(log_events, "_FORGET_AT", 10)
    events = LogEvents(logs, "group", 0)
    logs.events = [(number * OVERLAP_MS // 4, f"e{number}") for number in range(500)]
    assert len(texts(events.fetch())) == 500
    assert texts(events.fetch()) == []
    remembered = len(events._seen) + len(events._fresh)
    assert 5 <= remembered <= 20
