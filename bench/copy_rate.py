"""The adaptive mode of the copy against a limit that it isn't told: how near it comes, and how workers share one.

The limit is the front's (bench/front), of one prefix for all writes: 3,500/s, as S3's own, before a store of keys
alone, and 500/s in front of versitygw, which serves about 1,300 beside its client on two cores. Each run is a minute,
and counts only if no object failed. `copy_adaptive_slow` has the latencies of S3, which refuses fast and copies slowly,
in runs of half a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import copy_clients, download, servers, tools
from bench.copies import LATENCY_MS
from bench.download import BUCKET, Gateway
from bench.front import front
from bench.measure import Entry, Samples
from stampede.progress import say

RUN_SECONDS, SETTLING_SECONDS = 60, 10
MOST_RUNS = 3  # a minute each
MOST_IN_FLIGHT = 1000
MOST_SLOW_DOWNS = 0.02
WORKERS = 3
ROOM_MB = 512  # a minute's objects, a page each
STORE_LIMIT_PER_S, VERSITYGW_LIMIT_PER_S = 3500, 500


@dataclass(frozen=True)
class Behind:
    """What is behind the front: in words, and how it is started; that gives the front's --upstream."""

    words: str
    running: Callable[[], AbstractContextManager[str]]


STORE = Behind("as a store of keys", lambda: nullcontext("none"))
VERSITYGW = Behind(f"in front of versitygw {tools.VERSITYGW.version}", lambda: servers.versitygw(ROOM_MB))


@dataclass(frozen=True)
class Minute:
    """Copies/s of each worker, the slowest first, and the part of the calls answered SlowDown once they had settled."""

    rates: tuple[float, ...]
    slow_downs: float

    def __str__(self) -> str:
        missed = "" if self.slow_downs < MOST_SLOW_DOWNS else " (MISSED)"
        rates = " + ".join(f"{rate:,.0f}" for rate in self.rates)
        return f"{rates} copies/s, {self.slow_downs:.2%} SlowDown after {SETTLING_SECONDS} s{missed}, 0 failed"


# Objects of different sizes, and one worker or many: (limit, workers, latency of a copy in ms, parallel limit).
SLOW_CASES = ((100, 1, 500, 1000), (500, 10, 500, 100), (500, 1, 20, 1000), (100, 1, 5000, 1000))
SLOW_SECONDS, REFUSAL_MS = 30, 15


def adaptive_slow(runs: int) -> tuple[Entry, str]:
    """Copies that S3 accepted of those that the limit allows, in the worst of the cases; each runs once."""
    shares = [_slow_share(*case) for case in SLOW_CASES]
    cases = [
        f"{workers} x {parallel} calls at once on {limit}/s, {latency_ms} ms a copy: {share:.3f}"
        for (limit, workers, latency_ms, parallel), share in zip(SLOW_CASES, shares, strict=True)
    ]
    samples = Samples((min(shares),), (1.0,))
    setting = f"the front {STORE.words}, {REFUSAL_MS} ms a SlowDown, {SLOW_SECONDS} s per case"
    return samples.entry("copy_adaptive_slow", "of the limit", higher_is_better=True), "; ".join([setting, *cases])


def _slow_share(limit_per_s: int, workers: int, latency_ms: int, parallel: int) -> float:
    say(f"copy_adaptive_slow: {workers} workers, {limit_per_s}/s, {latency_ms} ms a copy, {SLOW_SECONDS} s")
    with ExitStack() as stack:
        options = {"latency_ms": latency_ms, "refusal_latency_ms": REFUSAL_MS, "limit_per_s": limit_per_s}
        throttling = stack.enter_context(front(**options))
        made = stack.enter_context(download.place(throttling.url))
        copy_clients.put_master(made)
        _rates(made, limit_per_s, workers, parallel, SLOW_SECONDS)
        return throttling.status()["accepted"] / (limit_per_s * SLOW_SECONDS)


def shared(name: str, behind: Behind, limit_per_s: int, workers: int, runs: int) -> tuple[Entry, str]:
    """Copies/s of the slowest of so many workers on one limit against its share."""
    minutes = list(_minutes(name, behind, limit_per_s, min(runs, MOST_RUNS), workers))
    share = limit_per_s / workers
    samples = Samples(tuple(minute.rates[0] for minute in minutes), (share,) * len(minutes))
    setting = (
        f"the front {behind.words}, {limit_per_s:,} writes/s per prefix, {LATENCY_MS} ms per answer, "
        f"{RUN_SECONDS} s per run"
    )
    lines = []
    for minute in minutes:
        together = "" if workers == 1 else f", together {sum(minute.rates) / limit_per_s:.3f} of the limit, "
        shares = "" if workers == 1 else "each " + " ".join(f"{rate / share:.2f}" for rate in minute.rates)
        lines.append(f"{minute}{together}{shares}")
    return samples.entry(name, "copies/s", higher_is_better=True), "; ".join([setting, *lines])


def _minutes(name: str, behind: Behind, limit_per_s: int, runs: int, workers: int) -> Iterator[Minute]:
    say(f"{name}: {runs} runs of {RUN_SECONDS} s")
    for run in range(1, runs + 1):
        with ExitStack() as stack:
            upstream = stack.enter_context(behind.running())
            throttling = stack.enter_context(front(upstream, latency_ms=LATENCY_MS, limit_per_s=limit_per_s))
            made = stack.enter_context(download.place(throttling.url))
            copy_clients.put_master(made)
            rates = _rates(made, limit_per_s, workers, MOST_IN_FLIGHT, RUN_SECONDS)
            minute = Minute(rates, settled_slow_downs(throttling.status()))
        say(f"  run {run}: {minute}", style="dim")
        yield minute


def _rates(made: Gateway, limit_per_s: int, workers: int, parallel: int, seconds: int) -> tuple[float, ...]:
    rows = limit_per_s * (seconds + 15)  # more than the limit lets through
    options = ("--pace", "adaptive", "--seconds", str(seconds))
    with ExitStack() as manifests:  # all of them are there before the first worker begins
        orders = []
        for _ in range(workers):
            prefix = copy_clients.new_prefix()
            orders.append((prefix, manifests.enter_context(copy_clients.manifest(made, prefix, rows))))
        with ThreadPoolExecutor(workers) as pool:
            records = list(pool.map(lambda order: copy_clients.record(made, *order, parallel, *options), orders))
    return tuple(sorted(record["calls_per_s"] for record in records))


def settled_slow_downs(status: dict[str, Any]) -> float:
    """The part of all writes that were answered SlowDown from SETTLING_SECONDS after the first second of load on."""
    seconds = status["writes"][f"{BUCKET}/"]["by_second"]
    loaded = [second["t_s"] for second in seconds if second["accepted"] > 1]  # 1 is the master's PUT
    begin = (loaded[0] if loaded else 0) + SETTLING_SECONDS
    settled = [second for second in seconds if second["t_s"] >= begin]
    refused, accepted = (sum(second[what] for second in settled) for what in ("slow_downs", "accepted"))
    return refused / max(1, refused + accepted)


ENTRIES = {
    "copy_adaptive_rate": partial(shared, "copy_adaptive_rate", STORE, STORE_LIMIT_PER_S, 1),
    "copy_adaptive_rate_versitygw": partial(
        shared, "copy_adaptive_rate_versitygw", VERSITYGW, VERSITYGW_LIMIT_PER_S, 1
    ),
    "copy_adaptive_slow": adaptive_slow,
    "copy_fair": partial(shared, "copy_fair", STORE, STORE_LIMIT_PER_S, WORKERS),
}
