"""Bootstrap intervals of medians and means, and of ratios of two, as many at once as are read
together.

Percentile intervals, deterministic, seeded by the data, with the small-sample correction of T.
Hesterberg, "What Teachers Should Know About the Bootstrap" (The American Statistician 69, 2015,
section 4.2): the levels are widened so that the interval for a mean of normal values is as wide as
Student's.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
# N = 1 sends ten messages by default, so the default matrix is just enough for intervals.
MINIMUM_FOR_INTERVAL = 10
# With rounds as the unit, the interval of five spans all five: nearly the range that holds a median
# with probability 1 - 2^(1 - n), 94 % for five (David, Nagaraja, "Order Statistics", 2003, 7.1).
MINIMUM_ROUNDS = 5
# The mean of this many single values isn't resampled: its distribution is known.
MANY = 2000
# A round is an integer that combines the number of its stack with its own.
ROUND_BITS = 32
# A resample counts every round of a stack: a round 1,000,000 would take minutes and gigabytes.
MOST_ROUNDS = 4096
_ROUND = (1 << ROUND_BITS) - 1
_COUNTS_AT_ONCE = 1 << 20


class Estimate(NamedTuple):
    """A figure with the ends of its interval, which are None if there are too few values."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        return self.low is not None

    @property
    def leaves_1_out(self) -> bool:
        """Whether the interval lies on one side of 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


class Sample:
    """Values, ascending, with the medians and means of RESAMPLES resamples.

    The messages of a round run within moments and share any drift, and the cells of one stack run
    in the same rounds. So with MINIMUM_ROUNDS rounds or more, a resample draws whole rounds (the
    cluster bootstrap: Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section
    3.8), the same ones for all cells of a stack: a ratio of two cells is one of pairs, in which
    shared drift cancels out. With as many repeats it draws whole repeats; with fewer rounds, single
    values.

    `label` seeds the draws of single values, so that two cells with equal values don't share them.
    `rounds` are those of the values: the number of the stack, shifted by ROUND_BITS, plus the
    round's own; `stacks` the name and last round of each stack. `salt` separates the draws of two
    runs.
    """

    def __init__(
        self,
        values: np.ndarray,
        label: str = "",
        rounds: np.ndarray | None = None,
        stacks: Sequence[tuple[str, int]] = (),
        salt: str = "",
    ) -> None:
        order = np.argsort(values, kind="stable")
        self.values = np.asarray(values, dtype="<f8")[order]
        self.label, self._stacks, self._salt = label, stacks, salt
        self.rounds, self.is_of_repeats = None, False
        if rounds is not None and len(rounds) and rounds.min() >= 0:
            own = np.unique(rounds)
            if len(own) >= MINIMUM_ROUNDS:
                self.rounds = rounds[order]
                self.is_of_repeats = len(np.unique(own >> ROUND_BITS)) >= MINIMUM_ROUNDS

    def __len__(self) -> int:
        return len(self.values)

    def salted(self, salt: str) -> Sample:
        """The same values with other draws."""
        return Sample(self.values, self.label + salt, self.rounds, self._stacks, salt)

    @cached_property
    def median(self) -> float:
        """Raises IndexError without any value."""
        return quantile(self.values, 0.5)

    @cached_property
    def mean(self) -> float:
        """Summed exactly. Raises ZeroDivisionError without any value."""
        return math.fsum(self.values.tolist()) / len(self.values)

    @property
    def size(self) -> int:
        """The number of units in a resample: values, rounds or repeats."""
        return len(self.values) if self.rounds is None else len(self._units)

    def median_interval(self, needed: int = MINIMUM_FOR_INTERVAL) -> Estimate | None:
        """The median, with its interval from `needed` values on; None without any value."""
        if not len(self):
            return None
        return self.interval_of_median() if len(self) >= needed else Estimate(self.median)

    def interval_of_median(self) -> Estimate:
        """Needs two values or more."""
        return interval(self.median, self.medians, self.size)

    @cached_property
    def medians(self) -> np.ndarray:
        """The median of each resample."""
        if self.rounds is None:
            return self._medians_of_single()
        medians, draws = np.empty(RESAMPLES), self._draws
        at_once = max(1, _COUNTS_AT_ONCE // len(self.values))
        for start in range(0, RESAMPLES, at_once):
            which = slice(start, start + at_once)
            until = np.cumsum(draws[which][:, self._unit_of_value], axis=1)
            place = (until[:, -1] - 1) / 2
            rank = np.floor(place)
            ranks = (rank, np.ceil(place))
            below, above = (self.values[(until > at[:, None]).argmax(axis=1)] for at in ranks)
            medians[which] = below + (place - rank) * (above - below)
        return medians

    def _medians_of_single(self) -> np.ndarray:
        """A resample takes the value of rank floor(n u) + 1 for n uniform u. Its k-th smallest
        value comes from the k-th smallest u, which is Beta(k, n - k + 1); the next u exceeds it by
        Beta(1, n - k) of the remainder up to 1 (David and Nagaraja, "Order Statistics", 2003,
        section 2.5). So this is exact, and as fast for a million."""
        draw, size = self._generator("quantile 0.5"), len(self.values)
        k = (size - 1) // 2 + 1
        lower = draw.beta(k, size - k + 1, RESAMPLES)
        upper = lower + (1 - lower) * draw.beta(1, size - k, RESAMPLES)
        ranks = (np.minimum((at * size).astype(np.int64), size - 1) for at in (lower, upper))
        below, above = (self.values[at] for at in ranks)
        return below + ((size - 1) / 2 - (k - 1)) * (above - below)

    @cached_property
    def means(self) -> np.ndarray:
        """The mean of each resample. For MANY values it is normal, except for a skewness of theirs
        over the root of their number (Cornish and Fisher's first term; Hall, "The Bootstrap and
        Edgeworth Expansion", 1992, section 2.5); the next term is of order one over their
        number."""
        if self.rounds is not None:
            sums = np.bincount(self._unit_of_value, self.values)
            counts = np.bincount(self._unit_of_value)
            return (self._draws @ sums) / (self._draws @ counts)
        draw, size = self._generator("mean"), len(self.values)
        if size < MANY:
            means = [self.values[draw.integers(size, size=size)].mean() for _ in range(RESAMPLES)]
            return np.array(means)
        normal, deviation = draw.standard_normal(RESAMPLES), self.values.std()
        standard = (self.values - self.mean) / deviation if deviation else np.zeros(size)
        skewness = (standard**3).mean() / math.sqrt(size)
        return self.mean + deviation / math.sqrt(size) * (normal + skewness / 6 * (normal**2 - 1))

    @cached_property
    def _of_units(self) -> tuple[np.ndarray, np.ndarray]:
        """The units to draw from, and the index of each value's unit."""
        drawn = (self.rounds & ~_ROUND) + 1 if self.is_of_repeats else self.rounds
        return np.unique(drawn, return_inverse=True)

    @property
    def _units(self) -> np.ndarray:
        return self._of_units[0]

    @property
    def _unit_of_value(self) -> np.ndarray:
        return self._of_units[1]

    @cached_property
    def _draws(self) -> np.ndarray:
        """How often each resample, a row, draws each of the units."""
        stacks, numbers = self._units >> ROUND_BITS, self._units & _ROUND
        family = sorted((*self._stacks[stack], stack) for stack in np.unique(stacks).tolist())
        lasts = [1 if self.is_of_repeats else last for _, last, _ in family]
        first_columns = dict(
            zip((stack for *_, stack in family), np.cumsum([0, *lasts]).tolist(), strict=False)
        )
        drawn = _drawn(tuple(name for name, *_ in family), sum(lasts), self._salt)
        columns = [
            first_columns[stack] + number - 1 for stack, number in zip(stacks, numbers, strict=True)
        ]
        own = drawn[:, columns]
        # A resample may have drawn only rounds of other cells of the stack.
        own[own.sum(axis=1) == 0] = 1
        return own

    def _generator(self, purpose: str) -> np.random.Generator:
        return _generator(f"{self.label}\n{purpose}\n".encode() + self.values.tobytes())


def _generator(seed: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(seed).digest()[:16], "big"))


