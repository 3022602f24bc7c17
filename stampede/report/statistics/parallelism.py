"""The truth about parallelism: how many functions really ran at once, for how long, and what they moved together.

Built on the exact sweep line of `runs.overlap`. Times are whole milliseconds, relative to the first start of a flood.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.report.measured import rate
from stampede.report.statistics import rules, timeline
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.selection import Cell
from stampede.runs import overlap
from stampede.runs.records import UNKNOWN, Records
from stampede.runs.spread import quantile


@dataclass(frozen=True)
class Flood:
    """What was sent at once, a repeat of a cell or its share of a round, on its time axis: the step function of its
    attempts, and everything counted from it.

    `at_ms` are its steps, in ms since `started_at_ms`, and `running` the number running from each of them on.
    `window_ms` is the full-overlap window or None when N never ran at once. `shares` is, for each that counts and has
    usable times, the share of it spent with at least N running; `of_downloads_ms` is the time of all of them,
    `at_full_of_downloads_ms` that with at least N running and `nearly_full_of_downloads_ms` that with at least
    NEARLY_FULL of N. `inside` are those that lie entirely in the window. `moved_bytes` is None when an attempt doesn't
    say its bytes.
    """

    n: int
    attempts: int
    left_out: int
    started_at_ms: int
    at_ms: np.ndarray
    running: np.ndarray
    busy_ms: int
    at_full_ms: int
    window_ms: tuple[int, int] | None
    window_busy_ms: int
    moved_bytes: int | None
    window_bytes: float | None
    shares: np.ndarray
    at_full_of_downloads_ms: int
    nearly_full_of_downloads_ms: int
    of_downloads_ms: int
    inside: Records

    @property
    def span_ms(self) -> int:
        """First start to last end."""
        return int(self.at_ms[-1])

    @property
    def most_at_once(self) -> int:
        return int(self.running.max())

    @property
    def window_length_ms(self) -> int:
        return self.window_ms[1] - self.window_ms[0] if self.window_ms else 0


def usable(records: Records) -> Records:
    """Those whose times say when they ran: whole milliseconds, the end after the start."""
    starts, ends = records["started_at_ms"], records["finished_at_ms"]
    return records.where((starts != UNKNOWN) & (starts < ends))


def measure(cell: Cell) -> Flood | None:
    """The parallelism of one flood, of everything that ran in its planned cell; None when none of its attempts has
    usable times."""
    everything = cell.done.plus(cell.duplicates, cell.errors, cell.beside)
    attempts = usable(everything)
    if not len(attempts):
        return None
    n = cell.key.n
    origin = int(attempts["started_at_ms"].min())
    starts, ends = _axis(attempts, origin)
    at, running = overlap.timeline(starts, ends)
    full = _Integral(at, (running >= n).astype(np.int64))
    nearly = _Integral(at, (running >= rules.NEARLY_FULL * n).astype(np.int64))
    busy = _Integral(at, running)
    window = _window(at, running, n)
    done = usable(cell.done)
    first, last = _axis(done, origin)
    at_full = full(last) - full(first)
    inside = (first >= window[0]) & (last <= window[1]) if window else np.zeros(len(done), dtype=bool)
    moved, in_window = _moved(attempts, starts, ends, window)
    return Flood(
        n=n,
        attempts=len(attempts),
        left_out=len(everything) - len(attempts),
        started_at_ms=origin,
        at_ms=at,
        running=running,
        busy_ms=int(busy(at[-1])),
        at_full_ms=int(full(at[-1])),
        window_ms=window,
        window_busy_ms=int(busy(window[1]) - busy(window[0])) if window else 0,
        moved_bytes=moved,
        window_bytes=in_window,
        shares=at_full / (last - first),
        at_full_of_downloads_ms=int(at_full.sum()),
        nearly_full_of_downloads_ms=int((nearly(last) - nearly(first)).sum()),
        of_downloads_ms=int((last - first).sum()),
        inside=done.where(inside),
    )


def repeat_figures(rounds: Sequence[Flood]) -> dict[str, Any]:
    """One repeat as it stands in statistics.json: its flood, or those of its rounds together, one after the other."""
    first, shared = rounds[0], _shared_figures(rounds)
    reached = [one for one in rounds if one.window_ms]
    to_full, window = _time_to_full(rounds), None
    if len(rounds) == 1 and first.window_ms:
        to_full = first.window_ms[0]
        window = {"from_ms": first.window_ms[0], "to_ms": first.window_ms[1]} | _window_figures(rounds)
    elif reached:
        window = {"rounds_ms": _windows(rounds)} | _window_figures(reached)
    return {
        "n": first.n,
        "attempts": sum(one.attempts for one in rounds),
        "left_out": sum(one.left_out for one in rounds),
        "started_at_ms": first.started_at_ms,
        **({"rounds": len(rounds)} if len(rounds) > 1 else {}),
        **shared,
        "time_to_full_ms": to_full,
        "ramp": _ramp(rounds, [rounds]),
        "window": window,
        "mbit_per_s": _aggregate(rounds),
        "timeline": timeline.figures(*_joined(rounds)),
    }


def combined(repeats: Sequence[Sequence[Flood]]) -> dict[str, Any] | None:
    """All repeats of a cell, and all their rounds, together: sums of times, operations and bytes, divided last. None
    without any. `reached_full` counts floods, of which there are `rounds` where they are more than the repeats."""
    floods = [one for repeat in repeats for one in repeat]
    if not floods:
        return None
    reached = [one for one in floods if one.window_ms]
    return {
        "repeats": len(repeats),
        **({"rounds": len(floods)} if len(floods) > len(repeats) else {}),
        "reached_full": len(reached),
        "attempts": sum(one.attempts for one in floods),
        "left_out": sum(one.left_out for one in floods),
        **_shared_figures(floods),
        "share_of_each_download_at_full": _share_spread(np.concatenate([one.shares for one in floods])),
        "time_to_full_ms": _time_to_full(floods),
        "ramp": _ramp(floods, repeats),
        "window": _window_figures(reached) if reached else None,
        "mbit_per_s": _aggregate(floods),
    }


def _time_to_full(floods: Sequence[Flood]) -> float | None:
    """The median over those in which N ran at once."""
    reached = [one.window_ms[0] for one in floods if one.window_ms]
    return float(statistics.median(reached)) if reached else None


def _joined(rounds: Sequence[Flood]) -> tuple[np.ndarray, np.ndarray]:
    """The steps of all rounds on one axis, without the time between them, when other cells ran: the end of a round is
    the beginning of the next one."""
    begins = np.cumsum([0, *(one.span_ms for one in rounds)])
    at = [begin + one.at_ms[:-1] for begin, one in zip(begins[:-1], rounds, strict=True)]
    running = [one.running[:-1] for one in rounds]
    return np.concatenate([*at, begins[-1:]]), np.concatenate([*running, [0]])


def _windows(rounds: Sequence[Flood]) -> list[list[int]]:
    """The full-overlap windows of the rounds on the axis of `_joined`."""
    begins, found = 0, []
    for one in rounds:
        if one.window_ms:
            found.append([begins + one.window_ms[0], begins + one.window_ms[1]])
        begins += one.span_ms
    return found


class _Integral:
    """The integral over time of a step function given by the times and heights of its steps; exact in integers."""

    def __init__(self, at: np.ndarray, heights: np.ndarray) -> None:
        self._at, self._heights = at, heights
        self._sums = np.concatenate(([0], np.cumsum(heights[:-1] * np.diff(at))))

    def __call__(self, until: np.ndarray | int) -> Any:
        step = np.searchsorted(self._at, until, "right") - 1
        return self._sums[step] + self._heights[step] * (until - self._at[step])


def _axis(records: Records, origin: int) -> tuple[np.ndarray, np.ndarray]:
    return records["started_at_ms"] - origin, records["finished_at_ms"] - origin


def _window(at: np.ndarray, running: np.ndarray, n: int) -> tuple[int, int] | None:
    """First to last moment with at least `n` running."""
    full = np.flatnonzero(running >= n)
    return (int(at[full[0]]), int(at[full[-1] + 1])) if len(full) else None


def _moved(
    attempts: Records, starts: np.ndarray, ends: np.ndarray, window: tuple[int, int] | None
) -> tuple[int | None, float | None]:
    """Bytes of all attempts, and those inside the window, each attempt's spread evenly over its duration."""
    sizes = attempts.known("bytes")
    if sizes is None:
        return None, None
    if window is None:
        return int(sizes.sum()), None
    shared_ms = np.clip(np.minimum(ends, window[1]) - np.maximum(starts, window[0]), 0, None)
    return int(sizes.sum()), float((sizes.astype(float) * (shared_ms / (ends - starts))).sum())


