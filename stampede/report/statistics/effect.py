"""How much one set of times differs from another: a ratio with its interval, not a p-value."""

from typing import Any

from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Sample


def effect(ours: Sample, base: Sample, among: int = 1) -> dict[str, Any]:
    """`ours` against `base` (seconds): the ratio of medians ours / base, one of `among` that hold together, and what it
    allows to say.

    `level` is read off the interval of the ratio of medians: "holds" when it lies within 1 +- HOLDS_WITHIN, "slower"
    or "faster" when it lies outside on one side, "unclear" when it reaches across, "cant_tell" with too few.
    """
    if why := refusal(ours, base):
        return incomparable(ours, base, why)
    size = min(ours.size, base.size)
    ratio = together.of_ratio(ours.median / base.median, ours.medians / base.medians, size, among)
    return {
        "count": len(ours),
        "base_count": len(base),
        "ratio_of_medians": ratio,
        "level": level(ratio),
        "why": None,
    }


def incomparable(ours: Sample, base: Sample, why: str) -> dict[str, Any]:
    """The same of two that aren't compared."""
    counts = {"count": len(ours), "base_count": len(base)}
    return {**counts, "ratio_of_medians": None, "level": "cant_tell", "why": why}


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
