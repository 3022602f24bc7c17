"""The figures of one set of operations: seconds and Mbit/s, with intervals, and a reason for each that is missing."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stampede.report.columns import Columns, known
from stampede.report.measured import BITS_PER_MEGABIT, rate
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.runs.spread import quantile

_FIGURES = (
    *("min_s", "p5_s", "p25_s", "median_s", "mean_s", "p75_s", "p95_s", "p99_s", "max_s"),
    *("mean_interval", "median_interval", "p99_interval"),
)
_SHARES = {"p5_s": 0.05, "p25_s": 0.25, "median_s": 0.5, "p75_s": 0.75, "p95_s": 0.95, "p99_s": 0.99}
# What each figure is called where it is missing, and how many measurements it needs.
_NEEDED = {
    "p5_s": ("p5", rules.MINIMUM_FOR_P5_P95),
    "p25_s": ("p25", 1),
    "median_s": ("median", 1),
    "p75_s": ("p75", 1),
    "p95_s": ("p95", rules.MINIMUM_FOR_P5_P95),
    "p99_s": ("p99", rules.MINIMUM_FOR_P99),
    "min_s": ("min", 1),
    "mean_s": ("mean", 1),
    "max_s": ("max", 1),
    "mean_interval": ("an interval of the mean", rules.MINIMUM_FOR_MEAN_INTERVAL),
    "median_interval": ("an interval of the median", rules.MINIMUM_FOR_INTERVAL),
    "p99_interval": ("an interval of p99", rules.MINIMUM_FOR_P99_INTERVAL),
}


def seconds(sample: Sample) -> dict[str, Any]:
    """Count, quantiles, mean and intervals of `sample` (seconds); null with a reason under `why` when too few."""
    size, ordered = len(sample), sample.values.tolist()
    figures: dict[str, Any] = {"count": size, **dict.fromkeys(_FIGURES)}
    why = {name: too_few(label, needed, size) for name, (label, needed) in _NEEDED.items() if size < needed}
    figures |= {name: quantile(ordered, share) for name, share in _SHARES.items() if name not in why}
    if size:
        figures |= {"min_s": ordered[0], "mean_s": mean(ordered), "max_s": ordered[-1]}
    if "mean_interval" not in why:
        figures["mean_interval"] = interval(sample.means, sample.size)
    if "median_interval" not in why:
        figures["median_interval"] = interval(sample.medians, sample.size)
    if "p99_interval" not in why:
        figures["p99_interval"] = p99_interval(sample)
    return figures | {"why": why}


def p99_interval(sample: Sample) -> dict[str, float]:
    """The interval of p99, from the rank below it to the rank above: with few values beyond p99, interpolating
    between them promises too much.
    """
    below, above = sample.ranks(0.99)
    return interval(below, sample.size, above)


def speed(records: Columns, mean_interval: dict[str, float] | None) -> dict[str, Any]:
    """Mbit/s of `records`: mean bytes over mean seconds, and the spread of each one's own.

    `mean_interval` is that of their mean seconds; it gives the interval of the speed when all sizes are the same.
    """
    figures: dict[str, Any] = dict.fromkeys(("per_function", "per_function_interval", "median", "p5", "p95"))
    sizes, times = known(records, "bytes"), records["seconds"]
    if not len(times):
        return figures | {"why": dict.fromkeys(figures, "there is no measurement")}
    if sizes is None:
        return figures | {"why": dict.fromkeys(figures, "a record lacks the number of bytes")}
    if times.min() < rules.SHORTEST_S:
        return figures | {"why": dict.fromkeys(figures, rules.NO_TIME)}
    why = {}
    figures["per_function"] = rate(int(sizes.sum()) / len(sizes), mean(times.tolist()))
    size = int(sizes[0])
    if (sizes != size).any():
        why["per_function_interval"] = "what was moved differs in size"
    elif mean_interval is None:
        why["per_function_interval"] = too_few("an interval", rules.MINIMUM_FOR_MEAN_INTERVAL, len(sizes))
    else:
        low, high = rate(size, mean_interval["high"]), rate(size, mean_interval["low"])
        figures["per_function_interval"] = {"low": low, "high": high}
    speeds = np.sort(sizes * 8 / BITS_PER_MEGABIT / times).tolist()
    figures["median"] = quantile(speeds, 0.5)
    for name, share in (("p5", 0.05), ("p95", 0.95)):
        if len(speeds) >= rules.MINIMUM_FOR_P5_P95:
            figures[name] = quantile(speeds, share)
        else:
            why[name] = too_few(name, rules.MINIMUM_FOR_P5_P95, len(speeds))
    return figures | {"why": why}


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, summed exactly. Raises ZeroDivisionError without values."""
    return math.fsum(values) / len(values)


def too_few(name: str, needed: int, count: int) -> str:
    """Why a figure is missing: `p99 needs 100 measurements; there are 50`."""
    there = {0: "there are none", 1: "there is one"}.get(count, f"there are {count}")
    return f"{name} needs {'a measurement' if needed == 1 else f'{needed} measurements'}; {there}"
