"""Cold against warm: does the first operation of a sandbox take longer?"""

from typing import Any

from stampede.report.columns import Columns, chosen
from stampede.report.statistics import rules, together
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.selection import CellRecords

KINDS = {"cold": 1, "warm": 0}


def is_comparable(records: Columns) -> bool:
    """Whether there are enough cold and warm ones."""
    flags = records["cold_start"]
    return min(int((flags == flag).sum()) for flag in KINDS.values()) >= rules.MINIMUM_FOR_COMPARISON


def cold_against_warm(cell: CellRecords, label: str, operation: str, among: int = 1) -> dict[str, Any]:
    """Counts, medians and means of cold and warm operations, and their differences (cold - warm) with intervals.

    One is cold when it is the first of its sandbox (`cold_start` 1). Its time doesn't hold the start of the
    sandbox, but new connections, and on AWS a full bandwidth allowance. `label` names the cell (see Sample),
    `operation` what was timed; the differences are those of `among` cells that hold together.
    """
    figures: dict[str, Any] = {}
    samples = {}
    for name, flag in KINDS.items():
        part = chosen(cell.done, cell.done["cold_start"] == flag)
        seconds = samples[name] = cell.sample(part, part["seconds"], f"{label} {name}")
        figures[name] = {
            "count": len(seconds),
            "median_s": seconds.median if len(seconds) else None,
            "mean_s": mean(seconds.values.tolist()) if len(seconds) else None,
        }
    cold, warm = samples["cold"], samples["warm"]
    figures |= {"together": among, "difference_of_means_s": None, "difference_of_medians_s": None}
    if not is_comparable(cell.done):
        needed = rules.MINIMUM_FOR_COMPARISON
        why = f"each needs {needed} measurements, but there are {len(cold)} cold and {len(warm)} warm"
        return figures | {"words": f"Cold and warm can’t be compared: {why}.", "why": why}
    size = min(cold.size, warm.size)
    for name, resampled in (("mean", cold.means - warm.means), ("median", cold.medians - warm.medians)):
        difference = figures["cold"][f"{name}_s"] - figures["warm"][f"{name}_s"]
        figures[f"difference_of_{name}s_s"] = together.of_difference(difference, resampled, size, among)
    return figures | {"words": _words(figures["difference_of_medians_s"], operation), "why": None}


def _words(difference: dict[str, float], operation: str) -> str:
    low, high = difference["low"], difference["high"]
    if low <= 0 <= high:
        return (
            f"The first {operation} of a function instance and later ones are too close to call: in the median "
            f"{-low:.3g} s less to {high:.3g} s more."
        )
    took = f"{low:.3g} to {high:.3g} s longer" if low > 0 else f"{-high:.3g} to {-low:.3g} s less"
    return f"In the median, the first {operation} of a function instance took {took} than later ones."
