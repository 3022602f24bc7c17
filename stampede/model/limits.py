"""The limits that all workers share, as declarations: by how much they slow the workers is in
`sharing.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """What all workers share: `name` in words for people, and its capacity a second from each of
    the times `at_s`.

    The times are seconds from the first message, ascending from 0: a prefix that splits has more
    from then on.
    """

    name: str
    per_s: Sequence[float]
    at_s: Sequence[float] = (0.0,)
