"""The function as Lambda runs it: one event in, records and failed messages out, over real HTTP."""

import time

import pytest

from common.sqs_event import EventError
from tests.fakes.s3 import KEY
from tests.unit.functions.common.test_common_record import PUBLISHED
from tests.unit.functions.lambda_sandbox import order, sqs_record


def test_a_download_becomes_one_line_that_the_published_expression_reads(start_s3, sandbox):
    s3 = start_s3(9 * 2**20)
    function, start_at_ms = sandbox(), int(time.time() * 1000) + 500
    record = function.succeed(start_at_ms=start_at_ms, round=3)
    assert (record["run_id"], record["seq"], record["round"]) == ("run-1", 7, 3)
    assert record["cell"] == "memory_size=1024,concurrency_value=5"
    # A common start is waited for outside of the timed part.
    seconds = record["download_time_seconds"]
    assert start_at_ms <= record["started_at_ms"]
    assert record["finished_at_ms"] - record["started_at_ms"] == round(seconds * 1000)
    assert record["finished_at_ms"] <= time.time() * 1000 + 2
    assert set(s3.calls) == {("HeadObject", KEY), ("GetObject", KEY)}
    match = PUBLISHED.search(function.log)
    assert (match["concurrency"], match["memory"], match["tag"]) == ("5", "1024", "experiment 01")
    assert float(match["time"]) == seconds


def test_a_record_says_its_sandbox_its_request_and_its_attempt_and_each_message_of_a_batch_has_one(
    start_s3, sandbox
):
    start_s3(1000)
    first, second = sandbox(), sandbox()
    sent = ((first, 1), (first, 2), (second, 1))
    records = [function.invoke(order(), attempt=attempt)[0][0] for function, attempt in sent]
    assert [(record["cold_start"], record["attempt"]) for record in records] == [
        (1, 1),
        (0, 2),
        (1, 1),
    ]
    assert len({record["request_id"] for record in records}) == 3
    assert records[0]["sandbox_id"] == records[1]["sandbox_id"] != records[2]["sandbox_id"]
    message = sqs_record(order())
    first.deliver({"Records": [message, sqs_record("not an order"), message]})
    assert [
        status in line
        for line, status in zip(first.log.splitlines(), ("ok", "error", "ok"), strict=True)
    ] == [True] * 3


@pytest.mark.parametrize(
    ("name", "value"), [("MEMORY_SIZE", ""), ("AWS_ENDPOINT_URL", "not a url")]
)
def test_a_wrong_setting_becomes_an_error_record_of_each_message_that_names_it(
    sandbox, monkeypatch, name, value
):
    monkeypatch.setenv(name, value)
    function = sandbox()
    for is_cold in (1, 0):
        record = function.fail("SettingsError")
        assert name in record["error_message"]
        assert (record["run_id"], record["seq"], record["cold_start"]) == ("run-1", 7, is_cold)


def test_a_direct_test_invoke_fails_with_one_clear_error_and_leaves_no_record(sandbox, capsys):
    with pytest.raises(EventError, match="stampede flood"):
        sandbox().handler({"key1": "value1"}, None)
    assert capsys.readouterr().out == ""
    go = sandbox("go_stream")
    assert "stampede flood" in go.deliver({"key1": "value1"})["errorMessage"]
    assert go.log == ""
