"""How what the recomputation expects and what the report states are compared."""

import math

import numpy as np


class Anything:
    """Stands for what is tested elsewhere."""


class Text:
    """Stands for any text that isn't empty."""


class WhyNull:
    """Stands for a mapping with a reason for exactly those neighbours that are null."""


class Around:
    """Stands for an interval {"low", "high"} with `value` in it; `told` when the value stands beside its bounds."""

    def __init__(self, value, told=False):
        self.value, self.shown_axes = value, told

    def faults(self, path, found):
        if not isinstance(found, dict) or set(found) != {"low", "high"} | ({"value"} if self.shown_axes else set()):
            yield f"{path}: {found} is not an interval"
            return
        if self.shown_axes:
            yield from compare(f"{path}.value", self.value, found["value"])
        slack = 1e-9 * max(1, abs(self.value))
        if not found["low"] - slack <= self.value <= found["high"] + slack:
            yield f"{path}: {found['low']} to {found['high']} isn't around {self.value}"


def compare(path, expected, found, siblings=None):
    """One line for each difference; every key has to be on both sides."""
    if hasattr(expected, "faults"):
        yield from expected.faults(path, found)
    elif expected is Anything:
        return
    elif expected is Text:
        if not isinstance(found, str) or not found.strip():
            yield f"{path}: {found!r} is no text"
    elif expected is WhyNull:
        missing = {name for name, value in (siblings or {}).items() if value is None}
        if set(found) != missing or not all(found.values()):
            yield f"{path}: reasons for {sorted(found)}, but null are {sorted(missing)}"
    elif isinstance(expected, dict) and isinstance(found, dict):
        for name in expected.keys() | found.keys():
            if name not in expected or name not in found:
                yield f"{path}.{name}: {'missing' if name in expected else 'not recomputed'}"
            else:
                yield from compare(f"{path}.{name}", expected[name], found[name], found)
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path}: {len(found)} items, recomputed {len(expected)}"
        for number, pair in enumerate(zip(expected, found, strict=False)):
            yield from compare(f"{path}[{number}]", *pair)
    elif not same(expected, found):
        yield f"{path}: {found!r}, recomputed {expected!r}"


def same(expected, found):
    if isinstance(expected, float | np.floating) and type(found) in (int, float):
        return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12)
    if type(expected) is int and type(found) is float:  # a number all the same: 200.0 ms is 200 ms
        return expected == found
    return type(expected) is type(found) and expected == found
