"""The limits that all workers share, as declarations; `sharing.py` applies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A limit that all workers share: `name` in words, and its capacity per second from each of the
    times `at_s`.

    The times are seconds from the first message, ascending from 0: a prefix that splits has more
    capacity from then on.
    """

    name: str
    per_s: Sequence[float]
    at_s: Sequence[float] = (0.0,)