@lru_cache(maxsize=64)
def _drawn(stacks: tuple[str, ...], rounds: int, salt: str) -> np.ndarray:
    """How often each resample, a row, draws each of the rounds of these stacks."""
    draw = _generator(f"{salt}\n{stacks}\n{rounds}".encode())
    return draw.multinomial(rounds, np.full(rounds, 1 / rounds), size=RESAMPLES)


def rounds_in_common(subject: Sample, base: Sample) -> int | None:
    """In how many rounds two cells were interleaved, so that the interval of their ratio covers
    drift: 0 if they weren't, but each has enough repeats; None if drift isn't covered."""
    if subject.rounds is None or base.rounds is None:
        return None
    both = np.intersect1d(subject.rounds, base.rounds)
    # A cell that wasn't interleaved has one round per repeat.
    if len(both) >= MINIMUM_ROUNDS and (both & _ROUND).max() > 1:
        return len(both)
    return 0 if subject.is_of_repeats and base.is_of_repeats else None


def quantile(ordered: np.ndarray, share: float) -> float:
    """The quantile at `share` (0 to 1) of ascending values, linear between ranks: type 7 of Hyndman
    and Fan, "Sample quantiles in statistical packages" (1996). Raises IndexError without values."""
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def interval(value: float, resampled: np.ndarray, size: int, *, among: int = 1) -> Estimate:
    """A positive `value` with the interval from its resampled values, of samples of `size` units,
    at least 2; for two samples, the size of the smaller.

    It is one of `among` that hold simultaneously with CONFIDENCE: each holds with 0.95 to the power
    of 1/among (Šidák, "Rectangular confidence regions for the means of multivariate normal
    distributions", JASA 62, 1967). Its ends lie further out on a logarithmic scale, in proportion
    to Student's quantiles: too few resamples lie that far out to read them off.
    """
    tail = tail_probability(size)
    low, high = (float(end) for end in np.quantile(resampled, (tail, 1 - tail)))
    if among > 1 and low > 0:
        levels = (confidence(among), CONFIDENCE)
        each, alone = (student_quantile((1 + level) / 2, size - 1) for level in levels)
        stretch = max(1.0, each / alone)
        low = min(low, value * (low / value) ** stretch)
        high = max(high, value * (high / value) ** stretch)
    return Estimate(value, low, high)


