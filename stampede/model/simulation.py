"""A flood carried out: a queue of messages, a trigger, environments, and operations that share
limits."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stampede.model.course import Course, course
from stampede.model.engine import Engine
from stampede.model.flood import Flood
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.sharing import Shared


def run(flood: Flood, operation: Operation, limits: Sequence[Limit], seed: int) -> Course:
    """Carry a flood out; `limits` are those that the operation's demands are on. The same seed
    gives the same course.

    Raises ValueError for a demand on a limit that isn't there, and for a flood that never ends.
    """
    return carried_out(flood, operation, Shared(limits, operation.demands), seed)


def carried_out(
    flood: Flood, operation: Operation, shared: Shared, seed: int | Sequence[int]
) -> Course:
    """The same, by what is `shared`, for floods that differ in chance alone."""
    with _no_collector():
        attempts = Engine(flood, operation, shared, seed).run()
    counted = course(attempts, flood.concurrency, operation.requests_per_s, shared)
    if counted.succeeded + counted.dead_lettered != flood.messages:
        raise AssertionError(
            f"the model lost messages: {counted.succeeded} + {counted.dead_lettered} of "
            f"{flood.messages}"
        )
    return counted


@contextmanager
def _no_collector() -> Iterator[None]:
    """The engine makes tuples by the million and no circles; looking for circles took it a fifth to
    a third longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
