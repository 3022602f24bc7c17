"""Intervals that hold together: where many claims are read at once, each is as sure as all of them must be.

Each of k intervals holds with a confidence of 0.95 to the power of 1/k (Šidák, "Rectangular confidence regions for the
means of multivariate normal distributions", JASA 62, 1967), which is enough however the comparisons with one base hang
together. Holm's steps would claim a little more, but give no interval, and one that is shown has to agree with the
claim that is made of it.
"""

import math
from collections.abc import Mapping

import numpy as np

from stampede.report.statistics.bootstrap import interval, student_quantile
from stampede.report.statistics.rules import CONFIDENCE


def confidence(among: int) -> float:
    """That of each of so many intervals, of which all hold at once with CONFIDENCE."""
    return CONFIDENCE ** (1 / among)


def of_difference(value: float, resampled: np.ndarray, size: int, among: int) -> dict[str, float]:
    """{"value", "low", "high"}: `value` with an interval from its `resampled` values, as one of so many that hold
    together. It reaches further from `value` than the 95 % interval, in proportion to Student's quantiles for `size`
    measurements (>= 2): resamples that far out would be too few to read it off them."""
    return {"value": value} | _wider(value, interval(resampled, size), size, among)


def of_ratio(
    value: float, resampled: np.ndarray, size: int, among: int, above: np.ndarray | None = None
) -> dict[str, float]:
    """The same of a ratio, whose ends lie as many times the value away as it is times theirs; `above` is that of
    `bootstrap.interval`."""
    ends = interval(resampled, size, above)
    if among > 1:
        logs = {end: math.log(at) for end, at in ends.items()}
        ends = {end: math.exp(at) for end, at in _wider(math.log(value), logs, size, among).items()}
    return {"value": value} | ends


def _wider(value: float, ends: Mapping[str, float], size: int, among: int) -> dict[str, float]:
    if among == 1:
        return dict(ends)
    each, alone = (student_quantile((1 + level) / 2, size - 1) for level in (confidence(among), CONFIDENCE))
    low, high = (value + each / alone * (ends[end] - value) for end in ("low", "high"))
    return {"low": min(low, ends["low"]), "high": max(high, ends["high"])}
