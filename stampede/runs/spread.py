"""The spread of a set of durations: count, minimum, quartiles, mean, maximum.

Computed with the standard library alone, independently of the saved query.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Figures of one cell; every `_s` is in seconds.

    `p25_rank_s` and `p75_rank_s` are the values of the nearest ranks. A saved query returns them, or from 100 different
    values on the lower edges of their bins.
    """

    count: int
    min_s: float
    p25_s: float
    median_s: float
    avg_s: float
    p75_s: float
    max_s: float
    p25_rank_s: float
    p75_rank_s: float


def quantile(ordered: Sequence[float], share: float) -> float:
    """The `share` quantile (0 to 1) of ascending `ordered`, linear between ranks.

    Type 7 of Hyndman and Fan, "Sample quantiles in statistical packages" (1996): h = (n - 1) x share. It is
    what NumPy's default gives. Raises ValueError for no values or a share outside 0
    to 1.
    """
    if not ordered:
        raise ValueError("a quantile needs at least one value")
    if not 0 <= share <= 1:
        raise ValueError(f"share={share}: a quantile's share lies between 0 and 1")
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The value of rank ceil(percent / 100 x n) of ascending `ordered`, which isn't empty; at least of the first."""
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]


def spread(values_s: Iterable[float]) -> Spread:
    """Sum up durations in seconds. Raises ValueError when there are none."""
    ordered = sorted(values_s)
    return Spread(
        count=len(ordered),
        min_s=quantile(ordered, 0),
        p25_s=quantile(ordered, 0.25),
        median_s=quantile(ordered, 0.5),
        avg_s=math.fsum(ordered) / len(ordered),
        p75_s=quantile(ordered, 0.75),
        max_s=quantile(ordered, 1),
        p25_rank_s=nearest_rank(ordered, 25),
        p75_rank_s=nearest_rank(ordered, 75),
    )
