"""The flood of `stampede flood` against one batch after the other, as the published loader sends
them.

The queue is 15 ms away: ElasticMQ behind toxiproxy. A flood counts only if exactly its messages are
in it afterwards.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import servers
from bench.ratios import Figures, Run
from loader.flood import flood
from stampede.errors import RunError
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

MESSAGES, BATCH, LATENCY_MS = 5_000, 10, 15
# Java compiles ElasticMQ's code while it runs: the first thousand batches take six times as long as
# the later ones.
WARM_UP_MESSAGES = 100_000
QUEUE, CELL, ORDER = (
    "stampede-bench-flood",
    "memory_size=2048,concurrency_value=500",
    {"object_bytes": 2**30},
)


@contextmanager
def latency_15ms() -> Iterator[tuple[Run, Run]]:
    """Both loaders."""
    with servers.elasticmq() as near_url, servers.delayed(near_url, LATENCY_MS) as far_url:
        sqs = servers.client("sqs", near_url)
        queue_url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        rate(sqs, queue_url, partial(flooded, near_url), WARM_UP_MESSAGES)
        far = servers.client("sqs", far_url)
        yield (
            lambda: rate(sqs, queue_url, partial(flooded, far_url)),
            lambda: rate(sqs, queue_url, partial(one_batch_at_a_time, far)),
        )


def rate(
    sqs: Any, queue_url: str, send: Callable[[str, int], None], count: int = MESSAGES
) -> Figures:
    """Messages/s of one flood into the empty queue. Raises RunError unless exactly `count`
    arrived."""
    started = time.perf_counter()
    send(queue_url, count)
    seconds = time.perf_counter() - started
    name = "ApproximateNumberOfMessages"  # ElasticMQ's number is exact
    arrived = int(
        sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=[name])["Attributes"][name]
    )
    sqs.purge_queue(QueueUrl=queue_url)
    if arrived != count:
        raise RunError(f"{arrived} of {count} messages are in the queue")
    return {"messages_per_s": count / seconds}


def flooded(endpoint_url: str, queue_url: str, count: int) -> None:
    """Flood as `stampede flood` does, its line in sent.jsonl for each message included."""
    values = {
        "region": servers.REGION,
        "queue_name": QUEUE,
        "queue_url": queue_url,
        "experiment": "download",
    }
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        run = RunFolder.create(Path(folder), "bench")
        flood(Target("local", values, endpoint_url), run, CELL, count, order=ORDER, quiet=True)


def one_batch_at_a_time(sqs: Any, queue_url: str, count: int) -> None:
    """Flood as the published loader does: batches of ten, each sent when the one before it was
    accepted."""
    for first in range(0, count, BATCH):
        bodies = [
            {"run_id": "peer", "cell": CELL, "seq": seq} | ORDER
            for seq in range(first, first + BATCH)
        ]
        entries = [
            {"Id": str(index), "MessageBody": json.dumps(body)} for index, body in enumerate(bodies)
        ]
        sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
