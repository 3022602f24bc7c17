"""Cold against warm: does the first operation of a sandbox take longer?"""

from typing import Any

from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Sample, interval
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.rounds import sample
from stampede.runs.records import Records
from stampede.runs.spread import quantile


def is_told(records: Records) -> bool:
    """Whether there are enough cold and warm ones to compare."""
    flags = records["cold_start"]
    return min(int((flags == flag).sum()) for flag in (1, 0)) >= rules.MINIMUM_FOR_COMPARISON


def cold_against_warm(records: Records, label: str, operation: str, among: int = 1) -> dict[str, Any]:
    """Counts, medians and means of cold and warm `records`, and their differences (cold - warm) with intervals.

    One is cold when it is the first of its sandbox (`cold_start` 1). Its time doesn't hold the start of the
    sandbox, but new connections, and on AWS a full bandwidth allowance. `label` names the cell (see Sample),
    `operation` what was timed; the differences are those of `among` cells that hold together.
    """
    cold, warm = (
        sample(part := records.where(records["cold_start"] == flag), part["seconds"], f"{label} {name}")
        for flag, name in ((1, "cold"), (0, "warm"))
    )
    result: dict[str, Any] = {"cold": _figures(cold), "warm": _figures(warm), "together": among}
    needed = rules.MINIMUM_FOR_COMPARISON
    if min(len(cold), len(warm)) < needed:
        why = f"each needs {needed} measurements, but there are {len(cold)} cold and {len(warm)} warm"
        words = f"Cold and warm can’t be compared: {why}."
        return result | {"difference_of_means_s": None, "difference_of_medians_s": None, "words": words, "why": why}
    medians = difference(cold, warm, "median_s", result, among)
    return result | {
        "difference_of_means_s": difference(cold, warm, "mean_s", result, among),
        "difference_of_medians_s": medians,
        "words": _words(medians, operation),
        "why": None,
    }


def difference(cold: Sample, warm: Sample, name: str, figures: dict[str, Any], among: int = 1) -> dict[str, float]:
    """{"value", "low", "high"} of cold minus warm for `name`, mean_s or median_s, in seconds."""
    resampled = cold.means - warm.means if name == "mean_s" else cold.medians - warm.medians
    value = figures["cold"][name] - figures["warm"][name]
    size = min(cold.size, warm.size)
    return {"value": value} | together.of_difference(value, interval(resampled, size), size, among)


def _figures(sample: Sample) -> dict[str, Any]:
    ordered = sample.values.tolist()
    return {
        "count": len(ordered),
        "median_s": quantile(ordered, 0.5) if ordered else None,
        "mean_s": mean(ordered) if ordered else None,
    }


def _words(medians: dict[str, float], one: str) -> str:
    low, high = medians["low"], medians["high"]
    if low > 0:
        return (
            f"In the median, the first {one} of a function instance took {low:.3g} to {high:.3g} s longer than later "
            "ones."
        )
    if high < 0:
        return (
            f"In the median, the first {one} of a function instance took {-high:.3g} to {-low:.3g} s less than later "
            "ones."
        )
    return (
        f"The first {one} of a function instance and later ones are too close to call: in the median "
        f"{-low:.3g} s less to {high:.3g} s more."
    )
