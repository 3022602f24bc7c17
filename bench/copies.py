"""Copies on the server: what a call costs the client beside boto3, s5cmd and the AWS CLI, and what parallel calls gain.

What a call costs is measured before versitygw. Parallel calls are before the front (bench/front) as a store of keys
alone, which adds latency: versitygw serves about 1,300 copies/s beside its client, too few to tell 80 times from 30.
"""

from __future__ import annotations

import functools
from functools import partial

from bench import copy_clients, download, rounds, tools
from bench.download import Gateway, Side
from bench.errors import BenchError
from bench.front import front
from bench.measure import Entry
from bench.table import figure

CALLS, CLI_CALLS = 3000, 10
PARALLEL_LIMIT = 32
LATENCY_MS = 20
PARALLEL_CALLS = {100: 20_000, 1: 200}  # about 4 s each


def cpu(name: str, peer: int, runs: int) -> tuple[Entry, str]:
    """Client CPU a call against one of the `baselines`, by its place."""
    sides = baselines(runs)
    sentences = "; ".join(_sentence(side) for side in (sides[0], sides[peer]))
    return rounds.entry(name, sides[0], sides[peer], "cpu_ms", "CPU-ms/call"), f"{setting()}; {sentences}"


@functools.cache  # the entries and the table come from the same runs
def baselines(runs: int) -> tuple[Side, Side, Side, Side]:
    """Ours, boto3, s5cmd and the AWS CLI, run in turn. Raises BenchError when one of them isn't there."""
    with download.gateway() as made:
        copy_clients.put_master(made)
        sides = (
            copy_clients.ours(made, CALLS, PARALLEL_LIMIT),
            copy_clients.boto3(made, CALLS),
            copy_clients.s5cmd(made, CALLS),
            copy_clients.aws(made, CLI_CALLS),
        )
        rounds.in_turn(sides, runs, seconds_a_round=25)
    return sides


def setting() -> str:
    """What the baselines copy, in words."""
    return (
        f"{CALLS:,} CopyObject calls ({CLI_CALLS} of the AWS CLI) of {copy_clients.SOURCE_BYTES:,} bytes by versitygw "
        f"{tools.VERSITYGW.version} over http on loopback, in memory"
    )


def _sentence(side: Side) -> str:
    cpu_ms, calls_per_s, peak_mb = (rounds.median(side, name) for name in ("cpu_ms", "calls_per_s", "peak_mb"))
    return f"{side.label}: {cpu_ms:.3g} CPU-ms per call, {figure(calls_per_s)} calls/s, peak {peak_mb:.0f} MiB"


def parallel_100(runs: int) -> tuple[Entry, str]:
    """Copies/s at a parallel limit of 100 against those at 1, every answer 20 ms late, by the record's clock."""
    with front(latency_ms=LATENCY_MS) as store, download.place(store.url) as made:
        copy_clients.put_master(made)
        sides = [Side(f"limit {limit}", partial(_fixed, made, calls, limit)) for limit, calls in PARALLEL_CALLS.items()]
        rounds.in_turn(sides, runs, seconds_a_round=10)
    samples = rounds.samples(*sides, "calls_per_s")
    calls_words = " and ".join(f"{calls:,} copies at {limit}" for limit, calls in PARALLEL_CALLS.items())
    setting = (
        f"{calls_words}, against the front as a store of keys, {LATENCY_MS} ms per answer; {rounds.sentence(sides[0])}"
    )
    return samples.entry("copy_parallel_100", "copies/s", higher_is_better=True), setting


def _fixed(made: Gateway, calls: int, parallel_limit: int) -> dict[str, float]:
    prefix = copy_clients.new_prefix()
    with copy_clients.manifest(made, prefix, calls) as rows:
        record = copy_clients.record(made, prefix, rows, parallel_limit)
    if record["copied"] != calls:
        raise BenchError(f"{record['copied']} of {calls} objects were copied: this run can't be compared")
    return {name: record[name] for name in ("wall_s", "cpu_s", "peak_mb", "calls_per_s")}


ENTRIES = {
    "copy_cpu": partial(cpu, "copy_cpu", 1),
    "copy_cpu_s5cmd": partial(cpu, "copy_cpu_s5cmd", 2),
    "copy_cpu_aws_cli": partial(cpu, "copy_cpu_aws_cli", 3),
    "copy_parallel_100": parallel_100,
}
