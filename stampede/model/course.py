"""What came of a flood, counted from its attempts as the report counts it from records."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stampede.model.sharing import Shared

# Of the picture's curve: more than a screen shows.
RAMP_POINTS = 300
# How an attempt ends: as it should, with an error, cut off by a crash or the function's timeout, or
# as it should where it was the first of a new environment.
DONE, FAILED, CUT_OFF, FIRST = range(4)
# Of fewer operations there is no 99th percentile, as in a report.
ENOUGH_FOR_P99 = 100


@dataclass(frozen=True)
class Course:
    """What came of it. Times in seconds from the first message sent, unless something else is said.

    The seconds are those of the successful operations, cold starts apart, as records have them (nan
    where none succeeded, and `p99_s` below ENOUGH_FOR_P99; quantiles linear between ranks, type 7,
    as the table's). The full-overlap window is from the first to the last moment at which N ran at
    once, `time_to_n_s` to `window_end_s` after the first start of an operation (None where they
    never did), `share_at_n` the share of all operations' time that lies in it, `first_start_s` to
    `drain_s` the span of the records. `slowed_shares` has by the name of each shared limit the
    share of operation time in which it was the one that slowed all; `throttled` are receives that
    found no room. `peak_requests_per_s` is the most there was at once of running x progress, times
    what one asks. `ramp` is the curve of how many ran at once from each moment on. `of_first` and
    `of_later` have the seconds, and the `count`, of the operations that were the first of their
    environment and of those that weren't.
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
    """Every attempt of an operation, by its end: start and end in seconds, 16 bytes each, which
    failed, and which were the first of their environment."""

    started_s: array[float] = field(default_factory=lambda: array("d"))
    ended_s: array[float] = field(default_factory=lambda: array("d"))
    failed: array[int] = field(default_factory=lambda: array("q"))
    first: array[int] = field(default_factory=lambda: array("q"))
    throttled: int = 0
    dead_lettered: int = 0

    def add(self, started_s: float, ended_s: float, outcome: int) -> None:
        """One more."""
        if outcome:
            (self.first if outcome == FIRST else self.failed).append(len(self.ended_s))
        self.started_s.append(started_s)
        self.ended_s.append(ended_s)


def course(attempts: Attempts, n: int, requests_per_s: float, shared: Shared) -> Course:
    """Count everything; `n` is the concurrency that is asked for."""
    starts, ends = (
        np.frombuffer(times, dtype=float) for times in (attempts.started_s, attempts.ended_s)
    )
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
    """The moments at which something began or ended (and `also_at`, within them), and how many ran
    from each on.

    `ends` ascend. An attempt runs up to, not including, its end: what ends and begins at the same
    moment leaves no dip.
    """
    last = ends.max()
    between = also_at[(also_at > starts.min()) & (also_at < last)]
    at = np.unique(np.concatenate([starts, ends, between]))
    started, ended = (
        np.searchsorted(np.sort(starts), at, "right"),
        np.searchsorted(ends, at, "right"),
    )
    return at, started - ended


def _seconds(seconds: np.ndarray) -> dict[str, float]:
    if not len(seconds):
        return dict.fromkeys(("min_s", "p25_s", "avg_s", "p75_s", "max_s", "p99_s"), math.nan)
    ordered = np.sort(seconds)
    p25, p75 = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    p99 = _quantile(ordered, 0.99) if len(ordered) >= ENOUGH_FOR_P99 else math.nan
    low, high, mean = float(ordered[0]), float(ordered[-1]), float(seconds.mean())
    return {"min_s": low, "p25_s": p25, "avg_s": mean, "p75_s": p75, "max_s": high, "p99_s": p99}


def _quantile(ordered: np.ndarray, share: float) -> float:
    """As np.quantile counts it, which for the ten messages of a small flood takes longer than the
    whole flood."""
    below = math.floor(position := (len(ordered) - 1) * share)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    part = position - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def _curve(at: np.ndarray, running: np.ndarray) -> tuple[tuple[float, int], ...]:
    if len(at) > RAMP_POINTS:
        grid = np.linspace(at[0], at[-1], RAMP_POINTS)
        at, running = grid, running[np.searchsorted(at, grid, "right") - 1]
    return tuple(zip(at.tolist(), running.tolist(), strict=True))
