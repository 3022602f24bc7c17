"""The model's engine against a plain SimPy model of the same flood, and what a large flood holds in memory.

Both sides: 100,000 messages of 90 to 110 s to 10,000 functions, 16,000 a second from the loader, by provisioned pollers
that hold 1,000 at once and 1,000 more a minute. SimPy's is as its documentation shows a queue of customers: a process a
message, which requests a `Resource` of 10,000; the pollers that aren't there yet hold a request each until they come.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from bench.child import run_child
from bench.errors import BenchError
from bench.measure import Entry, Samples, alternate
from stampede.model.flood import Flood
from stampede.model.operation import Operation
from stampede.model.simulation import run
from stampede.model.trigger import Trigger
from stampede.progress import say

NAME, NAME_MEMORY = "simulate_10k", "simulate_memory"
MESSAGES, WORKERS, AT_ONCE, PER_MINUTE = 100_000, 10_000, 1_000, 1_000
MESSAGES_PER_S, HAND_OVER_S, SEED = 16_000.0, 0.01, 1
MOST_RUNS = 3  # the peer takes a quarter of a minute
SAME_DRAIN = 0.02  # the two may differ by what they draw
FEW, MANY = 10_000, 1_000_000


def against_simpy(runs: int) -> tuple[Entry, str]:
    """Seconds for one flood of each side, from its making to its last figure."""
    runs = min(runs, MOST_RUNS)
    say(f"{NAME}: {runs} runs of each side")
    drains: dict[str, float] = {}

    def timed(side: str, simulated: Callable[[], float]) -> Callable[[], float]:
        def measure() -> float:
            begun = time.perf_counter()
            drains[side] = simulated()
            return time.perf_counter() - begun

        return measure

    samples = alternate(timed("ours", ours_drain_s), timed("peer", simpy_drain_s), runs, "s")
    if not abs(drains["ours"] / drains["peer"] - 1) < SAME_DRAIN:
        raise BenchError(f"{NAME}: the floods differ: they drain in {drains['ours']} and {drains['peer']} s")
    setting = (
        f"{MESSAGES:,} messages by {WORKERS:,}, {AT_ONCE:,} at once and {PER_MINUTE:,} more per minute; "
        f"drained after {drains['ours']:,.1f} s, SimPy's after {drains['peer']:,.1f}"
    )
    return samples.entry(NAME, "s", higher_is_better=False), setting


def memory(runs: int) -> tuple[Entry, str]:
    """Peak MiB of a process that simulates a million messages against one of 10,000; one run, whatever `runs` says."""
    few, many = (_child(count) for count in (FEW, MANY))
    samples = Samples((many["peak_mb"],), (few["peak_mb"],))
    setting = f"{MANY:,} messages by 1,000 against {FEW:,}, imports included; {many['wall_s']:.1f} s"
    return samples.entry(NAME_MEMORY, "MiB", higher_is_better=False), setting


def ours_drain_s(messages: int = MESSAGES, workers: int = WORKERS) -> float:
    """Our flood; returns when it had drained."""
    doing = Operation(lambda random, count, cold: _seconds(random, count), 100.0, {}, 1.0, "drawn")
    flood = Flood(
        messages=messages,
        concurrency=workers,
        messages_per_s=MESSAGES_PER_S,
        trigger=Trigger(AT_ONCE, PER_MINUTE, workers),
        timeout_s=900,
        visibility_timeout_s=5400,
        scale_out_per_10_s=inf,
        hand_over_s=HAND_OVER_S,
    )
    return run(flood, doing, [], SEED).drain_s


def simpy_drain_s(messages: int = MESSAGES, workers: int = WORKERS) -> float:
    """The same with SimPy and its Resource; returns when it had drained. Needs SimPy (a development dependency)."""
    import simpy

    random = np.random.default_rng(SEED)
    world = simpy.Environment()
    functions = simpy.Resource(world, capacity=workers)
    ended: list[float] = []

    def absent(until_s: float) -> Iterator[simpy.Event]:
        with functions.request() as place:
            yield place
            yield world.timeout(until_s)

    def message(seconds: float) -> Iterator[simpy.Event]:
        with functions.request() as place:
            yield place
            yield world.timeout(seconds)
            ended.append(world.now)
            yield world.timeout(HAND_OVER_S)

    def loader() -> Iterator[simpy.Event]:
        for seconds in _seconds(random, messages).tolist():
            world.process(message(seconds))
            yield world.timeout(1 / MESSAGES_PER_S)

    for number in range(1, workers - AT_ONCE + 1):
        world.process(absent(number * 60 / PER_MINUTE))
    world.process(loader())
    world.run()
    return max(ended)


def _seconds(random: np.random.Generator, count: int) -> np.ndarray:
    return random.uniform(90, 110, count)


def _child(messages: int) -> dict[str, float]:
    say(f"simulating {messages:,} messages")
    return run_child([sys.executable, "-c", f"from bench import simulate; simulate.ours_drain_s({messages}, 1000)"])
