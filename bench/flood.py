"""`stampede flood` against the published loader, which sends one batch after the other.

The queue is 15 ms away: ElasticMQ behind toxiproxy. A flood counts only if the queue has exactly
its messages afterwards.
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
# Java compiles ElasticMQ's code while it runs: the first thousand batches take six times longer.
WARM_UP_MESSAGES = 100_000
QUEUE, CELL = "stampede-bench-flood", "memory_size=2048,concurrency_value=500"
ORDER = {"object_bytes": 2**30}


@contextmanager
def latency_15ms() -> Iterator[tuple[Run, Run]]:
    """Run both loaders with 15 ms of latency."""
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
    """Messages/s of a flood into the empty queue. Raises RunError unless just `count` arrive."""
    started = time.perf_counter()
    send(queue_url, count)
    seconds = time.perf_counter() - started
    name = "ApproximateNumberOfMessages"  # ElasticMQ's number is exact
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=[name])
    arrived = int(answer["Attributes"][name])
    sqs.purge_queue(QueueUrl=queue_url)
    if arrived != count:
        raise RunError(f"{arrived} of {count} messages are in the queue")
    return {"messages_per_s": count / seconds}


def flooded(endpoint_url: str, queue_url: str, count: int) -> None:
    """Flood like `stampede flood`, including a line in sent.jsonl for each message."""
    values = {
        "region": servers.REGION,
        "queue_name": QUEUE,
        "queue_url": queue_url,
        "experiment": "download",
    }
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        run = RunFolder.create(Path(folder), "bench")
        flood(Target("local", values, endpoint_url), run, CELL, range(count), ORDER, quiet=True)


def one_batch_at_a_time(sqs: Any, queue_url: str, count: int) -> None:
    """Flood like the published loader, which sends a batch of ten after the last was accepted."""
    for first in range(0, count, BATCH):
        entries = []
        for index in range(BATCH):
            body = {"run_id": "peer", "cell": CELL, "seq": first + index} | ORDER
            entries.append({"Id": str(index), "MessageBody": json.dumps(body)})
        sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
