"""Copies on the server by `transfer copy`: what a call costs beside boto3 and s5cmd, how near the adaptive pace comes
to a limit that it isn't told, and how workers share one.

What a call costs is measured before versitygw, the pace before the front (bench/front), a store of keys with S3's own
limit of 3,500 writes/s for a prefix. Every run copies to a new prefix, and counts only if every object is there, or
none failed.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import programs, servers, sides
from bench.child import run_child
from bench.errors import BenchError
from bench.pairs import Figures, Measured, Measurements, Side, bound, compare, in_turn
from bench.servers import BUCKET, Place

SOURCE, SOURCE_BYTES = "masters/0a1b2c3d/0", 1000
CALLS, PARALLEL_LIMIT, BOTO3_PROCESSES = 3000, 32, 4
LATENCY_MS, LIMIT_PER_S, MOST_IN_FLIGHT = 20, 3500, 1000
MOST_RUNS, RUN_SECONDS, SETTLING_SECONDS, MOST_SLOW_DOWNS = 3, 60, 10, 0.02
WORKERS, FAIR_SHARE = 3, (0.75, 1.25)
# Objects of different sizes, and one worker or many: (limit, workers, latency of a copy in ms, parallel limit).
SLOW_CASES = ((100, 1, 500, 1000), (500, 10, 500, 100), (500, 1, 20, 1000), (100, 1, 5000, 1000))
SLOW_SECONDS, REFUSAL_MS = 30, 15  # S3 refuses fast and copies slowly
LONGEST_S = 3600
_number = itertools.count()


def cpu(runs: int) -> Measured:
    """Client CPU a call against boto3 and s5cmd."""
    with servers.s3(room_mb=512) as place:
        put_master(place)
        ours, boto3, s5cmd = (Side(label, partial(run, place, CALLS)) for label, run in CLIENTS.items())
        in_turn((ours, boto3, s5cmd), runs)
    entries = [
        compare(name, ours, peer, "cpu_ms_per_call", "CPU-ms/call")
        for name, peer in (("copy_cpu", boto3), ("copy_cpu_s5cmd", s5cmd))
    ]
    setting = f"{CALLS:,} CopyObject calls of {SOURCE_BYTES:,} bytes by versitygw over http on loopback, in memory"
    return entries, "; ".join([setting, *(side.sentence() for side in (ours, boto3, s5cmd))])


def adaptive(name: str, workers: int, runs: int) -> Measured:
    """Copies/s of the slowest of so many workers against its share of the limit, a minute each."""
    notes = []

    def minute() -> Figures:
        limited = servers.front(latency_ms=LATENCY_MS, limit_per_s=LIMIT_PER_S)
        with limited as store, servers.place(store.url) as place:
            rates = _paced(place, LIMIT_PER_S, workers, MOST_IN_FLIGHT, RUN_SECONDS)
            refused = settled_slow_downs(store.status())
        shares = [rate * workers / LIMIT_PER_S for rate in rates]
        unfair = min(shares) < FAIR_SHARE[0] or max(shares) > FAIR_SHARE[1]
        missed = " MISSED" if unfair or refused > MOST_SLOW_DOWNS else ""
        notes.append(f"{refused:.2%} SlowDown after {SETTLING_SECONDS} s, Jain {jain(rates):.3f}{missed}")
        return {"copies_per_s": rates[0], "of_limit": sum(rates) / LIMIT_PER_S, "most_of_share": max(shares)}

    slowest = Side(name, minute)
    in_turn([slowest], min(runs, MOST_RUNS), warm_up=False)
    limit = bound("its share of the limit", copies_per_s=LIMIT_PER_S / workers)
    entry = compare(name, slowest, limit, "copies_per_s", "copies/s", more_is_better=True)
    setting = f"{LIMIT_PER_S:,} writes/s to a bucket, {LATENCY_MS} ms per answer, {RUN_SECONDS} s per run"
    return [entry], "; ".join([setting, slowest.sentence(), *notes, "0 failed"])


def adaptive_slow(runs: int) -> Measured:
    """Copies that S3 accepted of those that the limit allows, in the worst of the cases; each runs once."""

    def accepted(limit_per_s: int, workers: int, latency_ms: int, parallel_limit: int) -> Figures:
        late = {"latency_ms": latency_ms, "refusal_latency_ms": REFUSAL_MS}
        with servers.front(limit_per_s=limit_per_s, **late) as store, servers.place(store.url) as place:
            _paced(place, limit_per_s, workers, parallel_limit, SLOW_SECONDS)
            return {"of_limit": store.status()["accepted"] / (limit_per_s * SLOW_SECONDS)}

    label = "limit {}/s, {} workers, {} ms a copy, {} at once"
    cases = [Side(label.format(*case), partial(accepted, *case)) for case in SLOW_CASES]
    in_turn(cases, 1, warm_up=False)
    worst, limit = min(cases, key=lambda side: side.median("of_limit")), bound("the limit", of_limit=1.0)
    entry = compare("copy_adaptive_slow", worst, limit, "of_limit", "of the limit", more_is_better=True)
    return [entry], "; ".join([f"{SLOW_SECONDS} s per case", *(side.sentence() for side in cases)])


def put_master(place: Place) -> None:
    """Put the object that is copied."""
    place.client().put_object(Bucket=BUCKET, Key=SOURCE, Body=os.urandom(SOURCE_BYTES))


@contextmanager
def listed(place: Place, count: int, line: str = "{source},{key}") -> Iterator[tuple[str, Path]]:
    """A new prefix, and a file with a line for each of `count` keys below it: hours, five objects each."""
    prefix = f"copies/{next(_number)}/"
    path = place.folder / f"{prefix.replace('/', '-')}rows"
    with path.open("w") as file:
        for number in range(count):
            hours, name = divmod(number, 5)
            key = f"{prefix}{hours // 24:06}/{hours % 24:02}/{name}-{number:08}.mp4"
            file.write(line.format(source=SOURCE, key=key) + "\n")
    yield prefix, path
    path.unlink()


def transfer(place: Place, prefix: str, rows: Path, parallel_limit: int, *options: str) -> dict[str, Any]:
    """Copy a manifest with the Go program, at a fixed pace unless `options` say otherwise; returns its summary, and
    wall_s, cpu_s and peak_mb. Raises BenchError when an object failed: it ends with status 1 then."""
    command = [programs.transfer(), "copy", "--source-bucket", BUCKET, "--manifest", str(rows), "--pace", "fixed"]
    to = ["--destination-bucket", BUCKET, "--destination-prefix", prefix, "--parallel-limit", str(parallel_limit)]
    with tempfile.TemporaryDirectory(prefix="run-", dir=place.folder) as scratch:
        printed = Path(scratch) / "summary.json"
        used = run_child([*command, *to, *options], LONGEST_S, str(printed), **place.environment)
        return json.loads(printed.read_text()) | used


def call_costs(place: Place, count: int, run: Callable[[str, Path], Figures], line: str = "{source},{key}") -> Figures:
    """Have a client copy `count` objects; returns its CPU a call and its rate. Raises BenchError unless all are
    there."""
    with listed(place, count, line) as (prefix, rows):
        used = run(prefix, rows)
    pages = place.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    there = sum(page["KeyCount"] for page in pages)
    if there != count:
        raise BenchError(f"{there} of {count} objects exist: this run can't be compared")
    rates = {"cpu_ms_per_call": used["cpu_s"] * 1000 / count, "calls_per_s": count / used["wall_s"]}
    return rates | {"peak_mb": used["peak_mb"]}


def transfer_costs(place: Place, count: int) -> Figures:
    """Of `transfer copy`."""
    return call_costs(place, count, lambda prefix, rows: transfer(place, prefix, rows, PARALLEL_LIMIT))


def boto3_costs(place: Place, count: int) -> Figures:
    """Of a loop of `copy_object` in each of several processes."""
    processes = str(BOTO3_PROCESSES)
    return call_costs(place, count, lambda _, rows: sides.boto3(place, "copy_many", BUCKET, str(rows), processes))


def s5cmd_costs(place: Place, count: int) -> Figures:
    """Of s5cmd with a run file."""
    line = f"cp s3://{BUCKET}/{{source}} s3://{BUCKET}/{{key}}"
    return call_costs(place, count, lambda _, rows: sides.s5cmd(place, "run", str(rows)), line)


CLIENTS: dict[str, Callable[[Place, int], Figures]] = {
    f"transfer copy, parallel limit {PARALLEL_LIMIT}": transfer_costs,
    f"boto3, {BOTO3_PROCESSES} processes": boto3_costs,
    f"s5cmd {programs.S5CMD_VERSION} run": s5cmd_costs,
}


def _paced(place: Place, limit_per_s: int, workers: int, parallel_limit: int, seconds: int) -> list[float]:
    """Copies/s of each of the workers, which copy at once at the adaptive pace; the slowest first."""
    put_master(place)
    rows = limit_per_s * (seconds + 15)  # more than the limit lets through
    options = ("--pace", "adaptive", "--seconds", str(seconds))
    with ExitStack() as lists, ThreadPoolExecutor(workers) as pool:  # all are there before the first worker begins
        orders = [lists.enter_context(listed(place, rows)) for _ in range(workers)]
        summaries = list(pool.map(lambda order: transfer(place, *order, parallel_limit, *options), orders))
    return sorted(summary["calls_per_s"] for summary in summaries)


def settled_slow_downs(status: dict[str, Any]) -> float:
    """The part of all writes that were answered SlowDown from SETTLING_SECONDS after the first second of load on."""
    seconds = status["writes"][BUCKET]["by_second"]
    begun = next((second["t_s"] for second in seconds if second["accepted"] > 1), 0)  # 1 is the master's PUT
    settled = [second for second in seconds if second["t_s"] >= begun + SETTLING_SECONDS]
    refused, accepted = (sum(second[what] for second in settled) for what in ("slow_downs", "accepted"))
    return refused / max(1, refused + accepted)


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all have the same."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


MEASUREMENTS: Measurements = {
    ("copy_cpu", "copy_cpu_s5cmd"): cpu,
    ("copy_adaptive_rate",): partial(adaptive, "copy_adaptive_rate", 1),
    ("copy_adaptive_slow",): adaptive_slow,
    ("copy_fair",): partial(adaptive, "copy_fair", WORKERS),
}
