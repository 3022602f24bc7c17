"""The truth about parallelism: how many functions really ran at once, for how long, and what they moved together.

Built on the exact sweep line of `runs.overlap`. Times are whole milliseconds, relative to the first start of a flood.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.report.columns import UNKNOWN, Columns, chosen, count, known, together
from stampede.report.measured import rate
from stampede.report.statistics import rules, timeline
from stampede.report.statistics.distribution import mean
from stampede.report.statistics.selection import CellRecords
from stampede.runs import overlap
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
    inside: Columns

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


def usable(records: Columns) -> Columns:
    """Those whose times say when they ran: whole milliseconds, the end after the start."""
    starts, ends = records["started_at_ms"], records["finished_at_ms"]
    return chosen(records, (starts != UNKNOWN) & (starts < ends))


def measure(cell: CellRecords) -> Flood | None:
    """The parallelism of one flood, of everything that ran in its planned cell; None when none of its attempts has
    usable times."""
    everything = together(cell.done, cell.duplicates, cell.errors, cell.beside)
    attempts, done, n = usable(everything), usable(cell.done), cell.key.n
    if not count(attempts):
        return None
    origin = int(attempts["started_at_ms"].min())
    starts, ends = attempts["started_at_ms"] - origin, attempts["finished_at_ms"] - origin
    at, running = overlap.timeline(starts, ends)
    busy = _Integral(at, running)
    full = _Integral(at, (running >= n).astype(np.int64))
    nearly = _Integral(at, (running >= rules.NEARLY_FULL * n).astype(np.int64))
    sizes = known(attempts, "bytes")
    # First to last moment with at least N running.
    steps = np.flatnonzero(running >= n)
    window = (int(at[steps[0]]), int(at[steps[-1] + 1])) if len(steps) else None
    first, last = done["started_at_ms"] - origin, done["finished_at_ms"] - origin
    inside, window_bytes = np.zeros(count(done), dtype=bool), None
    if window:
        inside = (first >= window[0]) & (last <= window[1])
    if window and sizes is not None:
        # Each attempt's bytes are spread evenly over its duration.
        shared_ms = np.clip(np.minimum(ends, window[1]) - np.maximum(starts, window[0]), 0, None)
        window_bytes = float((sizes.astype(float) * (shared_ms / (ends - starts))).sum())
    at_full = full(last) - full(first)
    return Flood(
        n=n,
        attempts=count(attempts),
        left_out=count(everything) - count(attempts),
        started_at_ms=origin,
        at_ms=at,
        running=running,
        busy_ms=int(busy(at[-1])),
        at_full_ms=int(full(at[-1])),
        window_ms=window,
        window_busy_ms=int(busy(window[1]) - busy(window[0])) if window else 0,
        moved_bytes=None if sizes is None else int(sizes.sum()),
        window_bytes=window_bytes,
        shares=at_full / (last - first),
        at_full_of_downloads_ms=int(at_full.sum()),
        nearly_full_of_downloads_ms=int((nearly(last) - nearly(first)).sum()),
        of_downloads_ms=int((last - first).sum()),
        inside=chosen(done, inside),
    )


class _Integral:
    """The integral over time of a step function given by the times and heights of its steps; exact in integers."""

    def __init__(self, at: np.ndarray, heights: np.ndarray) -> None:
        self._at, self._heights = at, heights
        self._sums = np.concatenate(([0], np.cumsum(heights[:-1] * np.diff(at))))

    def __call__(self, until: np.ndarray | int) -> Any:
        step = np.searchsorted(self._at, until, "right") - 1
        return self._sums[step] + self._heights[step] * (until - self._at[step])


def repeat_figures(rounds: Sequence[Flood]) -> dict[str, Any]:
    """One repeat as it stands in statistics.json: its flood, or those of its rounds together, one after the other.

    The timeline, and the windows of several rounds, leave out the time between these, when other cells ran: the end of
    a round is the beginning of the next one.
    """
    first, begins = rounds[0], np.cumsum([0, *(flood.span_ms for flood in rounds)]).tolist()
    windows_ms, steps, running = [], [], []
    for flood, begin in zip(rounds, begins, strict=False):
        steps.append(begin + flood.at_ms[:-1])
        running.append(flood.running[:-1])
        if flood.window_ms:
            windows_ms.append([begin + at for at in flood.window_ms])
    to_full, window = _time_to_full(rounds), None
    if len(rounds) == 1 and first.window_ms:
        to_full = first.window_ms[0]
        window = {"from_ms": first.window_ms[0], "to_ms": first.window_ms[1]} | _window_figures(rounds)
    elif windows_ms:
        window = {"rounds_ms": windows_ms} | _window_figures([flood for flood in rounds if flood.window_ms])
    return {
        "n": first.n,
        "attempts": sum(flood.attempts for flood in rounds),
        "left_out": sum(flood.left_out for flood in rounds),
        "started_at_ms": first.started_at_ms,
        **({"rounds": len(rounds)} if len(rounds) > 1 else {}),
        **_shared_figures(rounds),
        "time_to_full_ms": to_full,
        "ramp": _ramp(rounds, [rounds]),
        "window": window,
        "mbit_per_s": _aggregate(rounds),
        "timeline": timeline.figures(np.concatenate([*steps, begins[-1:]]), np.concatenate([*running, [0]])),
    }


def combined(repeats: Sequence[Sequence[Flood]]) -> dict[str, Any] | None:
    """All repeats of a cell, and all their rounds, together: sums of times, operations and bytes, divided last. None
    without any. `reached_full` counts floods, of which there are `rounds` where they are more than the repeats."""
    floods = [flood for repeat in repeats for flood in repeat]
    if not floods:
        return None
    reached = [flood for flood in floods if flood.window_ms]
    return {
        "repeats": len(repeats),
        **({"rounds": len(floods)} if len(floods) > len(repeats) else {}),
        "reached_full": len(reached),
        "attempts": sum(flood.attempts for flood in floods),
        "left_out": sum(flood.left_out for flood in floods),
        **_shared_figures(floods),
        "share_of_each_download_at_full": _share_spread(np.concatenate([flood.shares for flood in floods])),
        "time_to_full_ms": _time_to_full(floods),
        "ramp": _ramp(floods, repeats),
        "window": _window_figures(reached) if reached else None,
        "mbit_per_s": _aggregate(floods),
    }


def _time_to_full(floods: Sequence[Flood]) -> float | None:
    """The median over those in which N ran at once."""
    reached = [flood.window_ms[0] for flood in floods if flood.window_ms]
    return float(statistics.median(reached)) if reached else None


def _shared_figures(floods: Sequence[Flood]) -> dict[str, Any]:
    span_ms = sum(flood.span_ms for flood in floods)
    at_full_ms = sum(flood.at_full_ms for flood in floods)
    of_downloads_ms = sum(flood.of_downloads_ms for flood in floods)
    at_full_of_downloads_ms = sum(flood.at_full_of_downloads_ms for flood in floods)
    nearly_full_ms = sum(flood.nearly_full_of_downloads_ms for flood in floods)
    return {
        "span_ms": span_ms,
        "most_at_once": max(flood.most_at_once for flood in floods),
        "mean_at_once": sum(flood.busy_ms for flood in floods) / span_ms,
        "at_full_ms": at_full_ms,
        "share_of_span_at_full": at_full_ms / span_ms,
        "share_of_download_time_at_full": at_full_of_downloads_ms / of_downloads_ms if of_downloads_ms else None,
        "share_of_download_time_nearly_full": nearly_full_ms / of_downloads_ms if of_downloads_ms else None,
    }


def _window_figures(floods: Sequence[Flood]) -> dict[str, Any]:
    """Length and means of the windows of `floods`, each of which has one."""
    length_ms = sum(flood.window_length_ms for flood in floods)
    return {
        "length_ms": length_ms,
        "mean_at_once": sum(flood.window_busy_ms for flood in floods) / length_ms,
        "mbit_per_s": rate(_sum([flood.window_bytes for flood in floods]), length_ms / 1000),
    }


def _aggregate(floods: Sequence[Flood]) -> float | None:
    """Mbit/s of all functions together over the span; None when bytes are unknown."""
    return rate(_sum([flood.moved_bytes for flood in floods]), sum(flood.span_ms for flood in floods) / 1000)


def _sum(sizes: Sequence[float | None]) -> float | None:
    """None where one of them is unknown."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


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
        return f"never: the peak concurrency was {max(flood.most_at_once for flood in floods):,} of {n:,}"
    if to_full_ms == 0:
        words = "it started at once" if n == 1 else f"all {n:,} started at once"
    else:
        words = f"all {n:,} ran {to_full_ms / 1000:.3g} s after the first start"
    reached, unit = (
        sum(bool(flood.window_ms) for flood in floods),
        "rounds" if len(floods) > len(repeats) else "repeats",
    )
    return words if reached == len(floods) else f"{words}, in {reached} of {len(floods)} {unit}"
