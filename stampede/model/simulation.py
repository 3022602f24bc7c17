"""Carries out a flood: a queue, a trigger, environments, and operations that share limits."""

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
    """Carry a flood out under `limits`, those of the operation's demands. The same seed gives the
    same course.

    Raises ValueError for a demand on a missing limit, and for a flood that never ends.
    """
    return carried_out(flood, operation, Shared(limits, operation.demands), seed)


def carried_out(
    flood: Flood, operation: Operation, shared: Shared, seed: int | Sequence[int]
) -> Course:
    """As `run`, with limits prepared once for floods that differ in chance alone."""
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
    """The engine makes millions of tuples and no cycles; searching for cycles took it a fifth to a
    third longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
