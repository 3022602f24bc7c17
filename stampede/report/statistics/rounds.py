"""Samples whose unit is the round of a sweep, or its repeat: what drifts between these is in their intervals.

The messages of a cell's round ran within moments and share whatever drifts, and the cells of one stack ran in the same
rounds. So a resample draws whole rounds (the cluster bootstrap: Davison and Hinkley, "Bootstrap Methods and their
Application", 1997, section 3.8), and the same ones for all cells of a stack: a ratio of two is one of pairs, from which
the drift that they share is gone. Where there are as many repeats as that takes, it draws whole repeats: each has an
apply of its own, and cells of other stacks have those in common with none.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from stampede.report.columns import UNKNOWN
from stampede.report.run import ROUND_BITS
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.rules import MINIMUM_ROUNDS, RESAMPLES

# Counts held at a time, as in `bootstrap`.
_AT_ONCE = 1 << 20
_ROUND = (1 << ROUND_BITS) - 1


# The names of the stacks that cells ran on, and the last round of each.
Blocks = Sequence[tuple[str, int]]


def sample(units: np.ndarray, blocks: Blocks, values: np.ndarray, label: str) -> Sample:
    """A sample of `values`, one a record: of rounds or repeats where they come from enough of them, else of single
    values."""
    if len(units) and units.min() != UNKNOWN and len(np.unique(units)) >= MINIMUM_ROUNDS:
        return RoundSample(values, label, units, blocks)
    return Sample(values, label)


class RoundSample(Sample):
    """Values with the number of the round of each (`unit` of records). `salt` tells the draws of two runs apart, whose
    rounds have the same names."""

    def __init__(self, values: np.ndarray, label: str, units: np.ndarray, blocks: Blocks, salt: str = "") -> None:
        super().__init__(values, label)
        self._units, self._blocks, self._salt = units[np.argsort(values, kind="stable")], blocks, salt
        # One stack for each repeat.
        self._is_of_repeats = len(np.unique(units >> ROUND_BITS)) >= MINIMUM_ROUNDS
        drawn = (self._units & ~_ROUND) + 1 if self._is_of_repeats else self._units
        self._own, self._at = np.unique(drawn, return_inverse=True)

    @property
    def size(self) -> int:
        return len(self._own)

    @property
    def rounds(self) -> int:
        """In how many rounds the values were measured, those of all repeats."""
        return len(np.unique(self._units))

    def drawn_apart(self, label: str) -> "RoundSample":
        return RoundSample(self.values, label, self._units, self._blocks, salt=label)

    @cached_property
    def draws(self) -> np.ndarray:
        """How often each resample, a row, has each of the rounds or repeats. One that has none of them, because all
        that it drew are such as only other cells of the stack have, has each once."""
        blocks, rounds = self._own >> ROUND_BITS, self._own & _ROUND
        family = []
        for block in np.unique(blocks).tolist():
            name, last = self._blocks[block]
            family.append((name, 1 if self._is_of_repeats else last, block))
        family.sort()
        drawn = _drawn(tuple((label, count) for label, count, _ in family), self._salt)
        # The column of the first round of each block.
        first, column = {}, 0
        for _, count, block in family:
            first[block], column = column, column + count
        own = drawn[
            :, [first[block] + number - 1 for block, number in zip(blocks.tolist(), rounds.tolist(), strict=True)]
        ]
        own[own.sum(axis=1) == 0] = 1
        return own

    @cached_property
    def means(self) -> np.ndarray:
        sums, counts = np.bincount(self._at, self.values), np.bincount(self._at)
        return (self.draws @ sums) / (self.draws @ counts)

    def quantiles(self, share: float) -> np.ndarray:
        below, above, part = self._ranked(share)
        return below + part * (above - below)

    def ranks(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        below, above, _ = self._ranked(share)
        return below, above

    def _ranked(self, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values of the two ranks between which the quantile at `share` of each resample lies, and how far from the
        first."""
        below, above, part = np.empty((3, RESAMPLES))
        rows = max(1, _AT_ONCE // len(self.values))
        for start in range(0, RESAMPLES, rows):
            which = slice(start, start + rows)
            until = np.cumsum(self.draws[which][:, self._at], axis=1)
            place = (until[:, -1] - 1) * share
            rank = np.floor(place)
            below[which] = self.values[(until > rank[:, None]).argmax(axis=1)]
            above[which] = self.values[(until > np.minimum(rank + 1, until[:, -1] - 1)[:, None]).argmax(axis=1)]
            part[which] = place - rank
        return below, above, part


def shared(ours: Sample, base: Sample) -> dict[str, int]:
    """What to say of a comparison: in how many `rounds` its cells were interleaved, or 0 where they weren't, but each
    has enough repeats; nothing where what drifted between them is in no interval."""
    if not (isinstance(ours, RoundSample) and isinstance(base, RoundSample)):
        return {}
    both = np.intersect1d(ours._units, base._units)
    # A cell that ran whole has one round in each repeat.
    if len(both) >= MINIMUM_ROUNDS and (both & _ROUND).max() > 1:
        return {"rounds": len(both)}
    return {"rounds": 0} if ours._is_of_repeats and base._is_of_repeats else {}


@lru_cache(maxsize=64)
def _drawn(family: tuple[tuple[str, int], ...], salt: str) -> np.ndarray:
    """How often each resample, a row, has each round of the blocks of `family`, which are named and have so many."""
    seed = hashlib.sha256(f"{salt}\n{family}".encode()).digest()[:16]
    count = sum(rounds for _, rounds in family)
    rng = np.random.default_rng(int.from_bytes(seed, "big"))
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
