"""A failed message comes back after seconds: what the function tells SQS, and that nothing depends
on it."""

import time

import pytest

from common.redelivery import hasten
from common.sqs_event import read_messages
from stampede.model.flood import Flood
from tests.fakes.sqs import DENY, NO_ANSWER, NO_ANSWER_S, UNAVAILABLE
from tests.unit.functions.lambda_sandbox import order, sqs_record


@pytest.mark.parametrize("method", ["stream", "go_stream"])
def test_sqs_hears_of_failed_messages_only_after_every_record_and_their_time_doubles(
    start_s3, sandbox, sqs, method
):
    start_s3(1000)
    function = sandbox(method)
    for attempt, delay_s in ((1, 2), (4, 16), (5, 32), (999_999_999, 32)):
        sqs.visibility_changes.clear()
        records, failed = function.invoke(
            order(object_bytes=1), order(), "not an order", attempt=attempt
        )
        assert [record["status"] for record in records] == ["error", "ok", "error"]
        assert failed == [records[0]["message_id"], records[2]["message_id"]]
        for change in sqs.visibility_changes:
            assert change.pop("QueueUrl").endswith("/000000000000/stampede-queue")
        assert (
            sqs.visibility_changes
            == [{"ReceiptHandle": "handle", "VisibilityTimeout": delay_s}] * 2
        )
        # The end is the sum of a rounded start and a rounded time.
        earliest_end_ms = max(record["finished_at_ms"] for record in records) - 1
        assert earliest_end_ms / 1000 <= sqs.changed_at_s[-2]
        assert Flood.redelivery_s[min(attempt, len(Flood.redelivery_s)) - 1] == delay_s


@pytest.mark.parametrize("answer", [DENY, UNAVAILABLE, NO_ANSWER])
def test_a_call_that_fails_is_tried_once_and_changes_nothing_but_the_log(
    sandbox, sqs, capsys, answer
):
    sqs.then = answer
    function = sandbox()
    began_s = time.monotonic()
    [record], failed = function.invoke("not an order")
    assert time.monotonic() - began_s < NO_ANSWER_S / 2
    assert (failed, record["error_type"], len(sqs.visibility_changes)) == (
        [record["message_id"]],
        "WorkOrderError",
        1,
    )
    [line] = capsys.readouterr().err.splitlines()
    assert record["message_id"] in line
    # no query takes it for a record
    assert line.isprintable() and "{" not in line and len(line) < 300


def test_without_credentials_or_with_too_little_time_left_nothing_is_asked(
    sandbox, sqs, monkeypatch
):
    assert sandbox().invoke(order(), remaining_s=1.9)[0][0]["error_type"] == "DeadlineExceeded"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    [record], failed = sandbox().invoke("not an order")
    assert (failed, record["error_type"], sqs.visibility_changes) == (
        [record["message_id"]],
        "WorkOrderError",
        [],
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"receiptHandle": None},
        {"eventSourceARN": None},
        {"eventSourceARN": "arn:aws:sqs:evil.example.com#:000000000000:q"},
    ],
)
def test_an_event_that_does_not_say_which_message_of_which_queue_asks_nothing(
    sandbox_environment, sqs, changes
):
    hasten(*read_messages({"Records": [sqs_record("{}") | changes]}), remaining_s=60)
    assert sqs.visibility_changes == []
