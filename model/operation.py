"""The seconds of one operation that nothing else hinders, and what it takes of the limits that all workers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operation:
    """What the flood needs to know of an operation.

    `draw(random, count, cold)` gives the own seconds of so many, the first of a new environment where `cold`.
    `demands` are what one takes of each shared limit in each of its own seconds, by the limit's name. `binds` is what
    decides its own seconds, in words ("the function's network, 75 MiB/s after the burst").
    """

    draw: Callable[[np.random.Generator, int, bool], np.ndarray]
    mean_s: float
    demands: Mapping[str, float]
    requests_per_s: float
    binds: str
