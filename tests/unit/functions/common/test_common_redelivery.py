"""A failed message comes back after seconds: what the function tells SQS, and that nothing depends on it."""

import sys
import time

import pytest

from common.redelivery import Redelivery, _build_client
from common.sqs_event import Message, read_messages
from stampede.model.flood import Flood
from tests.fakes.sqs import CUT_AFTER, DENY, ERROR_AFTER, NO_ANSWER, NO_ANSWER_S, UNAVAILABLE
from tests.unit.functions.lambda_sandbox import order, set_environment

ARN = "arn:aws:sqs:us-east-1:000000000000:stampede-queue"
PLENTY_S = 60


@pytest.mark.parametrize(("attempt", "delay_s"), [(1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 32), (999_999_999, 32)])
def test_a_failed_message_comes_back_after_a_time_that_doubles_up_to_32_s(sandbox, sqs, attempt, delay_s):
    [record], failed = sandbox().invoke("not an order", attempt=attempt)
    assert failed == [record["message_id"]]
    assert sqs.visibility_changes == [
        {
            "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/stampede-queue",
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


def test_without_a_failure_no_client_is_made_and_with_one_it_is_made_once(start_s3, sandbox, sqs, monkeypatch):
    monkeypatch.setenv("METHOD", "stream")
    start_s3(1000)
    function = sandbox()
    made = []
    monkeypatch.setattr("common.redelivery._build_client", lambda region: made.append(region) or _build_client(region))
    function.invoke(order())
    assert made == []
    function.invoke("not an order")
    function.invoke("not an order", attempt=2)
    assert (made, [call["VisibilityTimeout"] for call in sqs.visibility_changes]) == (["us-east-1"], [2, 4])


@pytest.mark.parametrize("answer", [DENY, ERROR_AFTER, UNAVAILABLE, CUT_AFTER, NO_ANSWER])
def test_a_call_that_fails_is_tried_once_and_changes_nothing_but_the_log(sandbox, sqs, capsys, answer):
    sqs.then = answer
    function = sandbox()
    began_s = time.monotonic()
    [record], failed = function.invoke("not an order")
    assert time.monotonic() - began_s < NO_ANSWER_S / 2
    assert (failed, record["error_type"], len(sqs.visibility_changes)) == ([record["message_id"]], "WorkOrderError", 1)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"message {record['message_id']} comes back only after the queue's visibility timeout: ")
    assert line.isprintable()
    assert "{" not in line
    assert len(line) < 300


@pytest.mark.parametrize("missing", ["boto3", "AWS_ACCESS_KEY_ID"])
def test_a_client_that_cannot_be_made_changes_nothing_either(sandbox, sqs, monkeypatch, missing):
    function = sandbox()
    if missing == "boto3":
        monkeypatch.setitem(sys.modules, "boto3", None)
    else:
        monkeypatch.delenv(missing)
    [record], failed = function.invoke("not an order")
    assert (failed, record["error_type"], sqs.visibility_changes) == ([record["message_id"]], "WorkOrderError", [])


def test_too_little_time_left_is_not_spent_on_it(sandbox, sqs):
    [record], failed = sandbox().invoke(order(), remaining_s=1.9)
    assert (failed, record["error_type"], sqs.visibility_changes) == ([record["message_id"]], "DeadlineExceeded", [])


def test_a_slow_function_needs_more_time_for_its_first_call_than_for_the_next(sandbox_environment, sqs):
    message = Message("m", "{}", 1, "handle", ARN)
    slow, fast = Redelivery(memory_mb=128), Redelivery(memory_mb=10_240)
    slow.hasten(message, 8)
    assert sqs.visibility_changes == []
    fast.hasten(message, 2.6)
    assert len(sqs.visibility_changes) == 1
    slow.hasten(message, 10)
    slow.hasten(message, 2.1)
    assert len(sqs.visibility_changes) == 3
    slow.hasten(message, 1.9)
    assert len(sqs.visibility_changes) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"receiptHandle": None},
        {"receiptHandle": ""},
        {"eventSourceARN": None},
        {"eventSourceARN": 5},
        {"eventSourceARN": "arn:aws:s3:::stampede-queue"},
        {"eventSourceARN": ARN + "/other"},
        {"eventSourceARN": "arn:aws:sqs:evil.example.com#:000000000000:q"},
    ],
)
def test_an_event_that_does_not_say_which_message_of_which_queue_asks_nothing(sandbox_environment, sqs, changes):
    event = {"messageId": "m", "body": "{}", "eventSource": "aws:sqs", "attributes": {"ApproximateReceiveCount": "1"}}
    [message] = read_messages({"Records": [event | {"receiptHandle": "handle", "eventSourceARN": ARN} | changes]})
    Redelivery(1024).hasten(message, PLENTY_S)
    assert sqs.visibility_changes == []


@pytest.mark.parametrize(
    ("partition", "region", "host"),
    [
        ("aws", "eu-west-1", "sqs.eu-west-1.amazonaws.com"),
        ("aws-cn", "cn-north-1", "sqs.cn-north-1.amazonaws.com.cn"),
        ("aws-eusc", "eusc-de-east-1", "sqs.eusc-de-east-1.amazonaws.eu"),
    ],
)
def test_the_queues_url_is_where_boto3_asks_in_every_partition(monkeypatch, tmp_path, sqs, partition, region, host):
    Redelivery(1024).hasten(Message("m", "{}", 1, "handle", f"arn:{partition}:sqs:{region}:123456789012:q"), PLENTY_S)
    assert sqs.visibility_changes[0]["QueueUrl"] == f"https://{host}/123456789012/q"
    set_environment(monkeypatch, tmp_path)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS"):
        monkeypatch.delenv(name)
    assert _build_client(region).meta.endpoint_url == f"https://{host}"
