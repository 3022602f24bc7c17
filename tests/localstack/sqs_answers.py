"""What SQS answers, and where emulators answer otherwise."""

from __future__ import annotations

import json
import secrets
from typing import Any

from tests.localstack.asking import DONE, SQS_API, outcome, question
from tests.localstack.starting import Endpoint

MEBIBYTE = 2**20
ERROR = "AWS.SimpleQueueService."


def _queue(endpoint: Endpoint, **attributes: str) -> tuple[Any, str]:
    """A client, and the URL of a new queue."""
    sqs = endpoint.client("sqs")
    return sqs, sqs.create_queue(QueueName=f"stampede-{secrets.token_hex(4)}", Attributes=attributes)["QueueUrl"]


def _attributes(sqs: Any, url: str) -> dict[str, str]:
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]


def _send(endpoint: Endpoint, body: str) -> str:
    sqs, url = _queue(endpoint)
    return outcome(sqs.send_message, QueueUrl=url, MessageBody=body)


def _send_batch(endpoint: Endpoint, count: int, body: str) -> str:
    sqs, url = _queue(endpoint)
    entries = [{"Id": str(index), "MessageBody": body} for index in range(count)]
    return outcome(sqs.send_message_batch, QueueUrl=url, Entries=entries)


def _received(sqs: Any, url: str) -> list[dict[str, Any]]:
    """What is there, and stays to be had."""
    wanted = {"VisibilityTimeout": 0, "MessageSystemAttributeNames": ["All"]}
    return sqs.receive_message(QueueUrl=url, **wanted).get("Messages", [])


@question(f"{ERROR}NonExistentQueue", f"{SQS_API}, GetQueueAttributes, errors")
def a_queue_is_not_there(endpoint: Endpoint) -> str:
    sqs, url = _queue(endpoint)
    return outcome(sqs.get_queue_attributes, QueueUrl=url + "-missing", AttributeNames=["All"])


@question(DONE, f"{SQS_API}, SendMessage")
def a_message_has_1_mib(endpoint: Endpoint) -> str:
    return _send(endpoint, "x" * MEBIBYTE)


@question("InvalidParameterValue", f"{SQS_API}, SendMessage")
def a_message_has_a_byte_more_than_1_mib(endpoint: Endpoint) -> str:
    return _send(endpoint, "x" * (MEBIBYTE + 1))


@question("InvalidMessageContents", f"{SQS_API}, SendMessage", moto=DONE)
def a_message_has_a_character_that_sqs_does_not_take(endpoint: Endpoint) -> str:
    return _send(endpoint, "a\x01b")


@question(f"{ERROR}BatchRequestTooLong", f"{SQS_API}, SendMessageBatch, errors")
def a_batch_has_more_than_1_mib(endpoint: Endpoint) -> str:
    return _send_batch(endpoint, 6, "x" * 200_000)


@question(f"{ERROR}TooManyEntriesInBatchRequest", f"{SQS_API}, SendMessageBatch, errors")
def a_batch_has_eleven_messages(endpoint: Endpoint) -> str:
    return _send_batch(endpoint, 11, "x")


@question((["1", "2"], 0, True), "Amazon SQS Developer Guide, Using dead-letter queues in Amazon SQS")
def the_third_receive_of_a_message_that_may_be_received_twice(endpoint: Endpoint) -> tuple[list[str], int, bool]:
    """The counts of two receives, what a third brings, and whether the dead letter is the same message."""
    sqs, letters_url = _queue(endpoint)
    redrive = {"deadLetterTargetArn": _attributes(sqs, letters_url)["QueueArn"], "maxReceiveCount": 2}
    _, url = _queue(endpoint, RedrivePolicy=json.dumps(redrive))
    sent = sqs.send_message(QueueUrl=url, MessageBody="{}")["MessageId"]
    counts = [_received(sqs, url)[0]["Attributes"]["ApproximateReceiveCount"] for _ in range(2)]
    third = len(_received(sqs, url))
    return counts, third, [letter["MessageId"] for letter in _received(sqs, letters_url)] == [sent]


@question(DONE, f"{SQS_API}, DeleteMessage", ministack="ReceiptHandleIsInvalid")
def a_message_is_deleted_with_the_handle_of_an_earlier_receive(endpoint: Endpoint) -> str:
    sqs, url = _queue(endpoint)
    sqs.send_message(QueueUrl=url, MessageBody="x")
    [earlier], [_] = _received(sqs, url), _received(sqs, url)
    return outcome(sqs.delete_message, QueueUrl=url, ReceiptHandle=earlier["ReceiptHandle"])


@question("true", "Amazon SQS Developer Guide, Encryption at rest in Amazon SQS", ministack=None)
def whether_a_new_queue_is_encrypted(endpoint: Endpoint) -> str | None:
    return _attributes(*_queue(endpoint)).get("SqsManagedSseEnabled")


@question("InvalidAttributeValue", f"{SQS_API}, CreateQueue", localstack=DONE, moto=DONE)
def a_queue_hides_messages_for_more_than_12_hours(endpoint: Endpoint) -> str:
    sqs, name = endpoint.client("sqs"), f"stampede-{secrets.token_hex(4)}"
    return outcome(sqs.create_queue, QueueName=name, Attributes={"VisibilityTimeout": "43201"})


@question(f"{ERROR}QueueDeletedRecently", f"{SQS_API}, CreateQueue, errors", ministack=DONE, localstack=DONE, moto=DONE)
def a_queue_is_made_again_as_soon_as_it_is_deleted(endpoint: Endpoint) -> str:
    sqs, url = _queue(endpoint)
    sqs.delete_queue(QueueUrl=url)
    return outcome(sqs.create_queue, QueueName=url.rpartition("/")[2])
