"""Where two choices that were measured at some sizes come out even: straight lines between what was measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stampede.phrases import decimal_size, decimal_sizes, listed
from stampede.report.statistics import rules, together
from stampede.report.statistics.bootstrap import Resampled

# What can be said of a ratio: above or below 1 at every size, falling or rising through it once, or neither.
ABOVE, BELOW, FALLS, RISES, UNCLEAR = "above", "below", "falls", "rises", "unclear"
# More aren't named in few words.
MOST_SIZES = 2


def crossings(places: Sequence[float], heights: Sequence[float]) -> list[tuple[float, bool]]:
    """Each place at which straight lines through these heights pass 0, and whether they are above it from there on;
    `places` ascend."""
    [at] = _passed(np.asarray(places, dtype=float), np.asarray([heights], dtype=float))
    return [(float(at[left]), heights[left + 1] >= 0) for left in np.flatnonzero(~np.isnan(at)).tolist()]


def _passed(places: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Where each row of heights passes 0 between two places, a column a pair of them; NaN where it doesn't."""
    left, right = heights[:, :-1], heights[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = places[:-1] + left / (left - right) * np.diff(places)
    return np.where((left >= 0) != (right >= 0), at, np.nan)


def break_even(
    sizes: Sequence[float],
    ratios: Sequence[dict[str, float | None]],
    apart: Sequence[Resampled],
    count: int,
    names: tuple[str, str],
    told_of: str,
    among: int = 1,
) -> dict[str, Any]:
    """From which size on another choice is the better one.

    `ratios` are {"value", "low", "high"} by size, each of at least `count` measurements or rounds (too few for an
    interval: low is None), and `among` so many that hold together. `apart` is what one object takes of the base less
    what it takes of the other, so above 0 where the ratio is above 1; between two sizes it is taken to grow evenly with
    the bytes: a request, and so much a byte. `names` are what a ratio above and below 1 is called, and `told_of` says
    it of something, as `reading is {} on that`. {"level", "at_bytes", "interval" (in bytes), "words", "short"}; an end
    of the interval is None where it reaches beyond the sizes.
    """
    found = crossings(sizes, [one.value for one in apart])
    told = [None if one["low"] is None else ABOVE if one["low"] > 1 else BELOW if one["high"] < 1 else UNCLEAR
            for one in ratios]  # fmt: skip
    result = {"level": UNCLEAR, "at_bytes": None, "interval": None}
    if not found and len({*told}) == 1 and told[0] in (ABOVE, BELOW):
        result["level"] = told[0]
    elif len(found) == 1 and None not in told and {ABOVE, BELOW} <= {*told}:
        [(at_bytes, rises)] = found
        first, last = _crossed(sizes, apart, rises)
        reached = together.of_ratio(at_bytes, first, count, among, above=last)
        ends = {"low": None if reached["low"] <= sizes[0] else reached["low"],
                "high": None if reached["high"] >= sizes[-1] else reached["high"]}  # fmt: skip
        if any(ends.values()):
            result = {"level": RISES if rises else FALLS, "at_bytes": at_bytes, "interval": ends}
    return result | {"words": _words(result, sizes, told, names, told_of), "short": _short(result, sizes, told)}


def _crossed(sizes: Sequence[float], apart: Sequence[Resampled], rises: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where each resample crosses, the first and the last time; one that never does crosses beyond the sizes."""
    heights = np.stack([one.values for one in apart], axis=1)
    at = _passed(np.asarray(sizes, dtype=float), heights)
    none = np.isnan(at).all(axis=1)
    at[none] = np.where((heights[none, :1] >= 0) == rises, sizes[0], sizes[-1])
    return np.nanmin(at, axis=1), np.nanmax(at, axis=1)


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
        return f"it is unknown whether {told_of.format(above)}: each variant needs {needed} measurements at every size"
    if {*told} == {UNCLEAR}:
        return f"it is too close to call at every measured size whether {told_of.format(above)}"
    at = {level: listed([decimal_size(size) for size, one in zip(sizes, told, strict=True) if one == level])
          for level in (ABOVE, BELOW, UNCLEAR) if level in told}  # fmt: skip
    names_at = [(name, at[level]) for level, name in ((ABOVE, above), (BELOW, below)) if level in at]
    (name, places), *others = names_at
    clauses = [f"{told_of.format(name)} at {places}", *(f"{name} at {places}" for name, places in others)]
    if UNCLEAR in at:
        clauses.append(f"too close to call at {at[UNCLEAR]}")
    return "; ".join(clauses)


def _between(ends: dict[str, float | None]) -> str:
    low, high = ends["low"], ends["high"]
    if low is None or high is None:
        return f"{_about(high)} or less" if low is None else f"{_about(low)} or more"
    return decimal_sizes(low, high, 2 if _about(low) != _about(high) else 3)


def _about(size_bytes: float) -> str:
    return decimal_size(size_bytes, digits=2)


def _short(found: dict[str, Any], sizes: Sequence[float], told: Sequence[str | None]) -> str:
    """Where it is what a ratio above 1 is called, in few words; empty where that can't be told."""
    level = found["level"]
    if level in (FALLS, RISES):
        return f"{'below' if level == FALLS else 'above'} about {_about(found['at_bytes'])}"
    if level in (ABOVE, BELOW):
        return "at all measured sizes" if level == ABOVE else "at no measured size"
    clear = [decimal_size(size) for size, one in zip(sizes, told, strict=True) if one == ABOVE]
    return f"at {listed(clear) if len(clear) <= MOST_SIZES else f'{len(clear)} of {len(sizes)} sizes'}" if clear else ""
