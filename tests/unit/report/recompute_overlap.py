"""Overlap counted millisecond by millisecond: slow, and hard to get wrong."""

from statistics import median

import numpy as np

from tests.unit.report.recompute_compare import Text

LONGEST_SPAN_MS = 50_000_000


def has_times(row):
    start, end = row.get("started_at_ms"), row.get("finished_at_ms")
    return type(start) is int and type(end) is int and 0 <= start < end < 2**53


def has_size(row):
    return type(row.get("bytes")) is int and row["bytes"] >= 0


class Repeat:
    """One repeat, counted millisecond by millisecond."""

    def __init__(self, n, downloads, attempts):
        self.n, usable = n, [row for row in attempts if has_times(row)]
        self.attempts, self.left_out = len(usable), len(attempts) - len(usable)
        self.origin = min(row["started_at_ms"] for row in usable)
        self.span = max(row["finished_at_ms"] for row in usable) - self.origin
        if self.span > LONGEST_SPAN_MS:
            raise SystemExit(f"a repeat of {self.span} ms is too long to be counted millisecond by millisecond")
        self.running = np.zeros(self.span, dtype=np.int32)
        for row in usable:
            self.running[self.slice(row)] += 1
        self.full, self.nearly = self.running >= n, self.running >= 0.9 * n
        timed = [row for row in downloads if has_times(row)]
        self.shares = [float(self.full[self.slice(row)].mean()) for row in timed]
        self.of_downloads = sum(row["finished_at_ms"] - row["started_at_ms"] for row in timed)
        self.at_full = sum(int(self.full[self.slice(row)].sum()) for row in timed)
        self.nearly_full = sum(int(self.nearly[self.slice(row)].sum()) for row in timed)
        moments = np.flatnonzero(self.full)
        self.window = (int(moments[0]), int(moments[-1]) + 1) if len(moments) else None
        first, last = self.window or (self.span + 1, -1)
        self.inside = [row for row in timed if self.slice(row).start >= first and self.slice(row).stop <= last]
        self.moved = self.moved_inside = None
        if all(map(has_size, usable)):
            self.moved, self.moved_inside = sum(row["bytes"] for row in usable), 0.0
            for row in usable:
                at = self.slice(row)
                shared = max(0, min(at.stop, last) - max(at.start, first))
                self.moved_inside += row["bytes"] * shared / (at.stop - at.start)

    def slice(self, row):
        return slice(row["started_at_ms"] - self.origin, row["finished_at_ms"] - self.origin)

    def figures(self):
        combined = together(self.n, [self])
        for name in ("repeats", "reached_full", "share_of_each_download_at_full"):
            del combined[name]
        if self.window:
            combined["window"] |= {"from_ms": self.window[0], "to_ms": self.window[1]}
        changes = np.flatnonzero(np.diff(self.running)) + 1
        at = [0, *changes.tolist(), self.span]
        heights = [*self.running[at[:-1]].tolist(), 0]
        kept = thinned(at, heights)
        timeline = {"at_ms": [at[i] for i in kept], "running": [heights[i] for i in kept]}
        timeline |= {"steps": len(at), "thinned": len(kept) < len(at)}
        return combined | {"n": self.n, "started_at_ms": self.origin, "timeline": timeline}


def thinned(at, heights):
    """Indices kept of a step function: everything up to 400, else each of 199 stretches' lowest and highest step."""
    if len(at) <= 400:
        return list(range(len(at)))
    kept, stretches = {0, len(at) - 1}, [[] for _ in range(199)]
    for i, time in enumerate(at):
        stretches[min(198, time * 199 // at[-1])].append((heights[i], i))
    for stretch in filter(None, stretches):
        kept |= {min(stretch)[1], max(stretch, key=lambda step: (step[0], -step[1]))[1]}
    return sorted(kept)


def together(n, repeats):
    if not repeats:
        return None
    reached = [repeat for repeat in repeats if repeat.window]
    span = sum(repeat.span for repeat in repeats)
    spent = sum(repeat.of_downloads for repeat in repeats)
    shares = [share for repeat in repeats for share in repeat.shares]
    window, length = None, sum(repeat.window[1] - repeat.window[0] for repeat in reached)
    if reached:
        busy = sum(int(repeat.running[slice(*repeat.window)].sum()) for repeat in reached)
        speed = megabits([repeat.moved_inside for repeat in reached], length)
        window = {"length_ms": length, "mean_at_once": busy / length, "mbit_per_s": speed}
    spread = None
    if shares:
        points = np.percentile(shares, [0, 25, 50, 75, 100])
        spread = dict(zip(("min", "p25", "median", "p75", "max"), points, strict=True))
        spread |= {"count": len(shares), "mean": np.mean(shares), "entirely": sum(share == 1 for share in shares)}
    return {
        "repeats": len(repeats),
        "reached_full": len(reached),
        "attempts": sum(repeat.attempts for repeat in repeats),
        "left_out": sum(repeat.left_out for repeat in repeats),
        "span_ms": span,
        "most_at_once": max(int(repeat.running.max()) for repeat in repeats),
        "mean_at_once": sum(int(repeat.running.sum()) for repeat in repeats) / span,
        "at_full_ms": sum(int(repeat.full.sum()) for repeat in repeats),
        "share_of_span_at_full": sum(int(repeat.full.sum()) for repeat in repeats) / span,
        "share_of_download_time_at_full": sum(repeat.at_full for repeat in repeats) / spent if spent else None,
        "share_of_download_time_nearly_full": sum(repeat.nearly_full for repeat in repeats) / spent if spent else None,
        "share_of_each_download_at_full": spread,
        "time_to_full_ms": median(repeat.window[0] for repeat in reached) if reached else None,
        "ramp": Text,
        "window": window,
        "mbit_per_s": megabits([repeat.moved for repeat in repeats], span),
    }


def megabits(sizes, milliseconds):
    return None if None in sizes else sum(sizes) * 8 / 1e6 / (milliseconds / 1000)
