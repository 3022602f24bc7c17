"""Cells against each other: each N against the smallest with the same memory, each memory against the smallest at the
same N; only cells of one way to download.
"""

import math
from collections.abc import Sequence
from typing import Any

from report.statistics import rules
from report.statistics.cell_figures import Measured
from report.statistics.effect import effect
from report.ways import Key, as_figures


def comparisons(cells: Sequence[Measured]) -> dict[str, list[dict[str, Any]]]:
    """Both kinds of comparison, sorted by key. The base is the smallest planned or seen, even when it has no
    downloads: another one in its place would answer another question.
    """
    by_key = {cell.key: cell for cell in cells}
    by_n, by_memory = [], []
    for key in sorted(by_key):
        alike = [other for other in by_key if other.way == key.way]
        base = min(other for other in alike if other.memory_mb == key.memory_mb)
        if base != key:
            by_n.append(_against_smallest_n(by_key[key], by_key[base]))
        base = min(other for other in alike if other.n == key.n)
        if base != key:
            by_memory.append(_compared(by_key[key], by_key[base]))
    return {"against_smallest_n": by_n, "between_memories": by_memory}


def _against_smallest_n(cell: Measured, base: Measured) -> dict[str, Any]:
    ours, theirs = cell.figures["parallelism"], base.figures["parallelism"]
    factor = cell.key.n / base.key.n
    return _compared(cell, base) | {
        "throughput": _throughput(_speed(ours), _speed(theirs), factor),
        "throughput_in_window": _throughput(
            _speed(ours and ours["window"]), _speed(theirs and theirs["window"]), factor
        ),
    }


def _compared(cell: Measured, base: Measured) -> dict[str, Any]:
    same_size = cell.object_bytes is not None and cell.object_bytes == base.object_bytes
    words = _Words(cell.key, base.key)
    result: dict[str, Any] = as_figures(cell.key) | {"base": as_figures(base.key)}
    for name in ("all", "inside_window"):
        attribute = "everything" if name == "all" else "inside"
        found = effect(getattr(cell, attribute), getattr(base, attribute))
        if found["why"] is None and not same_size:
            found |= {"level": "cant_tell", "why": "the objects differ in size, or their size isn't known"}
        result[name] = found | {"words": words.sentence(found)}
    return result


def _speed(part: dict[str, Any] | None) -> float | None:
    return part["mbit_per_s"] if part else None


def _throughput(ours: float | None, base: float | None, factor: float) -> dict[str, float | None]:
    """Aggregate Mbit/s against N / base N times the base's."""
    ideal = base * factor if base is not None else None
    return {
        "mbit_per_s": ours,
        "ideal_mbit_per_s": ideal,
        "share_of_ideal": ours / ideal if ours is not None and ideal else None,
    }


class _Words:
    """Sentences about one cell against its base."""

    def __init__(self, key: Key, base: Key) -> None:
        same_memory = key.memory_mb == base.memory_mb
        self._ours = f"N = {key.n}" if same_memory else f"{key.memory_mb} MB"
        self._base = f"N = {base.n}" if same_memory else f"{base.memory_mb} MB"
        self._at = "At " if same_memory else f"At N = {key.n}, with "
        self._link = "at" if same_memory else "with"
        self._conclusion = conclusion if same_memory else between_memories

    def sentence(self, found: dict[str, Any]) -> str:
        """The effect in one sentence."""
        if found["level"] == "cant_tell":
            return f"{self._at}{self._ours}: can’t tell against {self._base}; {found['why']}."
        took = took_words(found["ratio_of_medians"])
        return (
            f"{self._at}{self._ours} the median download took {took} as long as {self._link} {self._base}: "
            f"{self._conclusion(found)}."
        )


def took_words(ratio: dict[str, float]) -> str:
    """The interval of a ratio for reading, rounded outwards: `1.02 to 1.05 ×`."""
    digits = 2 if ratio["high"] < 10 else 1
    low, high = _down(ratio["low"], digits), _up(ratio["high"], digits)
    return f"{low} ×" if low == high else f"{low} to {high} ×"


def conclusion(found: dict[str, Any]) -> str:
    """What the level of an effect means for the throughput of one function."""
    ratio = found["ratio_of_medians"]
    low, high = 1 / ratio["high"], 1 / ratio["low"]
    if found["level"] == "holds":
        return f"throughput per function holds, within {_within()}"
    if found["level"] == "slower":
        return f"throughput per function falls to {_about(low, high)}{share_words(low, high)}"
    if found["level"] == "faster":
        return f"throughput per function rises to {share_words(low, high)}"
    return _unclear(ratio, "whether throughput per function holds")


def between_memories(found: dict[str, Any]) -> str:
    """What the level of an effect says of memory."""
    if found["level"] == "holds":
        return f"no difference beyond {_within()}"
    if found["level"] in ("slower", "faster"):
        return f"more memory, {found['level']} downloads"
    return _unclear(found["ratio_of_medians"], "whether memory matters")


def _unclear(ratio: dict[str, float], whether: str) -> str:
    within = _within()
    if ratio["low"] > 1:
        return f"slower, but can’t tell whether by more than {within}"
    if ratio["high"] < 1:
        return f"faster, but can’t tell whether by more than {within}"
    return f"can’t tell {whether}, within {within}"


def _within() -> str:
    return f"{rules.HOLDS_WITHIN:.0%}".replace("%", " %")


def share_words(low: float, high: float) -> str:
    """Shares (1 = all) for reading, rounded outwards: `32 to 35 %`."""
    digits = 0 if low >= 0.1 else 1
    least, most = _down(100 * low, digits), _up(100 * high, digits)
    return f"{least} %" if least == most else f"{least} to {most} %"


def _about(low: float, high: float) -> str:
    """`about a third, ` when a simple fraction lies in the interval, and the interval is narrow enough for it."""
    for share, words in ((3 / 4, "three quarters"), (2 / 3, "two thirds"), (1 / 2, "half"), (1 / 3, "a third"),
                         (1 / 4, "a quarter"), (1 / 5, "a fifth"), (1 / 10, "a tenth")):  # fmt: skip
        if low <= share * 1.02 and high >= share * 0.98 and high <= 1.15 * low:
            return f"about {words}, "
    return ""


def _down(value: float, digits: int) -> str:
    # A hair of tolerance: 1.1 must not become 1.09 because it is 1.0999999999999999.
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def _up(value: float, digits: int) -> str:
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:.{digits}f}"
