"""Where a ratio that was measured at some sizes passes 1: straight lines between them, both axes logarithmic."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from report.phrases import decimal_size, listed
from report.statistics import rules
from report.statistics.bootstrap import interval

# What can be said of a ratio: above or below 1 at every size, falling or rising through it once, or neither.
ABOVE, BELOW, FALLS, RISES, UNCLEAR = "above", "below", "falls", "rises", "unclear"


def crossings(sizes: Sequence[float], ratios: Sequence[float]) -> list[tuple[float, bool]]:
    """Each size at which the ratio passes 1, and whether it is above 1 from there on; `sizes` ascend."""
    places, logs = np.log(sizes), np.log(ratios)
    found = []
    for at in range(len(places) - 1):
        left, right = logs[at], logs[at + 1]
        if (left >= 0) != (right >= 0):
            found.append(
                (float(np.exp(places[at] + left / (left - right) * (places[at + 1] - places[at]))), right >= 0)
            )
    return found


def break_even(
    sizes: Sequence[float],
    ratios: Sequence[dict[str, float | None]],
    resampled: Sequence[np.ndarray],
    count: int,
    names: tuple[str, str],
    told_of: str,
) -> dict[str, Any]:
    """From which size on another choice is the better one.

    `ratios` are {"value", "low", "high"} by size, `resampled` their bootstrap values, each of at least `count` (too few
    for an interval: low is None). `names` are what a ratio above and below 1 is called, and `told_of` says it of
    something, as `reading is {} on that`. {"level", "at_bytes", "interval" (in bytes), "words", "short"}; an end of the
    interval is None where it reaches beyond the sizes.
    """
    found = crossings(sizes, [one["value"] for one in ratios])
    told = [None if one["low"] is None else ABOVE if one["low"] > 1 else BELOW if one["high"] < 1 else UNCLEAR
            for one in ratios]  # fmt: skip
    result = {"level": UNCLEAR, "at_bytes": None, "interval": None}
    if not found and len({*told}) == 1 and told[0] in (ABOVE, BELOW):
        result["level"] = told[0]
    elif len(found) == 1 and None not in told:
        [(at_bytes, rises)] = found
        ends = _interval(sizes, resampled, count, rises)
        if any(ends.values()):
            result = {"level": RISES if rises else FALLS, "at_bytes": at_bytes, "interval": ends}
    return result | {"words": _words(result, sizes, told, names, told_of), "short": _short(result)}


def _interval(sizes: Sequence[float], resampled: Sequence[np.ndarray], count: int, rises: bool) -> dict[str, Any]:
    """Where each resample crosses, from the first to the last time; one that never does crosses beyond the sizes."""
    places, logs = np.log(np.asarray(sizes, dtype=float)), np.log(np.stack(resampled, axis=1))
    left, right = logs[:, :-1], logs[:, 1:]
    crosses = (left >= 0) != (right >= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = places[:-1] + left / (left - right) * np.diff(places)
    beyond = np.where((logs[:, 0] >= 0) == rises, places[0], places[-1])
    none = ~crosses.any(axis=1)
    first = np.where(none, beyond, np.where(crosses, at, np.inf).min(axis=1))
    last = np.where(none, beyond, np.where(crosses, at, -np.inf).max(axis=1))
    found = interval(first, count, above=last)
    return {
        "low": None if found["low"] <= places[0] else float(np.exp(found["low"])),
        "high": None if found["high"] >= places[-1] else float(np.exp(found["high"])),
    }


def _words(
    found: dict[str, Any], sizes: Sequence[float], told: Sequence[str | None], names: tuple[str, str], told_of: str
) -> str:
    above, below = names
    level = found["level"]
    if level in (ABOVE, BELOW):
        says = told_of.format(above if level == ABOVE else below)
        if len(sizes) == 1:
            return f"{says} at {decimal_size(sizes[0])}"
        return f"{says} at all measured sizes, {decimal_size(sizes[0])} to {decimal_size(sizes[-1])}"
    if level in (FALLS, RISES):
        side, other = ("below", "above") if level == FALLS else ("above", "below")
        at, ends = _about(found["at_bytes"]), _between(found["interval"])
        return f"{told_of.format(above)} for objects {side} about {at} ({ends}, 95 %), {below} {other}"
    if None in told:
        needed = rules.MINIMUM_FOR_COMPARISON
        return f"can’t tell whether {told_of.format(above)}: at every size {needed} measurements of each are needed"
    if {*told} == {UNCLEAR}:
        return f"can’t tell at any measured size whether {told_of.format(above)}"
    at = {which: listed([decimal_size(size) for size, one in zip(sizes, told, strict=True) if one == which])
          for which in (ABOVE, BELOW, UNCLEAR) if which in told}  # fmt: skip
    parts = [f"{name} at {at[which]}" for which, name in ((ABOVE, above), (BELOW, below)) if which in at]
    first, *rest = [*parts, *([f"can’t tell at {at[UNCLEAR]}"] if UNCLEAR in at else [])]
    name, _, places = first.partition(" at ")
    return "; ".join([f"{told_of.format(name)} at {places}", *rest])


def _between(ends: dict[str, float | None]) -> str:
    low, high = ends["low"], ends["high"]
    if low is None or high is None:
        return f"{_about(high)} or less" if low is None else f"{_about(low)} or more"
    least, most = (decimal_size(end, 2 if _about(low) != _about(high) else 3) for end in (low, high))
    number, _, unit = least.partition(" ")
    return f"{number if most.endswith(f' {unit}') else least} to {most}"


def _about(size_bytes: float) -> str:
    return decimal_size(size_bytes, digits=2)


def _short(found: dict[str, Any]) -> str:
    """Where it is what a ratio above 1 is called, in few words; empty where that can't be told."""
    level = found["level"]
    if level in (FALLS, RISES):
        return f"{'below' if level == FALLS else 'above'} about {_about(found['at_bytes'])}"
    return {ABOVE: "at all measured sizes", BELOW: "at no measured size"}.get(level, "")
