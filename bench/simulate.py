"""The model's engine against a plain SimPy model of the same flood.

Both sides: 100,000 messages of 90 to 110 s to 10,000 functions, 16,000 a second from the loader, by provisioned pollers
that hold 1,000 at once and 1,000 more a minute. SimPy's is as its documentation shows a queue of customers: a process a
message, which requests a `Resource` of 10,000; the pollers that aren't there yet hold a request each until they come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from math import inf

import numpy as np

from bench.errors import BenchError
from bench.pairs import Figures, Measured, Measurements, Side, compare, in_turn
from stampede.model.flood import Flood
from stampede.model.operation import Operation
from stampede.model.simulation import run
from stampede.model.trigger import Trigger

MESSAGES, WORKERS, AT_ONCE, PER_MINUTE = 100_000, 10_000, 1_000, 1_000
MESSAGES_PER_S, HAND_OVER_S, SEED = 16_000.0, 0.01, 1
MOST_RUNS = 3  # the peer takes a quarter of a minute
SAME_DRAIN = 0.02  # the two may differ by what they draw


def against_simpy(runs: int) -> Measured:
    """Seconds for one flood of each side, from its making to its last figure."""
    pair = Side("ours", partial(_timed, drain_s)), Side("SimPy", partial(_timed, simpy_drain_s))
    in_turn(pair, min(runs, MOST_RUNS), warm_up=False)
    ours_s, peer_s = (side.median("drained_s") for side in pair)
    if not abs(ours_s / peer_s - 1) < SAME_DRAIN:
        raise BenchError(f"the floods differ: they drain in {ours_s} and {peer_s} s")
    setting = f"{MESSAGES:,} messages by {WORKERS:,}, {AT_ONCE:,} at once and {PER_MINUTE:,} more per minute"
    return [compare("simulate_10k", *pair, "seconds", "s")], f"{setting}; {pair[0].sentence()}; {pair[1].sentence()}"


def _timed(simulated: Callable[[], float]) -> Figures:
    begun = time.perf_counter()
    drained_s = simulated()
    return {"seconds": time.perf_counter() - begun, "drained_s": drained_s}


def drain_s(messages: int = MESSAGES, workers: int = WORKERS) -> float:
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


MEASUREMENTS: Measurements = {("simulate_10k",): against_simpy}
