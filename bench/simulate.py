"""The model's engine against a plain SimPy model of the same flood.

Both sides: 100,000 messages of 90 to 110 s to 10,000 functions, 16,000 a second from the loader, by
provisioned pollers that hold 1,000 at once and 1,000 more a minute. SimPy's is as its documentation
shows a queue of customers: a process a message, which requests a `Resource` of 10,000; the pollers
that aren't there yet hold a request each until they come.
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
    """Seconds for one flood of each side, from its making to its last figure. They must be the same
    flood."""
    wanted_s = drain_s()
    yield partial(timed, drain_s, wanted_s), partial(timed, simpy_drain_s, wanted_s)


def timed(simulated: Callable[[], float], wanted_s: float) -> Figures:
    """Raises RunError where a flood doesn't drain in the seconds that it should."""
    begun = time.perf_counter()
    drained_s = simulated()
    if not abs(drained_s / wanted_s - 1) < SAME_DRAIN:
        raise RunError(f"the floods differ: they drain in {drained_s} and {wanted_s} s")
    return {"seconds": time.perf_counter() - begun}


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
    """The same with SimPy and its Resource; returns when it had drained. Needs SimPy (a development
    dependency)."""
    import simpy

    world = simpy.Environment()
    functions = simpy.Resource(world, capacity=workers)

    def hold(seconds: float, before_s: float = 0) -> Iterator[simpy.Event]:
        yield world.timeout(before_s)
        with functions.request() as place:
            yield place
            yield world.timeout(seconds)

    for number in range(1, workers - AT_ONCE + 1):  # the pollers that aren't there yet
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
