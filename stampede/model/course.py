"""The outcome of a flood, counted from its attempts as the report counts it from records."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stampede.model.sharing import Shared

# Points of the chart's curve: more than a screen shows.
RAMP_POINTS = 300
# How an attempt ends: well; with an error; cut off by a crash or the function's timeout; or well,
# as the first in a new environment.
DONE, FAILED, CUT_OFF, FIRST = range(4)
# Fewer operations have no 99th percentile, as in a report.
ENOUGH_FOR_P99 = 100


@dataclass(frozen=True)
class Course:
    """The outcome. Times are in seconds from the first message sent, unless stated otherwise.

    `min_s` to `p99_s` describe the successful operations, without cold starts, as in records (nan
    if none succeeded, and `p99_s` below ENOUGH_FOR_P99; quantiles are linear between ranks, type 7,
    as in the table). The full-overlap window lasts from the first to the last moment at which N ran
    at once: `time_to_n_s` to `window_end_s` after the first start of an operation (None if N never
    ran); `share_at_n` is the share of all operations' time in it. The records span `first_start_s`
    to `drain_s`. `slowed_shares` maps each shared limit to the share of operation time in which it
    slowed all operations; `throttled` counts receives that found no free environment.
    `peak_requests_per_s` is the maximum of running x progress, times the requests of one operation.
    `ramp` is the number running at once from each moment on. `of_first` and `of_later` hold the
    seconds and `count` of operations that were the first in their environment, and of the others.
    """

    succeeded: int
    failed_attempts: int
    dead_lettered: int
    throttled: int
    min_s: float
    p25_s: float
    avg_s: float
    p75_s: float
    max_s: float
    p99_s: float
    time_to_n_s: float | None
    window_end_s: float | None
    share_at_n: float
    most_at_once: int
    first_start_s: float
    drain_s: float
    peak_requests_per_s: float
    slowed_shares: Mapping[str, float] = field(default_factory=dict)
    ramp: Sequence[tuple[float, int]] = ()
    of_first: Mapping[str, float] = field(default_factory=dict)
    of_later: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Attempts:
    """Every attempt, in order of its end: start and end in seconds, 16 bytes each, and the indices
    of those that failed and those that were the first in their environment."""

    started_s: array[float] = field(default_factory=lambda: array("d"))
    ended_s: array[float] = field(default_factory=lambda: array("d"))
    failed: array[int] = field(default_factory=lambda: array("q"))
    first: array[int] = field(default_factory=lambda: array("q"))
    throttled: int = 0
    dead_lettered: int = 0

    def add(self, started_s: float, ended_s: float, outcome: int) -> None:
        if outcome:
            (self.first if outcome == FIRST else self.failed).append(len(self.ended_s))
        self.started_s.append(started_s)
        self.ended_s.append(ended_s)


def course(attempts: Attempts, n: int, requests_per_s: float, shared: Shared) -> Course:
    """Count everything; `n` is the requested concurrency."""
    starts = np.frombuffer(attempts.started_s, dtype=float)
    ends = np.frombuffer(attempts.ended_s, dtype=float)
    later = np.ones(len(ends), dtype=bool)
    later[attempts.failed] = later[attempts.first] = False
    seconds = ends - starts
    of_first = {"count": len(attempts.first), **_seconds(seconds[attempts.first])}
    of_later = {"count": int(later.sum()), **_seconds(seconds[later])}
    at, running = timeline(starts, ends, shared.at_s)
    busy_s = running[:-1] * np.diff(at)
    full = np.flatnonzero(running >= n)
    window = (float(at[full[0]]), float(at[full[-1] + 1])) if len(full) else None
    inside = (
        (at[:-1] >= window[0]) & (at[:-1] < window[1])
        if window
        else np.zeros(len(busy_s), dtype=bool)
    )
    first_start_s = float(starts.min())
    whole = float(busy_s.sum())
    return Course(
        succeeded=of_first["count"] + of_later["count"],
        failed_attempts=len(attempts.failed),
        dead_lettered=attempts.dead_lettered,
        throttled=attempts.throttled,
        **_seconds(np.concatenate([seconds[later], seconds[attempts.first]])),
        time_to_n_s=window[0] - first_start_s if window else None,
        window_end_s=window[1] - first_start_s if window else None,
        share_at_n=min(1.0, float(busy_s[inside].sum()) / whole) if whole else 0.0,  # sums round
        most_at_once=int(running.max()),
        first_start_s=first_start_s,
        drain_s=float(ends.max()),
        peak_requests_per_s=float(np.minimum(running, shared.room(at)).max()) * requests_per_s,
        slowed_shares=shared.slowed_shares(at[:-1], running[:-1], busy_s)
        if whole
        else dict.fromkeys(shared.names, 0.0),
        ramp=_curve(at, running),
        of_first=of_first,
        of_later=of_later,
    )


def timeline(
    starts: np.ndarray, ends: np.ndarray, also_at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The moments at which an attempt began or ended (and `also_at`, between them), and how many
    ran from each on.

    `ends` ascend. An attempt runs up to its end, exclusive: one that ends as another begins leaves
    no dip.
    """
    last = ends.max()
    between = also_at[(also_at > starts.min()) & (also_at < last)]
    at = np.unique(np.concatenate([starts, ends, between]))
    started = np.searchsorted(np.sort(starts), at, "right")
    return at, started - np.searchsorted(ends, at, "right")


def _seconds(seconds: np.ndarray) -> dict[str, float]:
    if not len(seconds):
        return dict.fromkeys(("min_s", "p25_s", "avg_s", "p75_s", "max_s", "p99_s"), math.nan)
    ordered = np.sort(seconds)
    p25, p75 = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    p99 = _quantile(ordered, 0.99) if len(ordered) >= ENOUGH_FOR_P99 else math.nan
    low, high, mean = float(ordered[0]), float(ordered[-1]), float(seconds.mean())
    return {"min_s": low, "p25_s": p25, "avg_s": mean, "p75_s": p75, "max_s": high, "p99_s": p99}


def _quantile(ordered: np.ndarray, share: float) -> float:
    """As np.quantile computes it, which takes longer than a whole flood of ten messages."""
    below = math.floor(position := (len(ordered) - 1) * share)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    part = position - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def _curve(at: np.ndarray, running: np.ndarray) -> tuple[tuple[float, int], ...]:
    if len(at) > RAMP_POINTS:
        grid = np.linspace(at[0], at[-1], RAMP_POINTS)
        at, running = grid, running[np.searchsorted(at, grid, "right") - 1]
    return tuple(zip(at.tolist(), running.tolist(), strict=True))
