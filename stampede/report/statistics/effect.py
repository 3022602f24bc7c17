"""How much one set of times differs from another: ratios with intervals and Cliff's delta, not a p-value."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.rounds import RoundSample


def effect(ours: Sample, base: Sample, among: int = 1) -> dict[str, Any]:
    """`ours` against `base` (seconds): ratios ours / base of medians and means, Cliff's delta, and what they allow
    to say. The intervals of medians and of delta are those of `among` comparisons that hold together; that of means,
    of which nothing is claimed, holds alone.

    `level` is read off the interval of the ratio of medians: "holds" when it lies within 1 +- HOLDS_WITHIN, "slower"
    or "faster" when it lies outside on one side, "unclear" when it reaches across, "cant_tell" with too few.
    """
    if why := refusal(ours, base):
        return incomparable(ours, base, why)
    size = min(ours.size, base.size)
    ratio = together.of_ratio(ours.median / base.median, ours.medians / base.medians, size, among)
    means = mean(ours.values.tolist()) / mean(base.values.tolist())
    return {
        "count": len(ours),
        "base_count": len(base),
        "ratio_of_medians": ratio,
        "ratio_of_means": {"value": means} | interval(ours.means / base.means, size),
        "cliffs_delta": _delta(ours, base, among),
        "level": level(ratio),
        "why": None,
    }


def incomparable(ours: Sample, base: Sample, why: str) -> dict[str, Any]:
    """The same of two that aren't compared."""
    nothing = dict.fromkeys(("ratio_of_medians", "ratio_of_means", "cliffs_delta"))
    return {"count": len(ours), "base_count": len(base), **nothing, "level": "cant_tell", "why": why}


def level(ratio: dict[str, float]) -> str:
    """What the interval of a ratio {"low", "high"} allows to say."""
    least, most = 1 - rules.HOLDS_WITHIN, 1 + rules.HOLDS_WITHIN
    if least <= ratio["low"] and ratio["high"] <= most:
        return "holds"
    if ratio["low"] > most:
        return "slower"
    return "faster" if ratio["high"] < least else "unclear"


def refusal(ours: Sample, base: Sample) -> str | None:
    """Why the two can't be compared; None where they can."""
    needed = rules.MINIMUM_FOR_COMPARISON
    if min(len(ours), len(base)) < needed:
        return f"each side needs {needed} measurements, but they have {len(ours)} and {len(base)}"
    # The base of a resample can be its smallest value.
    return rules.NO_TIME if min(ours.values[0], base.values[0]) < rules.SHORTEST_S else None


def cliffs_delta(ours: np.ndarray, base: np.ndarray, confidence: float = rules.CONFIDENCE) -> dict[str, float]:
    """Cliff's delta P(ours > base) - P(ours < base) with its interval; both ascending, at least two values each.

    With d_ij = sign(x_i - y_j), its variance is
      (m^2 sum (d_i. - d)^2 + n^2 sum (d_.j - d)^2 - sum sum (d_ij - d)^2) / (n m (n - 1) (m - 1)),
    at least (1 - d^2) / (n m - 1) (Cliff, "Ordinal Methods", 1996, p. 138), and the interval
      (d - d^3 -+ z s sqrt((1 - d^2)^2 + z^2 s^2)) / (1 - d^2 + z^2 s^2);
    for |d| = 1, where s = 0, its inner end is (k - z^2) / (k + z^2), k the smaller count (Feng and Cliff, "Monte Carlo
    Evaluation of Ordinal d", Journal of Modern Applied Statistical Methods 3, 2004).
    """
    n, m = len(ours), len(base)
    less, less_or_equal = np.searchsorted(base, ours, "left"), np.searchsorted(base, ours, "right")
    rows = (less + less_or_equal - m) / m
    columns = (2 * n - np.searchsorted(ours, base, "left") - np.searchsorted(ours, base, "right") - n) / n
    untied = n * m - int((less_or_equal - less).sum())
    d = int((less + less_or_equal - m).sum()) / (n * m)
    if abs(d) == 1:
        return _of_no_overlap(d, min(n, m), confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    spread = m**2 * ((rows - d) ** 2).sum() + n**2 * ((columns - d) ** 2).sum() - (untied - n * m * d * d)
    variance = max(float(spread) / (n * m * (n - 1) * (m - 1)), (1 - d * d) / (n * m - 1))
    reach = z * math.sqrt(variance) * math.sqrt((1 - d * d) ** 2 + z * z * variance)
    below = 1 - d * d + z * z * variance
    return {"value": d, "low": (d - d**3 - reach) / below, "high": (d - d**3 + reach) / below}


def _of_no_overlap(d: float, count: int, confidence: float) -> dict[str, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    inner = math.copysign((count - z * z) / (count + z * z), d)
    return {"value": d, "low": min(d, inner), "high": max(d, inner)}


def _delta(ours: Sample, base: Sample, among: int) -> dict[str, float]:
    """Cliff's delta, as one of `among` that hold together; where nothing overlaps no resample does, and its interval
    comes from the number of rounds."""
    confidence = together.confidence(among)
    delta = cliffs_delta(ours.values, base.values, confidence)
    if not (isinstance(ours, RoundSample) and isinstance(base, RoundSample)):
        return delta
    size, value = min(ours.size, base.size), delta["value"]
    if abs(value) == 1:
        return _of_no_overlap(value, size, confidence)
    delta = together.of_difference(value, ours.deltas(base), size, among)
    return {"value": value, "low": max(-1.0, delta["low"]), "high": min(1.0, delta["high"])}
