"""How many functions really ran at once: an exact sweep line over the start and end of every record.

Intervals are half-open, [start, end): one that ends in the millisecond in which another starts doesn't
overlap it. Times come from the sandboxes' own clocks in whole milliseconds; on AWS those clocks differ by a
little, so a single count above N at a hand-over is possible.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise


@dataclass(frozen=True)
class Overlap:
    """The achieved overlap of one cell. The window runs from the first start to the last end."""

    most_at_once: int
    at_full_ms: int
    window_ms: int
    mean_at_once: float

    @property
    def share_at_full(self) -> float:
        """Share (0 to 1) of the window in which at least N ran."""
        return self.at_full_ms / self.window_ms if self.window_ms else 0.0


def timeline(intervals_ms: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Steps (time in ms, number running from then on), ascending, ending with a 0.

    `intervals_ms` are (start, end) pairs; one with end <= start covers no time and is left out.
    """
    changes: list[tuple[int, int]] = []
    for start, end in intervals_ms:
        if end > start:
            changes += [(start, 1), (end, -1)]
    changes.sort()
    steps: list[tuple[int, int]] = []
    running = 0
    for at_ms, group in groupby(changes, key=lambda change: change[0]):
        running += sum(delta for _, delta in group)
        if not steps or steps[-1][1] != running:
            steps.append((at_ms, running))
    return steps


def achieved(intervals_ms: Iterable[tuple[int, int]], n: int) -> Overlap | None:
    """The overlap that `intervals_ms` (start, end) reached of the `n` that were meant; None without any."""
    steps = timeline(intervals_ms)
    if not steps:
        return None
    at_full_ms = busy_ms = 0
    for (from_ms, running), (to_ms, _) in pairwise(steps):
        busy_ms += running * (to_ms - from_ms)
        if running >= n:
            at_full_ms += to_ms - from_ms
    window_ms = steps[-1][0] - steps[0][0]
    return Overlap(
        most_at_once=max(running for _, running in steps),
        at_full_ms=at_full_ms,
        window_ms=window_ms,
        mean_at_once=busy_ms / window_ms,
    )
