"""A queue's attributes converge."""

import pytest

from stampede.emulator.manners.queues import COUNTS, Queues
from tests.unit.emulator.manners.conftest import code_of


@pytest.fixture
def queue(aws):
    """AWS, a client of SQS, and the URL of a queue that was made this moment."""
    aws = aws(Queues)
    sqs = aws.client("sqs")
    return aws, sqs, sqs.create_queue(QueueName="q")["QueueUrl"]


def test_a_new_queue_is_not_there_at_once(queue):
    aws, sqs, url = queue
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    aws.now += Queues.APPEARS_S[1]
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]


def test_the_name_of_a_deleted_queue_is_free_after_a_minute(queue):
    aws, sqs, url = queue
    sqs.delete_queue(QueueUrl=url)
    aws.now += 59
    assert code_of(sqs.create_queue, QueueName="q") == "AWS.SimpleQueueService.QueueDeletedRecently"
    aws.now += 1
    assert code_of(sqs.create_queue, QueueName="q") == ""


def test_counts_lag_by_a_minute_at_most(queue):
    aws, sqs, url = queue
    aws.now += 10

    def count():
        return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*COUNTS])["Attributes"][min(COUNTS)])

    assert count() == 0
    aws.now += 30
    sqs.send_message(QueueUrl=url, MessageBody="x")
    early = [count() for _ in range(20)]
    assert {0, 1} == set(early)
    aws.now += Queues.SPREADS_S + 1
    assert count() == 1


def test_old_settings_are_answered_for_a_while(queue):
    aws, sqs, url = queue
    aws.now += 10
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "77"})

    def timeouts():
        request = {"QueueUrl": url, "AttributeNames": ["VisibilityTimeout"]}
        return {sqs.get_queue_attributes(**request)["Attributes"]["VisibilityTimeout"] for _ in range(20)}

    assert timeouts() == {"30", "77"}
    aws.now += Queues.SPREADS_S
    assert timeouts() == {"77"}


def test_a_queue_is_purged_once_a_minute(queue):
    aws, sqs, url = queue
    assert code_of(sqs.purge_queue, QueueUrl=url) == ""
    aws.now += 59
    assert code_of(sqs.purge_queue, QueueUrl=url) == "AWS.SimpleQueueService.PurgeQueueInProgress"
    aws.now += 1
    assert code_of(sqs.purge_queue, QueueUrl=url) == ""
