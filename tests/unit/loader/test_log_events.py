"""No event is fetched twice, none is missed, and what a user's function prints like a record ends
no drain."""

import json

import pytest

from loader import log_events
from loader.log_events import LogEvents, records

OWN = {"concurrency_limit": 1, "run_id": "r", "cell": "c", "seq": 0, "status": "ok"}


class Logs:
    """CloudWatch Logs: an event for each letter, a millisecond after the other, in pages of 3 since
    `startTime`. Before a further page an empty one comes `repeats` times with the token that it was
    asked with."""

    def __init__(self, letters, has_tokens=True, repeats=0):
        self.times = {letter: 100_000 + at for at, letter in enumerate(letters)}
        self.repeats = self.left = repeats
        self.has_tokens, self.asked_since = has_tokens, []

    def filter_log_events(self, startTime, nextToken="0", **_):
        first = int(nextToken)
        self.asked_since.append(startTime)
        if first and self.left:
            self.left -= 1
            return {"events": [], "nextToken": nextToken}
        self.left = self.repeats
        events = [
            {"timestamp": at_ms, "message": letter, "logStreamName": "s"}
            for letter, at_ms in self.times.items()
            if at_ms >= startTime
        ]
        has_more = self.has_tokens and first + 3 < len(events)
        more = {"nextToken": str(first + 3)} if has_more else {}
        return {"events": events[first : first + 3], **more}


def texts(events):
    return "".join(event["message"] for page in events.fetch() for event in page)


def test_a_fetch_asks_only_for_the_time_in_which_events_come_late():
    logs = Logs("a")
    events = LogEvents(logs, "group", 0, overlap_ms=10_000)
    assert (texts(events), texts(events), logs.asked_since) == ("a", "", [0, 90_000])


def test_a_token_that_is_repeated_on_empty_pages_is_followed_and_one_that_is_for_ever_is_left():
    assert texts(LogEvents(Logs("abcdefg", repeats=3), "group", 0)) == "abcdefg"
    logs = Logs("abcdefg", repeats=10**9)
    events = LogEvents(logs, "group", 0)
    assert texts(events) == "abc"
    logs.repeats = logs.left = 0
    assert texts(events) == "defg", "the next fetch goes on there"


def test_a_service_that_ends_at_a_full_page_without_a_token_is_asked_for_the_rest(monkeypatch):
    monkeypatch.setattr(log_events, "MOST_EVENTS_IN_A_PAGE", 3)
    logs = Logs("abcdefgh", has_tokens=False)
    assert texts(LogEvents(logs, "group", 0)) == "abcdefgh"
    logs.times = dict.fromkeys("abcd", 1_000)  # all in one millisecond: no way on, and an end
    assert texts(LogEvents(logs, "group", 0)) == "abc"


@pytest.mark.parametrize(
    "changed",
    [{"cell": {}}, {"seq": "1"}, {"seq": 0.5}, {"status": []}, {"run_id": None, "seq": None}],
)
def test_a_line_that_could_not_be_stored_as_a_record_is_none(changed):
    lines = [
        json.dumps(OWN | changed),
        json.dumps(OWN),
        json.dumps(OWN)[:-1],
        "[" * 9,
        '{"concurrency_limit"}',
    ]
    assert list(records({"message": line} for line in lines)) == [OWN]
