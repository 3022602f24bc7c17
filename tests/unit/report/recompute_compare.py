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
    """Stands for an interval {"low", "high"} with `value` in it; `with_value` when it stands beside its bounds."""

    def __init__(self, value, with_value=False):
        self.value, self.with_value = value, with_value

    def faults(self, path, stated):
        if not isinstance(stated, dict) or set(stated) != {"low", "high"} | ({"value"} if self.with_value else set()):
            yield f"{path}: {stated} is not an interval"
            return
        if self.with_value:
            yield from compare(f"{path}.value", self.value, stated["value"])
        slack = 1e-9 * max(1, abs(self.value))
        if not stated["low"] - slack <= self.value <= stated["high"] + slack:
            yield f"{path}: {stated['low']} to {stated['high']} isn't around {self.value}"


def compare(path, expected, stated, siblings=None):
    """One line for each difference; every key has to be on both sides."""
    if hasattr(expected, "faults"):
        yield from expected.faults(path, stated)
    elif expected is Anything:
        return
    elif expected is Text:
        if not isinstance(stated, str) or not stated.strip():
            yield f"{path}: {stated!r} is no text"
    elif expected is WhyNull:
        missing = {name for name, value in (siblings or {}).items() if value is None}
        if set(stated) != missing or not all(stated.values()):
            yield f"{path}: reasons for {sorted(stated)}, but null are {sorted(missing)}"
    elif isinstance(expected, dict) and isinstance(stated, dict):
        for name in expected.keys() | stated.keys():
            if name not in expected or name not in stated:
                yield f"{path}.{name}: {'missing' if name in expected else 'not recomputed'}"
            else:
                yield from compare(f"{path}.{name}", expected[name], stated[name], stated)
    elif isinstance(expected, list) and isinstance(stated, list):
        if len(expected) != len(stated):
            yield f"{path}: {len(stated)} items, recomputed {len(expected)}"
        for number, pair in enumerate(zip(expected, stated, strict=False)):
            yield from compare(f"{path}[{number}]", *pair)
    elif not same(expected, stated):
        yield f"{path}: {stated!r}, recomputed {expected!r}"


def same(expected, stated):
    if isinstance(expected, float | np.floating) and type(stated) in (int, float):
        return math.isclose(expected, stated, rel_tol=1e-9, abs_tol=1e-12)
    if type(expected) is int and type(stated) is float:  # a number all the same: 200.0 ms is 200 ms
        return expected == stated
    return type(expected) is type(stated) and expected == stated
