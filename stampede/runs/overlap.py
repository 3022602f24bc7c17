"""How many functions really ran at once: an exact sweep line over the start and end of every record.

Intervals are half-open, [start, end): one that ends in the millisecond in which another starts doesn't
overlap it. Times come from the sandboxes' own clocks in whole milliseconds; on AWS those clocks differ by a
little, so a single count above N at a hand-over is possible.
"""

import numpy as np


def timeline(starts_ms: np.ndarray, ends_ms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps, ascending: the times in ms, and the number running from each of them on; the last is a 0.

    An interval with its end at its start or before covers no time and is left out.
    """
    lasting = ends_ms > starts_ms
    changes = np.concatenate([starts_ms[lasting], ends_ms[lasting]])
    order = np.argsort(changes, kind="stable")
    at, first = np.unique(changes[order], return_index=True)
    if not len(at):
        return at, at
    began = np.where(order < lasting.sum(), 1, -1)
    by = np.add.reduceat(began, first)
    return at[by != 0], np.cumsum(by)[by != 0]
