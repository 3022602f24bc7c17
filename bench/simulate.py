"""The model's engine against a plain SimPy model of the same flood.

Both sides simulate 100,000 messages of 90 to 110 s for 10,000 functions. The loader sends 16,000 a
second, and provisioned pollers hold 1,000 at once and 1,000 more every minute. SimPy's model
follows the queue of customers in its documentation: each message is a process that requests a
`Resource` of 10,000, and each later poller holds one of them until it starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf

import numpy as np

from bench.ratios import Figures, Run
from stampede.errors import RunError
from stampede.model.flood import Flood
from stampede.model.operation import Operation
from stampede.model.simulation import run
from stampede.model.trigger import Trigger

MESSAGES, WORKERS, AT_ONCE, PER_MINUTE = 100_000, 10_000, 1_000, 1_000
MESSAGES_PER_S, HAND_OVER_S, SEED = 16_000.0, 0.01, 1
SAME_DRAIN = 0.02  # the two may differ by what they draw


@contextmanager
def against_simpy() -> Iterator[tuple[Run, Run]]:
    """The seconds of each side for the same flood, from its making to its last figure."""
    wanted_s = drain_s()
    yield partial(timed, drain_s, wanted_s), partial(timed, simpy_drain_s, wanted_s)


def timed(simulated: Callable[[], float], wanted_s: float) -> Figures:
    """Time a simulation. Raises RunError unless the flood drains in `wanted_s`."""
    begun = time.perf_counter()
    drained_s = simulated()
    if not abs(drained_s / wanted_s - 1) < SAME_DRAIN:
        raise RunError(f"the floods differ: they drain in {drained_s} and {wanted_s} s")
    return {"seconds": time.perf_counter() - begun}


def drain_s(messages: int = MESSAGES, workers: int = WORKERS) -> float:
    """Simulate with our engine; returns the time when the flood has drained."""
    doing = Operation(
        lambda random, count, cold: _seconds(random, count), 100.0, {}, 1.0, "drawn", "drawn"
    )
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
    """Simulate with SimPy (a development dependency); returns the time like `drain_s`."""
    import simpy

    world = simpy.Environment()
    functions = simpy.Resource(world, capacity=workers)

    def hold(seconds: float, before_s: float = 0) -> Iterator[simpy.Event]:
        yield world.timeout(before_s)
        with functions.request() as place:
            yield place
            yield world.timeout(seconds)

    for number in range(1, workers - AT_ONCE + 1):  # the later pollers
        world.process(hold(number * 60 / PER_MINUTE))
    drawn = _seconds(np.random.default_rng(SEED), messages).tolist()
    floods = [
        world.process(hold(seconds + HAND_OVER_S, at / MESSAGES_PER_S))
        for at, seconds in enumerate(drawn)
    ]
    world.run(simpy.AllOf(world, floods))
    return world.now - HAND_OVER_S


def _seconds(random: np.random.Generator, count: int) -> np.ndarray:
    return random.uniform(90, 110, count)
