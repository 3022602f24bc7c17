"""`flood_latency_15ms`: 5,000 messages into an ElasticMQ queue that is 15 ms away, ours against batch after batch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench import servers, tools
from bench.errors import BenchError
from bench.measure import Entry, alternate
from loader import sending
from loader.flood import orders, sent_log
from loader.progress import say
from loader.run_folder import RunFolder
from loader.target import Target

NAME = "flood_latency_15ms"
MESSAGES = 5_000
LATENCY_MS = 15
QUEUE = "stampede-bench-flood"
CELL = "memory_size=2048,concurrency_value=500"
# Java compiles ElasticMQ's code while it runs: the first thousand batches take six times as long as the later ones, and
# from about the ten-thousandth on they stay the same.
WARM_UP_FLOODS = 20


@dataclass(frozen=True)
class Queue:
    """One queue seen through an endpoint: `client` is boto3's, `url` the queue's URL."""

    client: Any
    url: str

    def count(self) -> int:
        """The messages in it; ElasticMQ's number is exact."""
        name = "ApproximateNumberOfMessages"
        return int(self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])["Attributes"][name])

    def empty(self) -> None:
        """Remove every message."""
        self.client.purge_queue(QueueUrl=self.url)


def latency_15ms(runs: int) -> tuple[Entry, str]:
    """Measure both loaders in turn; gives the entry (messages/s) and a line about the servers. Raises BenchError."""
    with servers.elasticmq() as near, servers.toxiproxy() as toxiproxy:
        far = toxiproxy.delayed("sqs", near, LATENCY_MS)
        near_queue = _made(near)
        far_queue = Queue(sqs_client(far), near_queue.url)
        # Both sides have their client and credentials when the clock starts; neither has a connection.
        near_endpoint, far_endpoint = (sending.endpoint_of(_target(url)) for url in (near, far))
        say(f"{NAME}: warming ElasticMQ up with {WARM_UP_FLOODS * MESSAGES:,} messages (about 15 s)")
        for _ in range(WARM_UP_FLOODS):
            rate(near_queue, lambda: ours(near_endpoint, near_queue.url))
        added_ms = (_round_trip_s(far_queue) - _round_trip_s(near_queue)) * 1000
        say(f"{NAME}: {runs} runs of each side in turn, {MESSAGES:,} messages each (about {runs * 11} s)")
        samples = alternate(
            lambda: rate(near_queue, lambda: ours(far_endpoint, near_queue.url)),
            lambda: rate(near_queue, lambda: one_batch_at_a_time(far_queue)),
            runs,
            lambda side, run, value: say(f"  run {run} {side}: {value:,.0f} messages/s", style="dim"),
        )
    setting = (
        f"{MESSAGES:,} messages to ElasticMQ {tools.elasticmq_version(tools.elasticmq_jars())} behind toxiproxy "
        f"{tools.TOXIPROXY.version}: every answer {LATENCY_MS} ms late (measured: {added_ms:.1f} ms)"
    )
    return samples.entry(NAME, "messages/s", higher_is_better=True), setting


def rate(queue: Queue, flood: Callable[[], None]) -> float:
    """Messages/s of one flood into the empty queue. Raises BenchError unless exactly MESSAGES arrived."""
    started = time.perf_counter()
    flood()
    seconds = time.perf_counter() - started
    arrived = queue.count()
    queue.empty()
    if arrived != MESSAGES:
        raise BenchError(f"{arrived} of {MESSAGES} messages are in the queue: this flood can't be compared")
    return MESSAGES / seconds


def ours(endpoint: sending.Endpoint, queue_url: str) -> None:
    """Flood with the loader, its line in sent.jsonl for each message included. Raises BenchError if one is refused."""
    with _run_folder() as folder, sent_log(folder, CELL) as log:
        extras = {"object_bytes": 2**30}
        outcome = sending.send_to(endpoint, queue_url, orders(folder.run_id, CELL, MESSAGES, extras), log)
    if outcome.failed or outcome.possible_duplicates:
        raise BenchError(f"our flood is not clean: {outcome.sentence()}")


def one_batch_at_a_time(queue: Queue) -> None:
    """Flood as the published loader does: batches of ten, each sent when the one before it was accepted."""
    entries: list[dict[str, str]] = []
    for order in orders("peer", CELL, MESSAGES, {"object_bytes": 2**30}):
        entries.append({"Id": str(len(entries)), "MessageBody": order.body})
        if len(entries) == 10:
            answer = queue.client.send_message_batch(QueueUrl=queue.url, Entries=entries)
            if answer.get("Failed"):
                raise BenchError(f"ElasticMQ refused {len(answer['Failed'])} messages of the peer's")
            entries = []


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


def _target(endpoint_url: str) -> Target:
    return Target("local", {"region": servers.REGION}, endpoint_url)


def _made(endpoint_url: str) -> Queue:
    client = sqs_client(endpoint_url)
    return Queue(client, client.create_queue(QueueName=QUEUE)["QueueUrl"])


def _round_trip_s(queue: Queue, times: int = 9) -> float:
    """The median time of a small request and its answer."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        queue.count()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)[times // 2]


@contextmanager
def _run_folder() -> Iterator[RunFolder]:
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        yield RunFolder.create(Path(folder), "bench")
