"""An operation that runs alone, as a flood needs to know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operation:
    """What the flood needs to know of an operation.

    `draw(random, count, cold)` returns `count` durations in seconds, of first operations in new
    environments if `cold`. `demands` are what one operation takes of each shared limit per second,
    by the limit's name. `bottleneck` says what decides its duration ("the function's network, 75
    MiB/s after the burst"), and `first_bottleneck` that of a first one.
    """

    draw: Callable[[np.random.Generator, int, bool], np.ndarray]
    mean_s: float
    demands: Mapping[str, float]
    requests_per_s: float
    bottleneck: str
    first_bottleneck: str


def scattered(seconds: np.ndarray, spread: float, random: np.random.Generator) -> np.ndarray:
    """`seconds`, each times a log-normal factor of mean 1 and standard deviation `spread`, for what
    isn't modelled."""
    if not spread:
        return seconds.copy()
    sigma = np.sqrt(np.log1p(spread**2))
    return seconds * np.exp(sigma * random.standard_normal(len(seconds)) - sigma**2 / 2)