def _shared_figures(repeats: Sequence[Flood]) -> dict[str, Any]:
    span_ms = sum(one.span_ms for one in repeats)
    at_full_ms = sum(one.at_full_ms for one in repeats)
    of_downloads_ms = sum(one.of_downloads_ms for one in repeats)
    at_full_of_downloads_ms = sum(one.at_full_of_downloads_ms for one in repeats)
    nearly_full_ms = sum(one.nearly_full_of_downloads_ms for one in repeats)
    return {
        "span_ms": span_ms,
        "most_at_once": max(one.most_at_once for one in repeats),
        "mean_at_once": sum(one.busy_ms for one in repeats) / span_ms,
        "at_full_ms": at_full_ms,
        "share_of_span_at_full": at_full_ms / span_ms,
        "share_of_download_time_at_full": at_full_of_downloads_ms / of_downloads_ms if of_downloads_ms else None,
        "share_of_download_time_nearly_full": nearly_full_ms / of_downloads_ms if of_downloads_ms else None,
    }


def _window_figures(repeats: Sequence[Flood]) -> dict[str, Any]:
    """Length and means of the windows of `repeats`, each of which has one."""
    length_ms = sum(one.window_length_ms for one in repeats)
    inside = [one.window_bytes for one in repeats]
    known = [size for size in inside if size is not None]
    return {
        "length_ms": length_ms,
        "mean_at_once": sum(one.window_busy_ms for one in repeats) / length_ms,
        "mbit_per_s": rate(sum(known), length_ms / 1000) if len(known) == len(inside) else None,
    }


