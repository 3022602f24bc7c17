"""Server-side copies by `transfer copy`: the CPU of a call compared with boto3 and s5cmd, and how
well the adaptive pace finds an unknown limit and shares it between workers.

The CPU is measured with versitygw, the pace with the front (bench/front) and S3's limit of 3,500
writes/s for a prefix. Every run copies to a new prefix, and counts only if every object is there,
or none failed.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import clients, programs, servers
from bench.child import run_child
from bench.ratios import Figures, Run
from bench.servers import BUCKET, Place
from stampede.errors import RunError

SOURCE, SOURCE_BYTES = "masters/0a1b2c3d/0", 1000
CALLS, PARALLEL_LIMIT, BOTO3_PROCESSES = 3000, 32, 4
LATENCY_MS, LIMIT_PER_S, MOST_IN_FLIGHT, RUN_SECONDS = 20, 3500, 1000, 60
# Objects of different sizes: (limit, workers, latency of a copy in ms, parallel limit).
SLOW_CASES = ((100, 1, 500, 1000), (500, 10, 500, 100), (500, 1, 20, 1000), (100, 1, 5000, 1000))
SLOW_SECONDS, REFUSAL_MS = 30, 15  # S3 refuses fast and copies slowly
Rows = tuple[str, Path]  # a new prefix, and the manifest of copies to it
LINE, S5CMD_LINE = "{source},{key}", f"cp s3://{BUCKET}/{{source}} s3://{BUCKET}/{{key}}"
_number = itertools.count()


@contextmanager
def costs(
    peer: Callable[[Place, Rows], Figures], peers_line: str = LINE
) -> Iterator[tuple[Run, Run]]:
    """The CPU of a call, against a peer that reads lines of the form `peers_line`."""
    with servers.s3(room_mb=512) as place:
        put_master(place)
        yield partial(call_costs, place, copy), partial(call_costs, place, peer, peers_line)


@contextmanager
def adaptive(workers: int) -> Iterator[tuple[Run, Run]]:
    """Copies/s of the slowest worker, against its share of the limit."""

    def minute() -> Figures:
        late = {"latency_ms": LATENCY_MS, "refusal_latency_ms": LATENCY_MS}
        with servers.front(limit_per_s=LIMIT_PER_S, **late) as store:
            rates = paced(store.url, LIMIT_PER_S, workers, MOST_IN_FLIGHT, RUN_SECONDS)
            requests = store.requests()
        refused = requests["slow_down"] / (requests["slow_down"] + requests["copy"])
        return {"copies_per_s": min(rates), "jain": jain(rates), "slow_down_share": refused}

    yield minute, lambda: {"copies_per_s": LIMIT_PER_S / workers}


@contextmanager
def adaptive_slow() -> Iterator[tuple[Run, Run]]:
    """The part of the limit that S3 accepted, in the worst of the cases."""

    def accepted(limit_per_s: int, workers: int, latency_ms: int, parallel_limit: int) -> float:
        late = {"latency_ms": latency_ms, "refusal_latency_ms": REFUSAL_MS}
        with servers.front(limit_per_s=limit_per_s, **late) as store:
            paced(store.url, limit_per_s, workers, parallel_limit, SLOW_SECONDS)
            return store.requests()["copy"] / (limit_per_s * SLOW_SECONDS)

    def worst() -> Figures:
        return {"of_limit": min(accepted(*case) for case in SLOW_CASES)}

    yield worst, lambda: {"of_limit": 1.0}


def put_master(place: Place) -> None:
    """Put the source object."""
    place.client().put_object(Bucket=BUCKET, Key=SOURCE, Body=os.urandom(SOURCE_BYTES))


def listed(place: Place, count: int, line: str = LINE) -> Rows:
    """A file with a line for each of `count` keys below a new prefix."""
    prefix = f"copies/{next(_number)}/"
    path = place.folder / f"{prefix.replace('/', '-')}rows"
    with path.open("w") as file:
        for number in range(count):
            key = f"{prefix}{number // 100:06}/{number:08}.mp4"
            file.write(line.format(source=SOURCE, key=key) + "\n")
    return prefix, path


def copy(place: Place, rows: Rows, parallel_limit: int = PARALLEL_LIMIT, *options: str) -> Figures:
    """Copy a manifest with the Go program, at a fixed pace unless `options` say otherwise.

    Returns its summary, wall_s, cpu_s and peak_mb. Raises RunError if an object failed.
    """
    prefix, manifest = rows
    own = {
        "--source-bucket": BUCKET,
        "--manifest": str(manifest),
        "--pace": "fixed",
        "--destination-bucket": BUCKET,
        "--destination-prefix": prefix,
        "--parallel-limit": str(parallel_limit),
    }
    command = [programs.transfer(), "copy", *itertools.chain(*own.items()), *options]
    with tempfile.TemporaryDirectory(dir=place.folder) as scratch:
        printed, used = run_child(command, TMPDIR=scratch, **place.environment)
    return used | json.loads(printed)


def copy_by_boto3(place: Place, rows: Rows) -> Figures:
    """A loop of `copy_object` in each of several processes."""
    return clients.boto3(place, "copy_many", BUCKET, str(rows[1]), str(BOTO3_PROCESSES))


def copy_by_s5cmd(place: Place, rows: Rows) -> Figures:
    """s5cmd with a run file."""
    return clients.s5cmd(place, "run", str(rows[1]))


def call_costs(place: Place, client: Callable[[Place, Rows], Figures], line: str = LINE) -> Figures:
    """Let a client copy CALLS objects; returns its CPU a call and its rate.

    Raises RunError unless all copies exist.
    """
    rows = listed(place, CALLS, line)
    used = client(place, rows)
    count = place.stored(rows[0])
    if count != CALLS:
        raise RunError(f"{count} of {CALLS} objects exist")
    rates = {"cpu_ms_per_call": used["cpu_s"] * 1000 / CALLS, "calls_per_s": CALLS / used["wall_s"]}
    return rates | {"peak_mb": used["peak_mb"]}


def paced(
    url: str, limit_per_s: int, workers: int, parallel_limit: int, seconds: int
) -> list[float]:
    """Copies/s of each of the workers, which copy at the same time at the adaptive pace."""
    count = limit_per_s * (seconds + 15)  # more than the limit lets through
    options = ("--pace", "adaptive", "--seconds", str(seconds))
    with servers.place(url) as place, ThreadPoolExecutor(workers) as pool:
        put_master(place)
        # all before the first worker begins
        orders = [listed(place, count) for _ in range(workers)]
        summaries = list(pool.map(lambda rows: copy(place, rows, parallel_limit, *options), orders))
    return [summary["calls_per_s"] for summary in summaries]


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness: 1 for equal rates."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
