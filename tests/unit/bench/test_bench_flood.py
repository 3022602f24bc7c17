"""The two sides of the flood comparison do the same work, and only a complete flood counts."""

import json

import pytest

from bench import flood
from bench.errors import BenchError


class CountingQueue:
    """Stands in for boto3's client of a queue: keeps the bodies, refuses the entries that it is told to."""

    def __init__(self, refused=()):
        self.batches, self.purged, self.refused = [], 0, refused

    def send_message_batch(self, QueueUrl, Entries):
        self.batches.append([(one["Id"], json.loads(one["MessageBody"])) for one in Entries])
        return {"Failed": list(self.refused)} if self.refused else {"Successful": []}

    def get_queue_attributes(self, QueueUrl, AttributeNames):
        return {"Attributes": {AttributeNames[0]: str(sum(map(len, self.batches)))}}

    def purge_queue(self, QueueUrl):
        self.batches.clear()
        self.purged += 1


@pytest.fixture
def queue():
    return flood.Queue(CountingQueue(), "http://127.0.0.1:9/000000000000/q")


def test_the_peer_sends_every_message_once_in_full_batches(queue):
    flood.one_batch_at_a_time(queue)
    batches = queue.client.batches
    assert [len(batch) for batch in batches] == [10] * (flood.MESSAGES // 10)
    assert [body["seq"] for batch in batches for _, body in batch] == list(range(flood.MESSAGES))
    assert {tuple(name for name, _ in batch) for batch in batches} == {tuple("0123456789")}


def test_a_flood_whose_messages_are_all_there_gives_a_rate_and_leaves_an_empty_queue(queue):
    assert flood.rate(queue, lambda: flood.one_batch_at_a_time(queue)) > 0
    assert (queue.count(), queue.client.purged) == (0, 1)


@pytest.mark.parametrize("times", [0, 2])
def test_a_flood_that_lost_or_doubled_messages_is_no_measurement(queue, times):
    def wrong():
        for _ in range(times):
            flood.one_batch_at_a_time(queue)

    with pytest.raises(BenchError, match=f"^{times * flood.MESSAGES} of {flood.MESSAGES} messages are in the queue"):
        flood.rate(queue, wrong)
    assert queue.client.purged == 1


def test_a_refused_message_of_the_peer_is_no_measurement():
    queue = flood.Queue(CountingQueue(refused=[{"Id": "3"}]), "http://127.0.0.1:9/000000000000/q")
    with pytest.raises(BenchError, match="refused 1 messages"):
        flood.one_batch_at_a_time(queue)


def test_no_proxy_of_the_environment_is_used_on_loopback(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:3128")
    client = flood.sqs_client("http://127.0.0.1:9")
    assert client.meta.config.proxies == {}
    assert client.meta.endpoint_url == "http://127.0.0.1:9"
