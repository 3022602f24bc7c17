"""No event is fetched twice, and none is missed."""

import pytest

from loader import log_events
from loader.log_events import LogEvents


class Logs:
    """Stands in for boto3's client of CloudWatch Logs: gives the events since `startTime`, in pages of 3.

    An empty page with the token it was asked with comes `repeats` times before each further page.
    """

    def __init__(self):
        self.events = []
        self.repeats = self.left = 0

    def filter_log_events(self, logGroupName, startTime, nextToken="0", *, interleaved):
        first = int(nextToken)
        if first and self.left:
            self.left -= 1
            return {"events": [], "nextToken": nextToken}
        self.left = self.repeats
        matching = sorted((event for event in self.events if event[0] >= startTime), key=lambda event: event[0])
        page = [
            {"timestamp": at_ms, "message": text + "\n", "logStreamName": "s"}
            for at_ms, text in matching[first : first + 3]
        ]
        return {"events": page} | ({"nextToken": str(first + 3)} if first + 3 < len(matching) else {})


@pytest.fixture
def logs():
    return Logs()


def texts(pages):
    return [event["message"] for page in pages for event in page]


def test_a_fetch_asks_only_for_the_time_in_which_events_come_late(logs, monkeypatch):
    start_times, answer = [], logs.filter_log_events
    monkeypatch.setattr(
        logs, "filter_log_events", lambda **wanted: start_times.append(wanted["startTime"]) or answer(**wanted)
    )
    events = LogEvents(logs, "group", 0, overlap_ms=10_000)
    logs.events = [(100_000, "a")]
    assert texts(events.fetch()) == ["a"]
    assert texts(events.fetch()) == []
    assert start_times == [0, 90_000]


def test_a_token_that_is_repeated_on_empty_pages_is_followed(logs):
    logs.events = [(1_000 + i, f"a{i}") for i in range(7)]
    logs.repeats = 3
    assert texts(LogEvents(logs, "group", 0).fetch()) == [f"a{i}" for i in range(7)]


def test_a_token_that_is_repeated_for_ever_ends_this_fetch_and_the_next_one_goes_on(logs):
    events = LogEvents(logs, "group", 0)
    logs.events = [(1_000 + i, f"a{i}") for i in range(7)]
    logs.repeats = 10**9
    assert texts(events.fetch()) == ["a0", "a1", "a2"]
    logs.repeats = logs.left = 0
    assert texts(events.fetch()) == ["a3", "a4", "a5", "a6"]


def test_a_service_that_ends_at_a_full_page_without_a_token_is_asked_for_the_rest(logs, monkeypatch):
    monkeypatch.setattr(log_events, "MOST_EVENTS_IN_A_PAGE", 3)
    answer = logs.filter_log_events
    monkeypatch.setattr(logs, "filter_log_events", lambda **arguments: {"events": answer(**arguments)["events"]})
    logs.events = [(1_000 + i, f"a{i}") for i in range(8)]
    assert texts(LogEvents(logs, "group", 0).fetch()) == [f"a{i}" for i in range(8)]
    logs.events = [(1_000, f"b{i}") for i in range(4)]  # all in one millisecond: no way on, and no loop without end
    assert texts(LogEvents(logs, "group", 0).fetch()) == ["b0", "b1", "b2"]
