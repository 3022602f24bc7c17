"""The record as a line, and the words for what went wrong."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from common.outcome import Outcome
from common.record import build_record, format_record
from common.sqs_event import Message
from tests.unit.functions.lambda_sandbox import ERROR_TYPES

# The four keys as the published query takes them apart: numbers unquoted, the tag quoted.
PUBLISHED = re.compile(
    r'"concurrency_limit": (?P<concurrency>\d+), "download_time_seconds": (?P<time>[\d.]+), '
    r'"memory_size": (?P<memory>\d+), "experiment_tag": "(?P<tag>[^"]*)"'
)


@given(st.floats(min_value=0, max_value=1e6))
def test_the_published_expression_reads_every_duration_and_a_tag_with_accents(seconds):
    tag = "première, n°1"
    published = {
        "concurrency_limit": 1,
        "download_time_seconds": seconds,
        "memory_size": 1024,
        "experiment_tag": tag,
    }
    match = PUBLISHED.search(format_record(published))
    assert abs(float(match["time"]) - seconds) <= 1e-9
    assert (match["concurrency"], match["memory"], match["tag"]) == ("1", "1024", tag)


def test_a_number_that_is_not_finite_is_never_written():
    with pytest.raises(ValueError, match="finite"):
        format_record({"download_time_seconds": float("nan")})


def test_every_failure_of_our_own_is_in_the_vocabulary():
    own = {subclass.__name__ for subclass in Failure.__subclasses__()}
    assert {"DeadlineExceeded", "SizeMismatch"} <= own <= set(ERROR_TYPES)


@given(st.text(min_size=1, max_size=1_000))
def test_an_error_that_nobody_thought_of_is_one_short_printable_line_with_its_name(text):
    record = build_record(
        time_key="elapsed_seconds",
        labels=None,
        order=None,
        message=Message("m", "{}", 2),
        request_id="r",
        sandbox_id="s",
        cold_start=1,
        outcome=Outcome(1_735_689_600_123, 1.2346, 17, RuntimeError(text)),
        own_keys={},
    )
    message = record["error_message"]
    assert record["error_type"] == "UnexpectedError"
    assert message.startswith("RuntimeError: "[: len(message)])
    assert message.isprintable() and len(message) <= 300 and message.encode()
    assert (record["bytes"], record["finished_at_ms"]) == (17, 1_735_689_600_123 + 1_235)
