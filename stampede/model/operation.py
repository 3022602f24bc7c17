"""An operation that nothing else hinders, as a flood needs to know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operation:
    """What the flood needs to know of an operation.

    `draw(random, count, cold)` gives the own seconds of so many, the first of a new environment
    where `cold`. `demands` are what one takes of each shared limit in each of its own seconds, by
    the limit's name. `bottleneck` is what decides its own seconds, in words ("the function's
    network, 75 MiB/s after the burst").
    """

    draw: Callable[[np.random.Generator, int, bool], np.ndarray]
    mean_s: float
    demands: Mapping[str, float]
    requests_per_s: float
    bottleneck: str


def scattered(seconds: np.ndarray, spread: float, random: np.random.Generator) -> np.ndarray:
    """`seconds`, each by a log-normal factor of mean 1 and standard deviation `spread`, for what
    isn't modelled."""
    if not spread:
        return seconds.copy()
    sigma = np.sqrt(np.log1p(spread**2))
    return seconds * np.exp(sigma * random.standard_normal(len(seconds)) - sigma**2 / 2)