def _aggregate(repeats: Sequence[Flood]) -> float | None:
    """Mbit/s of all functions together over the span; None when bytes are unknown."""
    known = [one.moved_bytes for one in repeats if one.moved_bytes is not None]
    return rate(sum(known), sum(one.span_ms for one in repeats) / 1000) if len(known) == len(repeats) else None


def _share_spread(shares: np.ndarray) -> dict[str, Any] | None:
    ordered = np.sort(shares).tolist()
    if not ordered:
        return None
    return {
        "count": len(ordered),
        "min": ordered[0],
        "p25": quantile(ordered, 0.25),
        "median": quantile(ordered, 0.5),
        "mean": mean(ordered),
        "p75": quantile(ordered, 0.75),
        "max": ordered[-1],
        "entirely": int((shares == 1).sum()),
    }


def _ramp(floods: Sequence[Flood], repeats: Sequence[Sequence[Flood]]) -> str:
    n, to_full_ms = floods[0].n, _time_to_full(floods)
    if to_full_ms is None:
        return f"never: the peak concurrency was {max(one.most_at_once for one in floods):,} of {n:,}"
    if to_full_ms == 0:
        words = "it started at once" if n == 1 else f"all {n:,} started at once"
    else:
        words = f"all {n:,} ran {to_full_ms / 1000:.3g} s after the first start"
    reached, of = sum(bool(one.window_ms) for one in floods), "rounds" if len(floods) > len(repeats) else "repeats"
    return words if reached == len(floods) else f"{words}, in {reached} of {len(floods)} {of}"
