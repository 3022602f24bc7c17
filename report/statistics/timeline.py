"""A step function made short enough for a picture without losing how high or low it went."""

from collections.abc import Sequence
from typing import Any

LONGEST = 400
# Two points a bucket, and the two ends.
BUCKETS = (LONGEST - 2) // 2


def figures(steps: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """`steps` (time in ms, number running from then on) as it stands in statistics.json: two columns, thinned."""
    kept = thinned(steps)
    return {
        "at_ms": [at for at, _ in kept],
        "running": [running for _, running in kept],
        "steps": len(steps),
        "thinned": len(kept) < len(steps),
    }


def thinned(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most LONGEST of `steps`: all, or the first lowest and first highest in each of BUCKETS equal stretches of
    time, and both ends (after Jugel et al., "M4", VLDB 2014).
    """
    if len(steps) <= LONGEST:
        return list(steps)
    start, length = steps[0][0], steps[-1][0] - steps[0][0]
    buckets: dict[int, list[int]] = {}
    for index, (at, _) in enumerate(steps):
        buckets.setdefault(min((at - start) * BUCKETS // length, BUCKETS - 1), []).append(index)
    kept = {0, len(steps) - 1}
    for indices in buckets.values():
        kept |= {min(indices, key=lambda i: steps[i][1]), max(indices, key=lambda i: steps[i][1])}
    return [steps[index] for index in sorted(kept)]
