"""How much limits slow down the workers that share them, when demand exceeds capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from stampede.model.limits import Limit


class Shared:
    """The limits that an operation uses, as the number of operations that can run at full speed.

    An operation takes `demands` of a limit per second of its own, so running operations progress at
    min(1, min over limits of capacity / (running x demand)): generalised processor sharing in equal
    parts (Kleinrock 1967). All operations are alike, so that is min(1, room / running) with room =
    min(capacity / demand).
    """

    def __init__(self, limits: Sequence[Limit], demands: Mapping[str, float]) -> None:
        """Leave out limits without demand. Raises ValueError for a demand on a missing limit."""
        if missing := set(demands) - {limit.name for limit in limits}:
            raise ValueError(
                f"an operation demands {', '.join(sorted(missing))}, and there is no such limit"
            )
        limits = [limit for limit in limits if demands.get(limit.name, 0) > 0]
        self.names = [limit.name for limit in limits]
        self.at_s = np.unique(
            np.concatenate([[0.0], *(np.asarray(limit.at_s, dtype=float) for limit in limits)])
        )
        rooms = np.empty((len(limits), len(self.at_s)))
        for row, limit in enumerate(limits):
            step = np.searchsorted(limit.at_s, self.at_s, "right") - 1
            rooms[row] = np.asarray(limit.per_s)[step] / demands[limit.name]
        self.rooms = rooms.min(axis=0, initial=math.inf)
        self._tightest = rooms.argmin(axis=0) if limits else np.zeros(len(self.at_s), dtype=int)

    def slows(self, most_running: int) -> bool:
        """Whether `most_running` at once are ever too many."""
        return bool((self.rooms < most_running).any())

    def room(self, at: np.ndarray) -> np.ndarray:
        """How many run at full speed at those times."""
        return self.rooms[self._step(at)]

    def slowed_shares(
        self, at: np.ndarray, running: np.ndarray, busy_s: np.ndarray
    ) -> dict[str, float]:
        """For each limit, the share of all `busy_s` (operation time from each of `at` on) in which
        it slowed all operations."""
        step = self._step(at)
        slowed = np.where(running > self.rooms[step], busy_s, 0.0)
        sums = np.bincount(self._tightest[step], slowed, minlength=len(self.names))
        return {name: float(sums[index] / busy_s.sum()) for index, name in enumerate(self.names)}

    def _step(self, at: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.at_s, at, "right") - 1
