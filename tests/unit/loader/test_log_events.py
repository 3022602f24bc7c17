"""No event is fetched twice, none is missed, and a user's output that resembles a record doesn't
break a drain."""

import json

import pytest

from loader import log_events
from loader.log_events import LogEvents, failed_lines, failed_rows, records
from tests.fakes.simulated_aws import EPOCH_MS

OWN = {"concurrency_limit": 1, "run_id": "r", "cell": "c", "seq": 0, "status": "ok"}


@pytest.fixture
def logs(aws):
    """CloudWatch Logs with one event per letter, a millisecond apart, in pages of 3;
    `changed(request, answer)` replaces the answer."""

    def with_letters(letters, changed=lambda request, answer: answer):
        for at, letter in enumerate(letters):
            aws.log(letter, at_s=at / 1000)
        answer = type(aws).filter_log_events
        vars(aws)["filter_log_events"] = lambda **request: changed(request, answer(aws, **request))
        aws.sleep(1)
        return aws

    return with_letters


def texts(events):
    return "".join(event["message"] for page in events.fetch() for event in page)


def test_a_fetch_finds_events_that_arrive_within_the_overlap_and_none_twice(logs):
    aws = logs("a")
    events = LogEvents(aws, "group", 0, overlap_ms=10_000)
    assert texts(events) == "a"
    for letter, at_s in {"b": -9, "c": -11}.items():
        aws.log(letter, at_s=at_s, seen_at_s=0)
    assert (texts(events), texts(events)) == ("b", "")


def test_a_repeated_token_on_empty_pages_is_followed_but_not_forever(logs):
    def repeated(request, answer):
        if "nextToken" in request and times:
            times.pop()
            return {"events": [], "nextToken": request["nextToken"]}
        return answer

    times = [1, 2, 3]
    aws = logs("abcdefg", repeated)
    assert texts(LogEvents(aws, "group", 0)) == "abcdefg"
    times, events = [0] * 100, LogEvents(aws, "group", 0)
    assert texts(events) == "abc"
    times.clear()
    assert texts(events) == "defg", "the next fetch continues there"


def test_the_rest_is_fetched_after_a_full_page_without_a_token(logs, monkeypatch):
    monkeypatch.setattr(log_events, "MOST_EVENTS_IN_A_PAGE", 3)
    aws = logs("abcdefgh", lambda request, answer: {"events": answer["events"]})
    assert texts(LogEvents(aws, "group", 0)) == "abcdefgh"
    for letter in "wxyz":  # all in one millisecond: no way to continue, so it ends
        aws.log(letter, at_s=0.5)
    assert texts(LogEvents(aws, "group", EPOCH_MS + 500)) == "wxy"


@pytest.mark.parametrize(
    "changed",
    [
        {"cell": {}},
        {"seq": "1"},
        {"seq": 0.5},
        {"seq": 10**30},
        {"status": []},
        {"run_id": None, "seq": None},
    ],
)
def test_a_line_that_could_not_be_stored_as_a_record_is_ignored(changed):
    good = json.dumps(OWN)
    lines = [json.dumps(OWN | changed), good, good[:-1], "[" * 9, '{"concurrency_limit"}']
    assert list(records({"message": line} for line in lines)) == [OWN]


def test_a_line_that_only_looks_like_one_of_failed_objects_is_ignored():
    line = {"run_id": "r", "cell": "c", "seq": 0, "attempt": 1}
    shaped = [line | {"failed_objects": rows} for rows in (["a"], {}, [{"line": 1}])]
    [listed] = failed_lines({"message": json.dumps(each)} for each in shaped)
    assert [row["line"] for row in failed_rows([listed])] == [1]
