"""A flood gives a rate only if exactly its messages are in the queue."""

import json
from functools import partial

import pytest

from bench import flood
from bench.errors import BenchError
from tests.fakes.sqs import DENY, FakeSqs


class CountingQueue:
    """Stands in for boto3's client of a queue: keeps the bodies, refuses the entries that it is told to."""

    def __init__(self, refused=()):
        self.seqs, self.refused = [], list(refused)

    def send_message_batch(self, QueueUrl, Entries):
        self.seqs += [json.loads(entry["MessageBody"])["seq"] for entry in Entries]
        return {"Failed": self.refused} if self.refused else {"Successful": []}

    def get_queue_attributes(self, QueueUrl, AttributeNames):
        return {"Attributes": {AttributeNames[0]: str(len(self.seqs))}}

    def purge_queue(self, QueueUrl):
        self.seqs.clear()


def test_only_a_flood_whose_messages_are_all_there_gives_a_rate():
    queue = flood.Queue(CountingQueue(), "http://127.0.0.1:9/000000000000/q")
    flood.one_batch_at_a_time(queue, 50)
    assert queue.client.seqs == list(range(50))
    queue.client.purge_queue(queue.url)
    for sent in (50, 70):
        with pytest.raises(BenchError, match=f"^{sent} of 60 messages are in the queue"):
            flood.rate(queue, partial(flood.one_batch_at_a_time, queue, sent), 60)
    assert flood.rate(queue, lambda: flood.one_batch_at_a_time(queue, 60), 60)["messages_per_s"] > 0
    with pytest.raises(BenchError, match="refused 1 of the peer's messages"):
        flood.one_batch_at_a_time(flood.Queue(CountingQueue([{"Id": "3"}]), "http://127.0.0.1:9/000000000000/q"))


def test_ours_is_the_flood_of_the_command_and_one_that_is_refused_is_no_measurement():
    with FakeSqs() as sqs:
        flood.flooded(sqs.url, sqs.queue_url, 23)
        assert sorted(json.loads(body)["seq"] for body in sqs.accepted) == list(range(23))
    with FakeSqs(DENY) as sqs, pytest.raises(BenchError, match="this flood is not clean"):
        flood.flooded(sqs.url, sqs.queue_url, 5)
