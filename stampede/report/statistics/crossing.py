"""Where two choices that were measured at some sizes come out even: straight lines between what was measured."""

from collections.abc import Mapping, Sequence
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
    claim: str,
    among: int = 1,
) -> dict[str, Any]:
    """From which size on another choice is the better one.

    `ratios` are {"value", "low", "high"} by size, each of at least `count` measurements or rounds (too few for an
    interval: low is None), and `among` so many that hold together. `apart` is what one object takes of the base less
    what it takes of the other, so above 0 where the ratio is above 1; between two sizes it is taken to grow evenly with
    the bytes: a request, and so much a byte. `names` are what a ratio above and below 1 is called, and `claim` says it
    of something, as `reading is {} on that`. {"level", "at_bytes", "interval" (in bytes), "words", "short"}; an end of
    the interval is None where it reaches beyond the sizes.
    """
    passes = crossings(sizes, [ratio.value for ratio in apart])
    levels = [_level(ratio) for ratio in ratios]
    even: dict[str, Any] = {"level": UNCLEAR, "at_bytes": None, "interval": None}
    if not passes and set(levels) in ({ABOVE}, {BELOW}):
        even["level"] = levels[0]
    elif len(passes) == 1 and None not in levels and {ABOVE, BELOW} <= set(levels):
        [(at_bytes, rises)] = passes
        first, last = _crossed(sizes, apart, rises)
        reach = together.of_ratio(at_bytes, first, count, among, above=last)
        low = reach["low"] if reach["low"] > sizes[0] else None
        high = reach["high"] if reach["high"] < sizes[-1] else None
        if low or high:
            interval = {"low": low, "high": high}
            even = {"level": RISES if rises else FALLS, "at_bytes": at_bytes, "interval": interval}
    return even | {"words": _words(even, sizes, levels, names, claim), "short": _short(even, sizes, levels)}


def _level(ratio: Mapping[str, float | None]) -> str | None:
    """ABOVE, BELOW or UNCLEAR; None without an interval."""
    low, high = ratio["low"], ratio["high"]
    if low is None or high is None:
        return None
    return ABOVE if low > 1 else BELOW if high < 1 else UNCLEAR


def _crossed(sizes: Sequence[float], apart: Sequence[Resampled], rises: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where each resample crosses, the first and the last time; one that never does crosses beyond the sizes."""
    heights = np.stack([ratio.values for ratio in apart], axis=1)
    at = _passed(np.asarray(sizes, dtype=float), heights)
    none = np.isnan(at).all(axis=1)
    at[none] = np.where((heights[none, :1] >= 0) == rises, sizes[0], sizes[-1])
    return np.nanmin(at, axis=1), np.nanmax(at, axis=1)


def _words(
    even: Mapping[str, Any], sizes: Sequence[float], levels: Sequence[str | None], names: tuple[str, str], claim: str
) -> str:
    above, below = names
    level = even["level"]
    if level in (ABOVE, BELOW):
        result = claim.format(above if level == ABOVE else below)
        if len(sizes) == 1:
            return f"{result} at {decimal_size(sizes[0])}"
        return f"{result} at all measured sizes, {decimal_size(sizes[0])} to {decimal_size(sizes[-1])}"
    if level in (FALLS, RISES):
        side, other_side = ("below", "above") if level == FALLS else ("above", "below")
        at, interval = _about(even["at_bytes"]), _between(even["interval"])
        return f"{claim.format(above)} for objects {side} about {at} ({interval}, 95 %), {below} {other_side}"
    if None in levels:
        needed = rules.MINIMUM_FOR_COMPARISON
        return f"it is unknown whether {claim.format(above)}: each variant needs {needed} measurements at every size"
    if set(levels) == {UNCLEAR}:
        return f"it is too close to call at every measured size whether {claim.format(above)}"
    clauses = []
    for kind, name in ((ABOVE, above), (BELOW, below), (UNCLEAR, "too close to call")):
        if kind in levels:
            result = name if clauses else claim.format(name)
            clauses.append(f"{result} at {listed(_sizes_of(kind, sizes, levels))}")
    return "; ".join(clauses)


def _between(ends: Mapping[str, float | None]) -> str:
    low, high = ends["low"], ends["high"]
    if low is None or high is None:
        return f"{_about(high)} or less" if low is None else f"{_about(low)} or more"
    return decimal_sizes(low, high, 2 if _about(low) != _about(high) else 3)


def _about(size_bytes: float) -> str:
    return decimal_size(size_bytes, digits=2)


def _short(even: Mapping[str, Any], sizes: Sequence[float], levels: Sequence[str | None]) -> str:
    """Where it is what a ratio above 1 is called, in few words; empty where that isn't clear."""
    level = even["level"]
    if level in (FALLS, RISES):
        return f"{'below' if level == FALLS else 'above'} about {_about(even['at_bytes'])}"
    if level in (ABOVE, BELOW):
        return "at all measured sizes" if level == ABOVE else "at no measured size"
    clear = _sizes_of(ABOVE, sizes, levels)
    if len(clear) > MOST_SIZES:
        return f"at {len(clear)} of {len(sizes)} sizes"
    return f"at {listed(clear)}" if clear else ""


def _sizes_of(level: str, sizes: Sequence[float], levels: Sequence[str | None]) -> list[str]:
    return [decimal_size(size) for size, own in zip(sizes, levels, strict=True) if own == level]
