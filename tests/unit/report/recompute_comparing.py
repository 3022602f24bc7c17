"""Cells against each other, counted pair by pair and from whole resamples."""

import math
from statistics import NormalDist

import numpy as np
from recompute_expected import Interval, Text


class Comparing:
    """The expected comparisons and verdict for `cells`, records by (memory, N, method, sink)."""

    def __init__(self, cells, resample, stated):
        self.cells, self.resample, self.stated = cells, resample, stated

    def comparisons(self, cells):
        by_n, by_memory = [], []
        stated = self.stated["comparisons"]
        for key in cells:
            alike = [other for other in cells if other[2:] == key[2:]]
            base = (key[0], min(n for memory, n, *_ in alike if memory == key[0]), *key[2:])
            if base != key:
                at = len(by_n)
                by_n.append(self.compared(key, base, stated["against_smallest_n"][at]) | scaling(cells, key, base))
            base = (min(memory for memory, n, *_ in alike if n == key[1]), *key[1:])
            if base != key:
                by_memory.append(self.compared(key, base, stated["between_memories"][len(by_memory)]))
        return {"against_smallest_n": by_n, "between_memories": by_memory}

    def compared(self, key, base, stated):
        sizes = {row.get("bytes") for one in (key, base) for row in self.cells[one].downloads}
        same_size = len(sizes) == 1 and all(type(size) is int for size in sizes)
        return {
            **place(key),
            "base": place(base),
            "all": self.effect((key, "all"), (base, "all"), same_size, stated["all"]),
            "inside_window": self.effect((key, "inside"), (base, "inside"), same_size, stated["inside_window"]),
        }

    def effect(self, ours, base, same_size, stated):
        x, y = (
            [
                row["download_time_seconds"]
                for row in (self.cells[key].downloads if which == "all" else self.cells[key].inside)
            ]
            for key, which in (ours, base)
        )
        size = min(len(x), len(y))
        if size < 10 or min(x + y) < 1e-9:
            nothing = dict.fromkeys(("ratio_of_medians", "ratio_of_means", "cliffs_delta"))
            counts = {"count": len(x), "base_count": len(y)}
            return counts | nothing | {"level": "cant_tell", "why": Text, "words": Text}
        ratios = {
            name: Interval(self.resample(ours, what, x) / self.resample(base, what, y), size, point(x) / point(y))
            for name, what, point in (("ratio_of_medians", 0.5, np.median), ("ratio_of_means", "mean", np.mean))
        }
        return {
            "count": len(x),
            "base_count": len(y),
            **ratios,
            "cliffs_delta": cliffs_delta(np.array(x), np.array(y)),
            "level": level(stated["ratio_of_medians"]) if same_size else "cant_tell",
            "why": None if same_size else Text,
            "words": Text,
        }

    def verdict(self, against):
        per_memory = []
        for memory, method, sink in sorted({(key[0], *key[2:]) for key in self.cells}):
            shared = {"memory_size_mb": memory, "method": method, "sink": sink}
            mine = [one for one in against if shared.items() <= one.items()]
            levels = [(one["concurrency"], one["all"]["level"]) for one in mine]
            held = None
            for n, what in levels:
                if what != "holds":
                    break
                held = n
            what = levels[-1][1] if levels else "cant_tell"
            per_memory.append(shared | {"level": what, "words": Text, "holds_up_to": held})
        levels = sorted({one["level"] for one in per_memory} or {"cant_tell"})
        caveats = [Text] * len(self.stated["verdict"]["caveats"])
        return {
            "level": levels[0] if len(levels) == 1 else "mixed",
            "headline": Text,
            "per_memory": per_memory,
            "reached": Text,
            "caveats": caveats,
        }


def place(key):
    return dict(zip(("memory_size_mb", "concurrency", "method", "sink"), key, strict=True))


def scaling(cells, key, base):
    result = {}
    for name, window in (("throughput", False), ("throughput_in_window", True)):
        parts = [cells[one]["parallelism"] or {} for one in (key, base)]
        ours, theirs = (((part.get("window") or {}) if window else part).get("mbit_per_s") for part in parts)
        ideal = None if theirs is None else theirs * key[1] / base[1]
        share = ours / ideal if ours is not None and ideal else None
        result[name] = {"mbit_per_s": ours, "ideal_mbit_per_s": ideal, "share_of_ideal": share}
    return result


def cliffs_delta(x, y):
    """Pair by pair; interval by Feng and Cliff (2004)."""
    n, m, z = len(x), len(y), NormalDist().inv_cdf(0.975)
    signs = np.sign(x[:, None] - y[None, :]).astype(np.int8)
    d = signs.mean()
    if abs(d) == 1:
        inner = d * (min(n, m) - z**2) / (min(n, m) + z**2)
        return {"value": d, "low": min(d, inner), "high": max(d, inner)}
    rows = ((signs.mean(axis=1) - d) ** 2).sum()
    columns = ((signs.mean(axis=0) - d) ** 2).sum()
    single = sum(float(((row - d) ** 2).sum()) for row in signs)
    variance = (m**2 * rows + n**2 * columns - single) / (m * n * (m - 1) * (n - 1))
    variance = max(variance, (1 - d**2) / (m * n - 1))
    root = z * math.sqrt(variance * ((1 - d**2) ** 2 + z**2 * variance))
    below = 1 - d**2 + z**2 * variance
    return {"value": d, "low": (d - d**3 - root) / below, "high": (d - d**3 + root) / below}


def level(ratio):
    if ratio["low"] >= 0.9 and ratio["high"] <= 1.1:
        return "holds"
    return "slower" if ratio["low"] > 1.1 else "faster" if ratio["high"] < 0.9 else "unclear"
