"""The record: its keys, their order, and that the published regular expression reads it."""

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from common.failures import DeadlineExceeded
from common.outcome import Outcome
from common.record import build_record, format_record
from common.sqs_event import Message
from common.work_order import WorkOrderError
from download.download_order import DownloadOrder
from download.settings import Settings
from download.timed_download import Download

SETTINGS = Settings(1, 1024, "experiment 01", "download_file", "bucket", "key", "us-east-1")
AGREED = Path(__file__).parents[4] / "functions" / "agreed"
_KEYS = json.loads((AGREED / "record.json").read_text())
_COMMON = [_KEYS["time"]["download"] if key == "<time>" else key for key in _KEYS["common"]]
OK_KEYS = _COMMON + _KEYS["own"]["download"]
ERROR_KEYS = [key for key in OK_KEYS if key != "download_time_seconds"] + _KEYS["error"]
# The four keys as the published query takes them apart: numbers unquoted, the tag quoted.
PUBLISHED = re.compile(
    r'"concurrency_limit": (?P<concurrency>\d+), "download_time_seconds": (?P<time>[\d.]+), '
    r'"memory_size": (?P<memory>\d+), "experiment_tag": "(?P<tag>[^"]*)"'
)


def record_of(outcome: Outcome, settings: Settings | None = SETTINGS, order: bool = True) -> dict:
    download = Download()
    download.settings = settings
    read = DownloadOrder("run-1", "cell-1", 3) if order else None
    return build_record(
        time_key=download.time_key,
        labels=settings,
        order=read,
        message=Message("message-1", "{}", 2),
        request_id="request-1",
        sandbox_id="sandbox-1",
        cold_start=1,
        outcome=outcome,
        own_keys=download.own_keys(read, outcome),
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
    match = PUBLISHED.search(format_record(record_of(Outcome(0, seconds, 1, None))))
    assert match is not None
    assert abs(float(match["time"]) - seconds) <= 1e-9
    assert (match["concurrency"], match["memory"], match["tag"]) == ("1", "1024", "experiment 01")


def test_a_tag_with_accents_is_written_as_it_is():
    settings = Settings(1, 1024, "première, n°1", "download_file", "bucket", "key", "us-east-1")
    match = PUBLISHED.search(format_record(record_of(Outcome(0, 1.0, 1, None), settings)))
    assert match is not None
    assert match["tag"] == "première, n°1"


@given(st.text(min_size=1, max_size=1_000))
def test_an_error_message_is_one_short_printable_line_whatever_the_cause_says(text):
    message = error_message(RuntimeError(text))
    assert message.isprintable()
    assert len(message) <= 300
    assert message.encode()
