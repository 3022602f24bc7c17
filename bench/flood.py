"""The flood of `stampede flood` against one batch after the other, as the published loader sends them.

The queue is 15 ms away: ElasticMQ behind toxiproxy. A flood counts only if exactly its messages are in it afterwards.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench import servers
from bench.errors import BenchError
from bench.pairs import Figures, Measured, Measurements, Side, compare, in_turn
from loader.flood import flood
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

MESSAGES, BATCH, LATENCY_MS = 5_000, 10, 15
# Java compiles ElasticMQ's code while it runs: the first thousand batches take six times as long as the later ones.
WARM_UP_MESSAGES = 100_000
QUEUE, CELL, ORDER = "stampede-bench-flood", "memory_size=2048,concurrency_value=500", {"object_bytes": 2**30}


@dataclass(frozen=True)
class Queue:
    """One queue seen through an endpoint: `client` is boto3's, `url` the queue's URL."""

    client: Any
    url: str

    def count(self) -> int:
        """The messages in it; ElasticMQ's number is exact."""
        name = "ApproximateNumberOfMessages"
        return int(self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])["Attributes"][name])


def latency_15ms(runs: int) -> Measured:
    """Messages/s of both loaders in turn."""
    with servers.elasticmq() as near_url, servers.delayed(near_url, LATENCY_MS) as far_url:
        near = sqs_client(near_url)
        queue = Queue(near, near.create_queue(QueueName=QUEUE)["QueueUrl"])
        far = Queue(sqs_client(far_url), queue.url)
        say(f"warming ElasticMQ up with {WARM_UP_MESSAGES:,} messages")
        rate(queue, lambda: flooded(near_url, queue.url, WARM_UP_MESSAGES), WARM_UP_MESSAGES)
        pair = (
            Side("stampede flood", lambda: rate(queue, lambda: flooded(far_url, queue.url, MESSAGES), MESSAGES)),
            Side("one batch after the other", lambda: rate(queue, lambda: one_batch_at_a_time(far), MESSAGES)),
        )
        in_turn(pair, runs)
    entry = compare("flood_latency_15ms", *pair, "messages_per_s", "messages/s", more_is_better=True)
    return [entry], f"{MESSAGES:,} messages to ElasticMQ behind toxiproxy, every answer {LATENCY_MS} ms late"


def rate(queue: Queue, send: Callable[[], None], count: int) -> Figures:
    """Messages/s of one flood into the empty queue. Raises BenchError unless exactly `count` arrived."""
    started = time.perf_counter()
    send()
    seconds = time.perf_counter() - started
    arrived = queue.count()
    queue.client.purge_queue(QueueUrl=queue.url)
    if arrived != count:
        raise BenchError(f"{arrived} of {count} messages are in the queue: this flood can't be compared")
    return {"messages_per_s": count / seconds}


def flooded(endpoint_url: str, queue_url: str, count: int) -> None:
    """Flood as `stampede flood` does, its line in sent.jsonl for each message included. Raises BenchError unless every
    message was accepted, and once."""
    values = {"region": servers.REGION, "queue_name": QUEUE, "queue_url": queue_url, "experiment": "download"}
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        run = RunFolder.create(Path(folder), "bench")
        outcome = flood(Target("local", values, endpoint_url), run, CELL, count, order=ORDER, quiet=True)
    if outcome.sent != count or outcome.possible_duplicates:
        raise BenchError(f"this flood is not clean: {outcome.sentence()}")


def one_batch_at_a_time(queue: Queue, count: int = MESSAGES) -> None:
    """Flood as the published loader does: batches of ten, each sent when the one before it was accepted."""
    for first in range(0, count, BATCH):
        bodies = [{"run_id": "peer", "cell": CELL, "seq": seq} | ORDER for seq in range(first, first + BATCH)]
        entries = [{"Id": str(index), "MessageBody": json.dumps(body)} for index, body in enumerate(bodies)]
        answer = queue.client.send_message_batch(QueueUrl=queue.url, Entries=entries)
        if answer.get("Failed"):
            raise BenchError(f"ElasticMQ refused {len(answer['Failed'])} of the peer's messages")


def sqs_client(endpoint_url: str) -> Any:
    """A boto3 client as the published loader uses it (default settings), except that it never leaves loopback."""
    return boto3.client(
        "sqs",
        endpoint_url=endpoint_url,
        region_name=servers.REGION,
        aws_access_key_id=servers.ACCESS_KEY,
        aws_secret_access_key=servers.SECRET_KEY,
        config=Config(proxies={}),
    )


MEASUREMENTS: Measurements = {("flood_latency_15ms",): latency_15ms}
