"""The flood against its peers: `flood_latency_15ms` (a queue 15 ms away, against batch after batch) and
`flood_loopback` (a queue on loopback, against the same request bytes with nothing around them)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from bench import raw_http, servers, tools
from bench.errors import BenchError
from bench.measure import Entry, alternate
from loader.flood import orders, sent_log
from loader.sqs.message import batches, request_body
from loader.sqs.outcome import IN_FLIGHT
from loader.sqs.sending import endpoint_of, send_to
from loader.sqs.service import Endpoint, signed_headers
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

NAME = "flood_latency_15ms"
NAME_LOOPBACK = "flood_loopback"
MESSAGES = 5_000
LOOPBACK_MESSAGES = 50_000  # a second or two for either side
LATENCY_MS = 15
QUEUE = "stampede-bench-flood"
CELL = "memory_size=2048,concurrency_value=500"
EXTRAS = {"object_bytes": 2**30}
# Java compiles ElasticMQ's code while it runs: the first thousand batches take six times as long as the later ones, and
# behind ten thousand they still become faster by a third.
WARM_UP_FLOODS = 6


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
        near_queue = made_queue(near)
        far_queue = Queue(sqs_client(far), near_queue.url)
        # Both sides have their client and credentials when the clock starts; neither has a connection.
        near_endpoint, far_endpoint = (endpoint_of(_target(url)) for url in (near, far))
        _warm_up(NAME, near_queue, near_endpoint)
        added_ms = (_round_trip_s(far_queue) - _round_trip_s(near_queue)) * 1000
        say(f"{NAME}: {runs} runs of each side in turn, {MESSAGES:,} messages each (about {runs * 11} s)")
        samples = alternate(
            lambda: rate(near_queue, lambda: ours(far_endpoint, near_queue.url)),
            lambda: rate(near_queue, lambda: one_batch_at_a_time(far_queue)),
            runs,
            "messages/s",
        )
    setting = (
        f"{MESSAGES:,} messages to ElasticMQ {_version()} behind toxiproxy {tools.TOXIPROXY.version}: every answer "
        f"{LATENCY_MS} ms late (measured: {added_ms:.1f} ms); {IN_FLIGHT} requests in flight against one"
    )
    return samples.entry(NAME, "messages/s", higher_is_better=True), setting


def loopback(runs: int) -> tuple[Entry, str]:
    """Measure our flood and the same request bytes sent bare, in turn; gives the entry (messages/s) and a line about
    the servers. Raises BenchError."""
    count = LOOPBACK_MESSAGES
    with servers.elasticmq() as url:
        queue = made_queue(url)
        endpoint = endpoint_of(_target(url))
        _warm_up(NAME_LOOPBACK, queue, endpoint)
        say(f"{NAME_LOOPBACK}: {runs} runs of each side in turn, {count:,} messages each (about {runs * 5} s)")
        samples = alternate(
            lambda: rate(queue, lambda: ours(endpoint, queue.url, count), count),
            lambda: bare_rate(queue, endpoint, count),
            runs,
            "messages/s",
        )
    setting = (
        f"{count:,} messages to ElasticMQ {_version()} on loopback; the peer is an epoll loop (bench/raw_http.py) that "
        f"writes the same requests, built and signed before, on {IN_FLIGHT} connections, as ours does"
    )
    return samples.entry(NAME_LOOPBACK, "messages/s", higher_is_better=True), setting


def rate(queue: Queue, flood: Callable[[], None], count: int = MESSAGES) -> float:
    """Messages/s of one flood into the empty queue. Raises BenchError unless exactly `count` arrived."""
    started = time.perf_counter()
    flood()
    seconds = time.perf_counter() - started
    arrived = queue.count()
    queue.empty()
    if arrived != count:
        raise BenchError(f"{arrived} of {count} messages are in the queue: this flood can't be compared")
    return count / seconds


def bare_rate(queue: Queue, endpoint: Endpoint, count: int) -> float:
    """Messages/s of the requests that `ours` sends, made before the clock starts."""
    requests = bare_requests(endpoint, queue.url, count)
    return rate(queue, lambda: raw_http.post_all(endpoint.url, requests, IN_FLIGHT), count)


def bare_requests(endpoint: Endpoint, queue_url: str, count: int) -> list[bytes]:
    """The bytes of every request of one flood, signed now."""
    requests = []
    for batch in batches(orders("bench", CELL, count, EXTRAS)):
        body = request_body(queue_url, {str(index): order for index, order in enumerate(batch)})
        headers = {"Host": urlsplit(endpoint.url).netloc, "Content-Length": str(len(body))}
        lines = [f"{name}: {value}" for name, value in (headers | signed_headers(endpoint, body)).items()]
        requests.append("\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode() + body)
    return requests


def ours(endpoint: Endpoint, queue_url: str, count: int = MESSAGES) -> None:
    """Flood with the loader, its line in sent.jsonl for each message included. Raises BenchError if one is refused."""
    with run_folder() as folder, sent_log(folder, CELL) as log:
        outcome = send_to(endpoint, queue_url, orders(folder.run_id, CELL, count, EXTRAS), log)
    if outcome.failed or outcome.possible_duplicates:
        raise BenchError(f"our flood is not clean: {outcome.sentence()}")


def one_batch_at_a_time(queue: Queue) -> None:
    """Flood as the published loader does: batches of ten, each sent when the one before it was accepted."""
    source = orders("peer", CELL, MESSAGES, EXTRAS)
    while batch := list(islice(source, 10)):
        entries = [{"Id": str(index), "MessageBody": order.body} for index, order in enumerate(batch)]
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


@contextmanager
def run_folder() -> Iterator[RunFolder]:
    """A run's folder that goes with the block."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        yield RunFolder.create(Path(folder), "bench")


def _warm_up(name: str, queue: Queue, endpoint: Endpoint) -> None:
    count = LOOPBACK_MESSAGES
    say(f"{name}: warming ElasticMQ up with {WARM_UP_FLOODS * count:,} messages (about 20 s)")
    for _ in range(WARM_UP_FLOODS):
        rate(queue, lambda: ours(endpoint, queue.url, count), count)


def _target(endpoint_url: str) -> Target:
    return Target("local", {"region": servers.REGION}, endpoint_url)


def made_queue(endpoint_url: str) -> Queue:
    """The bench's queue at an SQS endpoint, made if it isn't there."""
    client = sqs_client(endpoint_url)
    return Queue(client, client.create_queue(QueueName=QUEUE)["QueueUrl"])


def _version() -> str:
    return tools.elasticmq_version(tools.elasticmq_jars())


def _round_trip_s(queue: Queue, times: int = 9) -> float:
    """The median time of a small request and its answer."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        queue.count()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)[times // 2]
