"""A step function made short enough for a picture without losing how high or low it went."""

from typing import Any

import numpy as np

LONGEST = 400
# Two points a bucket, and the two ends.
BUCKETS = (LONGEST - 2) // 2


def figures(at_ms: np.ndarray, running: np.ndarray) -> dict[str, Any]:
    """Steps (times in ms, and the number running from each on) as they stand in statistics.json, thinned."""
    kept = thinned(at_ms, running)
    return {
        "at_ms": at_ms[kept].tolist(),
        "running": running[kept].tolist(),
        "steps": len(at_ms),
        "thinned": len(kept) < len(at_ms),
    }


def thinned(at_ms: np.ndarray, running: np.ndarray) -> np.ndarray:
    """The places of at most LONGEST of the steps: all, or the first lowest and first highest in each of BUCKETS equal
    stretches of time, and both ends (after Jugel et al., "M4", VLDB 2014).
    """
    if len(at_ms) <= LONGEST:
        return np.arange(len(at_ms))
    since = at_ms - at_ms[0]
    buckets = np.minimum(since * BUCKETS // since[-1], BUCKETS - 1)
    firsts = np.flatnonzero(np.diff(buckets, prepend=-1))
    kept = {0, len(at_ms) - 1}
    for first, part in zip(firsts.tolist(), np.split(running, firsts[1:]), strict=True):
        kept |= {first + int(part.argmin()), first + int(part.argmax())}
    return np.array(sorted(kept))
