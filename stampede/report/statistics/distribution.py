"""The figures of one set of operations: seconds and Mbit/s, with intervals, and a reason for each that is missing."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stampede.report.measured import BITS_PER_MEGABIT, rate
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.runs.records import Records
from stampede.runs.spread import quantile

_SHARES = {"p5_s": 0.05, "p25_s": 0.25, "median_s": 0.5, "p75_s": 0.75, "p95_s": 0.95, "p99_s": 0.99}
_NEEDED = {
    "p5_s": rules.MINIMUM_FOR_P5_P95,
    "p95_s": rules.MINIMUM_FOR_P5_P95,
    "p99_s": rules.MINIMUM_FOR_P99,
    "mean_interval": rules.MINIMUM_FOR_MEAN_INTERVAL,
    "median_interval": rules.MINIMUM_FOR_INTERVAL,
    "p99_interval": rules.MINIMUM_FOR_P99_INTERVAL,
}
_NAMES = {
    "p5_s": "p5",
    "p95_s": "p95",
    "p99_s": "p99",
    "mean_interval": "an interval of the mean",
    "median_interval": "an interval of the median",
    "p99_interval": "an interval of p99",
}


def seconds(sample: Sample) -> dict[str, Any]:
    """Count, quantiles, mean and intervals of `sample` (seconds); null with a reason under `why` when too few."""
    size, ordered = len(sample), sample.values.tolist()
    why: dict[str, str] = {}

    def told(name: str, figure: Callable[[], Any]) -> Any:
        needed = _NEEDED.get(name, 1)
        if size >= needed:
            return figure()
        why[name] = too_few(_NAMES.get(name, name.removesuffix("_s")), needed, size)
        return None

    quantiles = {name: told(name, lambda share=share: quantile(ordered, share)) for name, share in _SHARES.items()}
    return {
        "count": size,
        "min_s": told("min_s", lambda: ordered[0]),
        "p5_s": quantiles["p5_s"],
        "p25_s": quantiles["p25_s"],
        "median_s": quantiles["median_s"],
        "mean_s": told("mean_s", lambda: mean(ordered)),
        "p75_s": quantiles["p75_s"],
        "p95_s": quantiles["p95_s"],
        "p99_s": quantiles["p99_s"],
        "max_s": told("max_s", lambda: ordered[-1]),
        "mean_interval": told("mean_interval", lambda: interval(sample.means, sample.size)),
        "median_interval": told("median_interval", lambda: interval(sample.medians, sample.size)),
        "p99_interval": told("p99_interval", lambda: p99_interval(sample)),
        "why": why,
    }


def p99_interval(sample: Sample) -> dict[str, float]:
    """The interval of p99, from the rank below it to the rank above: with few values beyond p99, interpolating
    between them promises too much.
    """
    below, above = sample.ranks(0.99)
    return interval(below, sample.size, above)


def speed(records: Records, mean_interval: dict[str, float] | None) -> dict[str, Any]:
    """Mbit/s of `records`: mean bytes over mean seconds, and the spread of each one's own.

    `mean_interval` is that of their mean seconds; it gives the interval of the speed when all sizes are the same.
    """
    figures: dict[str, Any] = dict.fromkeys(("per_function", "per_function_interval", "median", "p5", "p95"))
    known, times = records.known("bytes"), records["seconds"]
    reason = _no_speed(known, times)
    if reason or known is None:
        return figures | {"why": dict.fromkeys(figures, reason)}
    why = {}
    size = int(known[0])
    figures["per_function"] = rate(int(known.sum()) / len(known), mean(times.tolist()))
    if (known != size).any():
        why["per_function_interval"] = "what was moved differs in size"
    elif mean_interval is None:
        why["per_function_interval"] = too_few("an interval", rules.MINIMUM_FOR_MEAN_INTERVAL, len(known))
    else:
        figures["per_function_interval"] = {
            "low": rate(size, mean_interval["high"]),
            "high": rate(size, mean_interval["low"]),
        }
    own = np.sort(known * 8 / BITS_PER_MEGABIT / times).tolist()
    figures["median"] = quantile(own, 0.5)
    for name, share in (("p5", 0.05), ("p95", 0.95)):
        if len(own) >= rules.MINIMUM_FOR_P5_P95:
            figures[name] = quantile(own, share)
        else:
            why[name] = too_few(name, rules.MINIMUM_FOR_P5_P95, len(own))
    return figures | {"why": why}


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, summed exactly. Raises ZeroDivisionError without values."""
    return math.fsum(values) / len(values)


def too_few(name: str, needed: int, count: int) -> str:
    """Why a figure isn't told: `p99 needs 100 measurements; there are 50`."""
    there = {0: "there are none", 1: "there is one"}.get(count, f"there are {count}")
    return f"{name} needs {'a measurement' if needed == 1 else f'{needed} measurements'}; {there}"


def _no_speed(sizes: np.ndarray | None, times: np.ndarray) -> str | None:
    if not len(times):
        return "there is no measurement"
    if sizes is None:
        return "a record lacks the number of bytes"
    return rules.NO_TIME if times.min() < rules.SHORTEST_S else None
