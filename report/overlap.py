"""How many functions really ran at once: an exact sweep line over the start and end of every record.

Intervals are half-open, [start, end): one that ends in the millisecond in which another starts doesn't
overlap it. Times come from the sandboxes' own clocks in whole milliseconds; on AWS those clocks differ by a
little, so a single count above N at a hand-over is possible.
"""

from collections.abc import Iterable
from itertools import groupby


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
