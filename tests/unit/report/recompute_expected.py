"""What the recomputation expects of a number it can't know exactly, and how expected and found are compared."""

import math
from statistics import NormalDist

import numpy as np

RESAMPLES = 3000
THEIR_RESAMPLES = 2000


class Text:
    """Stands for any text that isn't empty."""


class WhyNull:
    """Stands for a mapping with a reason for exactly those neighbours that are null."""


class Interval:
    """Stands for {"low", "high"} at the right levels of `resampled`, statistics of samples of `size` values."""

    def __init__(self, resampled, size, value=None, above=None):
        self.resampled, self.value = resampled, value
        self.above = resampled if above is None else above
        self.tail = NormalDist().cdf(-math.sqrt(size / (size - 1)) * student(0.975, size - 1))

    def faults(self, path, found):
        keys = {"low", "high"} | ({"value"} if self.value is not None else set())
        if not isinstance(found, dict) or set(found) != keys:
            yield f"{path}: {found} is not an interval"
            return
        if self.value is not None:
            yield from compare(f"{path}.value", self.value, found["value"])
        for name, level, resampled in (("low", self.tail, self.resampled), ("high", 1 - self.tail, self.above)):
            # Five standard errors of both bootstraps together.
            reach = 5 * math.sqrt(level * (1 - level) * (1 / RESAMPLES + 1 / THEIR_RESAMPLES))
            least, most = np.quantile(resampled, [max(0, level - reach), min(1, level + reach)])
            slack = 1e-9 * max(abs(least), abs(most))
            if not least - slack <= found[name] <= most + slack:
                yield f"{path}.{name}: {found[name]}, recomputed between {least} and {most}"


class Inverse:
    """Stands for the interval of a speed: `factor` divided by the bounds of another interval, swapped."""

    def __init__(self, factor, interval):
        self.factor, self.interval = factor, interval

    def faults(self, path, found):
        if not isinstance(found, dict):
            yield f"{path}: {found} is not an interval"
            return
        turned = {"low": self.factor / found["high"], "high": self.factor / found["low"]}
        yield from self.interval.faults(path, turned)


def student(share, degrees):
    """Student's quantile by bisection over the integrated density (Simpson, 0 to t)."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def below(t, steps=2000):
        x = np.linspace(0, t, steps + 1)
        y = scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2)
        return 0.5 + t / steps / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())

    low, high = 0.0, 50.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return low


class Resampler:
    """Resamples each set of values once, whole, and keeps what was asked of it."""

    def __init__(self):
        self.rng = np.random.default_rng(20260101)
        self.known = {}

    def __call__(self, name, statistic, values):
        key = (name, statistic)
        if key not in self.known:
            values, results = np.array(values), []
            for start in range(0, RESAMPLES, 100):
                size = (min(100, RESAMPLES - start), len(values))
                drawn = values[self.rng.integers(0, len(values), size)]
                if statistic == "mean":
                    results.append(drawn.mean(axis=1))
                elif statistic in ("below p99", "above p99"):
                    rank = math.floor(0.99 * (len(values) - 1)) + (statistic == "above p99")
                    results.append(np.sort(drawn, axis=1)[:, rank])
                else:
                    results.append(np.quantile(drawn, statistic, axis=1))
            self.known[key] = np.concatenate(results)
        return self.known[key]


def compare(path, expected, found, siblings=None):
    """One line for each difference; every key has to be on both sides."""
    if hasattr(expected, "faults"):
        yield from expected.faults(path, found)
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
