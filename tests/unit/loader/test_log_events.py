"""No event is fetched twice, none is missed, and what a user's function prints like a record ends no drain."""

import json

import pytest

from loader import log_events
from loader.log_events import LogEvents, records

OWN = {"concurrency_limit": 1, "run_id": "r", "cell": "c", "seq": 0, "status": "ok"}


class Logs:
    """Stands in for boto3's client of CloudWatch Logs: gives the events since `startTime`, in pages of 3.

    An empty page with the token it was asked with comes `repeats` times before each further page.
    """

    def __init__(self, count=0, has_tokens=True):
        self.events = [(1_000 + number, f"a{number}") for number in range(count)]
        self.repeats = self.left = 0
        self.has_tokens, self.start_times = has_tokens, []

    def filter_log_events(self, logGroupName, startTime, nextToken="0", *, interleaved):
        first = int(nextToken)
        self.start_times.append(startTime)
        if first and self.left:
            self.left -= 1
            return {"events": [], "nextToken": nextToken}
        self.left = self.repeats
        matching = sorted((event for event in self.events if event[0] >= startTime), key=lambda event: event[0])
        page = [
            {"timestamp": at_ms, "message": text + "\n", "logStreamName": "s"}
            for at_ms, text in matching[first : first + 3]
        ]
        has_more = self.has_tokens and first + 3 < len(matching)
        return {"events": page} | ({"nextToken": str(first + 3)} if has_more else {})


def texts(pages):
    return [event["message"] for page in pages for event in page]


def test_a_fetch_asks_only_for_the_time_in_which_events_come_late():
    logs = Logs()
    events = LogEvents(logs, "group", 0, overlap_ms=10_000)
    logs.events = [(100_000, "a")]
    assert texts(events.fetch()) == ["a"]
    assert texts(events.fetch()) == []
    assert logs.start_times == [0, 90_000]


def test_a_token_that_is_repeated_on_empty_pages_is_followed_and_one_that_is_for_ever_is_left():
    logs = Logs(7)
    logs.repeats = 3
    assert texts(LogEvents(logs, "group", 0).fetch()) == [f"a{number}" for number in range(7)]
    logs.repeats, events = 10**9, LogEvents(logs, "group", 0)
    assert texts(events.fetch()) == ["a0", "a1", "a2"]
    logs.repeats = logs.left = 0
    assert texts(events.fetch()) == ["a3", "a4", "a5", "a6"], "the next fetch goes on there"


def test_a_service_that_ends_at_a_full_page_without_a_token_is_asked_for_the_rest(monkeypatch):
    monkeypatch.setattr(log_events, "MOST_EVENTS_IN_A_PAGE", 3)
    logs = Logs(8, has_tokens=False)
    assert texts(LogEvents(logs, "group", 0).fetch()) == [f"a{number}" for number in range(8)]
    logs.events = [(1_000, f"b{number}") for number in range(4)]  # all in one millisecond: no way on, and an end
    assert texts(LogEvents(logs, "group", 0).fetch()) == ["b0", "b1", "b2"]


@pytest.mark.parametrize(
    "changed", [{"cell": {}}, {"cell": None}, {"seq": "1"}, {"seq": 0.5}, {"status": []}, {"run_id": None, "seq": None}]
)
def test_a_line_that_could_not_be_stored_as_a_record_is_none(changed):
    lines = [json.dumps(OWN | changed), json.dumps(OWN), json.dumps(OWN)[:-1], "[" * 9, '{"concurrency_limit"}']
    assert list(records({"message": line} for line in lines)) == [OWN]
