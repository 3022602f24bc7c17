"""The limits that all workers share, as declarations: by how much they slow the workers is in `sharing.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Limit:
    """What all workers share: `name` in words for people, and its capacity a second from each of the times `at_s`.

    The times are seconds from the first message, ascending from 0: a prefix that splits has more from then on.
    """

    name: str
    per_s: Sequence[float]
    at_s: Sequence[float] = (0.0,)

    def __post_init__(self) -> None:
        if len(self.per_s) != len(self.at_s) or not len(self.per_s) or not all(capacity > 0 for capacity in self.per_s):
            raise ValueError(f"{self.name}: a capacity must be above 0, one from each of its times; got {self}")
        if self.at_s[0] != 0 or any(later <= earlier for earlier, later in pairwise(self.at_s)):
            raise ValueError(f"{self.name}: the times of a capacity must ascend from 0; got {self.at_s}")
