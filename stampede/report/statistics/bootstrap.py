"""Bootstrap intervals: deterministic, seeded by the data, and honest with few values.

Percentile intervals with the small-sample correction of T. Hesterberg, "What Teachers Should Know About the
Bootstrap" (The American Statistician 69, 2015, section 4.2): the levels are widened so that for a mean of normal
values the interval is as wide as Student's.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from stampede.report.statistics.rules import CONFIDENCE, RESAMPLES
from stampede.runs.spread import quantile

# Indices drawn at a time: few enough for the processor's cache and for 512 MB of memory, whatever the sample's size.
_DRAWN_AT_ONCE = 1 << 20
# From so many values on, the distribution of their resampled mean is known well enough without drawing any.
MANY = 2000


class Sample:
    """Values with the means and medians of RESAMPLES resamples, drawn once and used for everything asked.

    `label` tells apart samples that may hold equal values: two cells must not share their random numbers, or the
    difference between them would look certain.
    """

    def __init__(self, values: np.ndarray, label: str) -> None:
        self.values = np.sort(np.asarray(values, dtype="<f8"))
        self._label = label

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """Of how many units a resample is drawn: here of the values themselves."""
        return len(self.values)

    def drawn_apart(self, label: str) -> "Sample":
        """The same values with other resamples."""
        return Sample(self.values, label)

    @cached_property
    def median(self) -> float:
        """That of the values themselves. Raises IndexError without any."""
        return quantile(self.values.tolist(), 0.5)

    @cached_property
    def means(self) -> np.ndarray:
        """The mean of each resample. Of MANY values it is normal but for a skewness that is theirs over the root of
        their number (Cornish and Fisher's first term; Hall, "The Bootstrap and Edgeworth Expansion", 1992, section
        2.5): the next term is of the order of one over their number."""
        rng, size = self._generator("mean"), len(self.values)
        if size >= MANY:
            normal, mean, deviation = rng.standard_normal(RESAMPLES), self.values.mean(), self.values.std()
            skewness = (((self.values - mean) / deviation) ** 3).mean() / math.sqrt(size) if deviation else 0.0
            return mean + deviation / math.sqrt(size) * (normal + skewness / 6 * (normal**2 - 1))
        means = np.empty(RESAMPLES)
        rows = max(1, _DRAWN_AT_ONCE // size)
        for start in range(0, RESAMPLES, rows):
            stop = min(start + rows, RESAMPLES)
            means[start:stop] = self.values[rng.integers(size, size=(stop - start, size), dtype=np.int32)].mean(axis=1)
        return means

    @cached_property
    def medians(self) -> np.ndarray:
        """The median of each resample."""
        return self.quantiles(0.5)

    def quantiles(self, share: float) -> np.ndarray:
        """The type 7 quantile at `share` (0 to 1, less than 1) of each resample."""
        below, above = self.ranks(share)
        position = (len(self.values) - 1) * share
        return below + (position - math.floor(position)) * (above - below)

    def ranks(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """The values of the two ranks between which the quantile at `share` (less than 1) of each resample lies; when
        it falls on a rank, that one and the next. Whole resamples aren't drawn for it.

        A resample takes the value of rank floor(n u) + 1 for n uniform u. Its k-th smallest comes from the k-th
        smallest u, which is Beta(k, n - k + 1), and the next u lies above it by Beta(1, n - k) of what is left up
        to 1 (David and Nagaraja, "Order Statistics", 2003, section 2.5). So this is exact, and as fast for a
        million values.
        """
        rng, size = self._generator(f"quantile {share}"), len(self.values)
        k = math.floor((size - 1) * share) + 1
        uniform = rng.beta(k, size - k + 1, RESAMPLES)
        below = self._at(uniform)
        if k == size:
            return below, below
        return below, self._at(uniform + (1 - uniform) * rng.beta(1, size - k, RESAMPLES))

    def _at(self, uniform: np.ndarray) -> np.ndarray:
        last = len(self.values) - 1
        return self.values[np.minimum((uniform * len(self.values)).astype(np.int64), last)]

    def _generator(self, purpose: str) -> np.random.Generator:
        text = f"{self._label}\n{purpose}\n".encode() + self.values.tobytes()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text).digest()[:16], "big"))


@dataclass(frozen=True)
class Resampled:
    """A figure, and its value in every resample."""

    value: float
    values: np.ndarray

    def over(self, other: "Resampled") -> "Resampled":
        """The ratio of both."""
        return Resampled(self.value / other.value, self.values / other.values)

    def less(self, other: "Resampled") -> "Resampled":
        """The difference of both."""
        return Resampled(self.value - other.value, self.values - other.values)


def interval(resampled: np.ndarray, size: int, above: np.ndarray | None = None) -> dict[str, float]:
    """{"low", "high"}: the 95 % interval from the resampled statistics of samples of `size` values (>= 2).

    With two samples, `size` is that of the smaller one, which gives the wider interval. `above` gives the upper bound
    where it isn't the same statistic, as for `Sample.ranks`.
    """
    tail = tail_probability(size)
    low = np.quantile(resampled, tail)
    high = np.quantile(resampled if above is None else above, 1 - tail)
    return {"low": float(low), "high": float(high)}


def tail_probability(size: int) -> float:
    """What a 95 % interval leaves out on each side of the bootstrap distribution of `size` values (>= 2).

    Phi(-sqrt(n / (n - 1)) t), t being Student's quantile with n - 1 degrees of freedom (Hesterberg 2015): 0.025 for
    large samples, 0.0086 for ten.
    """
    t = student_quantile(1 - (1 - CONFIDENCE) / 2, size - 1)
    return NormalDist().cdf(-math.sqrt(size / (size - 1)) * t)


def student_quantile(share: float, degrees: int) -> float:
    """Student's t at `share` with `degrees` of freedom: the expansion 26.7.5 of Abramowitz and Stegun (1964).

    From 9 degrees on it is right to 1e-4 at 0.975 and to 1e-3 for forty intervals that hold together; for those from 4
    degrees, to a hundredth.
    """
    x = NormalDist().inv_cdf(share)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / degrees**power for power, term in enumerate(terms, start=1))