def speed_ratio(subject: Sample, base: Sample, among: int = 1) -> Estimate:
    """How many times as fast the median of `subject` is as that of `base`, both in seconds."""
    size = min(subject.size, base.size)
    return interval(base.median / subject.median, base.medians / subject.medians, size, among=among)


def confidence(among: int) -> float:
    """The level of each of `among` intervals that hold simultaneously with CONFIDENCE."""
    return CONFIDENCE ** (1 / among)


def tail_probability(size: int) -> float:
    """What a 95 % interval leaves out at each end of the bootstrap distribution of `size` values,
    at least 2: Phi(-sqrt(n / (n - 1)) t), with t Student's quantile with n - 1 degrees of freedom;
    0.025 for large samples, 0.0086 for ten."""
    t = student_quantile(1 - (1 - CONFIDENCE) / 2, size - 1)
    return NormalDist().cdf(-math.sqrt(size / (size - 1)) * t)


def student_quantile(share: float, degrees: int) -> float:
    """Student's t at `share` with `degrees` of freedom: the expansion 26.7.5 of Abramowitz and
    Stegun (1964).

    From 9 degrees on its error is below 1e-4 at 0.975, and below 1e-3 for forty simultaneous
    intervals, for which it is below 0.01 from 4 degrees on.
    """
    x = NormalDist().inv_cdf(share)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / degrees**power for power, term in enumerate(terms, start=1))
