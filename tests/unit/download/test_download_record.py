"""The record: its keys, their order, and that the published regular expression reads it."""

import json
import re

import pytest
from failures import ERROR_TYPES, DeadlineExceeded, Failure, describe
from hypothesis import given
from hypothesis import strategies as st
from record import build_record, format_record, write_record
from settings import Settings, SettingsError
from sqs_event import EventError, Message, read_messages
from timed_download import Outcome
from work_order import WorkOrder, WorkOrderError

SETTINGS = Settings(1, 1024, "experiment 01", "bucket", "key", "us-east-1")
OK_KEYS = [
    "concurrency_limit",
    "download_time_seconds",
    "memory_size",
    "experiment_tag",
    "run_id",
    "cell",
    "seq",
    "message_id",
    "request_id",
    "sandbox_id",
    "cold_start",
    "attempt",
    "started_at_ms",
    "finished_at_ms",
    "bytes",
    "method",
    "status",
    "warm_up",
    "sink",
    "first_byte_seconds",
    "client_cpu_seconds",
    "retries",
    "requests",
    "retry_mode",
    "retry_attempts",
]
ERROR_KEYS = [key for key in OK_KEYS if key != "download_time_seconds"] + ["error_type", "error_message"]
# The four keys as the published query takes them apart: numbers unquoted, the tag quoted.
PUBLISHED = re.compile(
    r'"concurrency_limit": (?P<concurrency>\d+), "download_time_seconds": (?P<time>[\d.]+), '
    r'"memory_size": (?P<memory>\d+), "experiment_tag": "(?P<tag>[^"]*)"'
)


def record_of(outcome: Outcome, settings: Settings | None = SETTINGS, order: bool = True) -> dict:
    return build_record(
        settings=settings,
        order=WorkOrder("run-1", "cell-1", 3) if order else None,
        message=Message("message-1", "{}", 2),
        request_id="request-1",
        sandbox_id="sandbox-1",
        cold_start=1,
        outcome=outcome,
    )


def error_message(error: Exception) -> str:
    return record_of(Outcome(0, 0.0, 0, error))["error_message"]


def test_an_ok_record_has_the_published_keys_first_and_all_keys_in_order():
    record = record_of(Outcome(1_000, 12.380369424819946, 2**30, None))
    assert list(record) == OK_KEYS
    assert format_record(record).startswith(
        '{"concurrency_limit": 1, "download_time_seconds": 12.380369425, "memory_size": 1024, '
        '"experiment_tag": "experiment 01", "run_id": "run-1", '
    )


def test_an_error_record_has_no_time_and_ends_with_the_error():
    record = record_of(Outcome(1_000, 2.5, 17, DeadlineExceeded("too slow")))
    assert list(record) == ERROR_KEYS
    assert (record["status"], record["error_type"], record["error_message"]) == (
        "error",
        "DeadlineExceeded",
        "too slow",
    )
    assert PUBLISHED.search(format_record(record)) is None


def test_what_could_not_be_read_is_null():
    record = json.loads(format_record(record_of(Outcome.not_started(WorkOrderError("no")), None, order=False)))
    for key in ("concurrency_limit", "memory_size", "experiment_tag", "run_id", "cell", "seq"):
        assert record[key] is None


def test_the_end_is_the_start_plus_the_duration():
    record = record_of(Outcome(1_735_689_600_123, 1.2346, 1, None))
    assert record["finished_at_ms"] == 1_735_689_600_123 + 1_235


@given(st.floats(min_value=0, max_value=1e6))
def test_the_published_expression_reads_every_duration(seconds):
    found = PUBLISHED.search(format_record(record_of(Outcome(0, seconds, 1, None))))
    assert found is not None
    assert abs(float(found["time"]) - seconds) <= 1e-9
    assert (found["concurrency"], found["memory"], found["tag"]) == ("1", "1024", "experiment 01")


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_written(seconds):
    with pytest.raises(ValueError, match="finite"):
        format_record({"download_time_seconds": seconds})


def test_a_tag_with_accents_is_written_as_it_is():
    settings = Settings(1, 1024, "première, n°1", "bucket", "key", "us-east-1")
    found = PUBLISHED.search(format_record(record_of(Outcome(0, 1.0, 1, None), settings)))
    assert found is not None
    assert found["tag"] == "première, n°1"


def test_a_record_is_one_write_of_one_line(monkeypatch):
    calls = []

    class Log:
        def write(self, text):
            calls.append(text)

        def flush(self):
            calls.append("flushed")

    monkeypatch.setattr("sys.stdout", Log())
    write_record({"a": 1, "b": "two\nlines"})
    assert calls == ['{"a": 1, "b": "two\\nlines"}\n', "flushed"]


@given(st.text(min_size=1, max_size=1_000))
def test_an_error_message_is_one_short_printable_line_whatever_the_cause_says(text):
    message = error_message(RuntimeError(text))
    assert message.isprintable()
    assert len(message) <= 300
    assert message.encode()


def test_every_failure_of_our_own_is_in_the_vocabulary():
    own = {subclass.__name__ for subclass in Failure.__subclasses__()}
    assert own >= {"WorkOrderError", "SettingsError", "DeadlineExceeded", "SizeMismatch"}
    assert own <= set(ERROR_TYPES)


def test_an_error_that_nobody_thought_of_keeps_its_name_in_the_message():
    assert describe(ZeroDivisionError("division by zero")) == (
        "UnexpectedError",
        "ZeroDivisionError: division by zero",
    )


def test_a_settings_error_is_described_by_its_own_line():
    assert describe(SettingsError("MEMORY_SIZE is missing")) == ("SettingsError", "MEMORY_SIZE is missing")


VALID = {
    "messageId": "m",
    "body": "{}",
    "eventSource": "aws:sqs",
    "attributes": {"ApproximateReceiveCount": "2"},
}


def test_the_messages_of_an_sqs_event_are_read():
    assert read_messages({"Records": [VALID]}) == [Message("m", "{}", 2)]


@pytest.mark.parametrize(
    "event",
    [
        {},
        None,
        [],
        {"key1": "value1"},
        {"Records": []},
        {"Records": "x"},
        {"Records": [None]},
        {"Records": [VALID | {"eventSource": "aws:s3"}]},
        {"Records": [VALID | {"messageId": None}]},
        {"Records": [VALID | {"body": None}]},
        {"Records": [VALID | {"attributes": {}}]},
        {"Records": [VALID | {"attributes": {"ApproximateReceiveCount": "many"}}]},
    ],
)
def test_an_event_that_is_not_one_of_sqs_is_refused_in_one_line(event):
    with pytest.raises(EventError) as caught:
        read_messages(event)
    assert str(caught.value).startswith("this function takes SQS events: ")
    assert str(caught.value).isprintable()
