"""A failed message comes back after seconds: what the function tells SQS, and that nothing depends on it."""

import sys
import time

import pytest

from common.redelivery import hasten
from common.sqs_event import read_messages
from stampede.model.flood import Flood
from tests.fakes.sqs import CUT_AFTER, DENY, ERROR_AFTER, NO_ANSWER, NO_ANSWER_S, UNAVAILABLE
from tests.unit.functions.lambda_sandbox import order

ARN = "arn:aws:sqs:us-east-1:000000000000:stampede-queue"
PLENTY_S = 60


@pytest.mark.parametrize(("attempt", "delay_s"), [(1, 2), (4, 16), (5, 32), (999_999_999, 32)])
def test_a_failed_message_comes_back_after_a_time_that_doubles_up_to_32_s(sandbox, sqs, attempt, delay_s):
    [record], failed = sandbox().invoke("not an order", attempt=attempt)
    assert failed == [record["message_id"]]
    assert sqs.visibility_changes == [
        {
            "QueueUrl": f"{sqs.url}/000000000000/stampede-queue",
            "ReceiptHandle": "handle",
            "VisibilityTimeout": delay_s,
        }
    ]
    assert Flood.redelivery_s[min(attempt, len(Flood.redelivery_s)) - 1] == delay_s


def test_sqs_hears_of_the_failed_messages_only_and_after_every_record(start_s3, sandbox, sqs, monkeypatch):
    start_s3(1000)
    function = sandbox()
    happened = []
    write_record = sys.modules["common.sandbox"].write_record
    monkeypatch.setattr("common.sandbox.write_record", lambda record: (write_record(record), happened.append("record")))
    sqs.on_change = lambda: happened.append("call")
    records, failed = function.invoke(order(object_bytes=1), order(), "not an order")
    assert [record["status"] for record in records] == ["error", "ok", "error"]
    assert failed == [records[0]["message_id"], records[2]["message_id"]]
    assert happened == ["record"] * 3 + ["call"] * 2


@pytest.mark.parametrize("answer", [DENY, ERROR_AFTER, UNAVAILABLE, CUT_AFTER, NO_ANSWER])
def test_a_call_that_fails_is_tried_once_and_changes_nothing_but_the_log(sandbox, sqs, capsys, answer):
    sqs.then = answer
    function = sandbox()
    began_s = time.monotonic()
    [record], failed = function.invoke("not an order")
    assert time.monotonic() - began_s < NO_ANSWER_S / 2
    assert (failed, record["error_type"], len(sqs.visibility_changes)) == ([record["message_id"]], "WorkOrderError", 1)
    [line] = capsys.readouterr().err.splitlines()
    assert record["message_id"] in line
    assert line.isprintable()
    assert "{" not in line
    assert len(line) < 300


def test_without_credentials_nothing_changes_either(sandbox, sqs, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    [record], failed = sandbox().invoke("not an order")
    assert (failed, record["error_type"], sqs.visibility_changes) == ([record["message_id"]], "WorkOrderError", [])


def test_too_little_time_left_is_not_spent_on_it(sandbox, sqs):
    [record], failed = sandbox().invoke(order(), remaining_s=1.9)
    assert (failed, record["error_type"], sqs.visibility_changes) == ([record["message_id"]], "DeadlineExceeded", [])


@pytest.mark.parametrize(
    "changes",
    [
        {"receiptHandle": None},
        *({"eventSourceARN": arn} for arn in (None, 5, "arn:aws:s3:::stampede-queue", ARN + "/other")),
        {"eventSourceARN": "arn:aws:sqs:evil.example.com#:000000000000:q"},
    ],
)
def test_an_event_that_does_not_say_which_message_of_which_queue_asks_nothing(sandbox_environment, sqs, changes):
    event = {"messageId": "m", "body": "{}", "eventSource": "aws:sqs", "attributes": {"ApproximateReceiveCount": "1"}}
    [message] = read_messages({"Records": [event | {"receiptHandle": "handle", "eventSourceARN": ARN} | changes]})
    hasten(message, PLENTY_S)
    assert sqs.visibility_changes == []
