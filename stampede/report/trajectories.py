"""The copy rate over time, from records with a `second:copied:in flight:SlowDowns` per moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.cell import Cell
from stampede.report.run import Run
from stampede.runs import stored_json

# The message of the median operation of each place.
_MEDIANS = """
SELECT place_at, cell, seq FROM operations WHERE is_first_success AND place_at IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY place_at ORDER BY seconds, line)
    = (count(*) OVER (PARTITION BY place_at) + 1) // 2
"""


@dataclass(frozen=True)
class Trajectory:
    """For each moment, in seconds since the first call: objects copied a second, calls in flight,
    and SlowDowns a second since the moment before."""

    cell: Cell
    at_s: np.ndarray
    copied_per_s: np.ndarray
    in_flight: np.ndarray
    slowdowns_per_s: np.ndarray

    @property
    def most_in_flight(self) -> float:
        return float(self.in_flight.max())

    @property
    def most_per_s(self) -> float:
        return float(self.copied_per_s.max())

    @property
    def slow_share(self) -> float:
        """The share of calls that S3 throttled."""
        lengths = np.diff(self.at_s, prepend=0)
        copied = float((self.copied_per_s * lengths).sum())
        slow = float((self.slowdowns_per_s * lengths).sum())
        return slow / (copied + slow) if copied + slow else 0.0


def trajectories(run: Run) -> list[Trajectory]:
    """The trajectory of the median operation of each cell, if it has two moments or more."""
    if not run.experiment.shared_list:
        return []
    wanted = {(cell, seq): run.store.places[at] for at, cell, seq in run.store.rows(_MEDIANS)}
    by_cell: dict[Cell, Trajectory] = {}
    try:
        for _, row in stored_json.rows(run.directory / "records.jsonl", []):
            is_order = isinstance(row.get("cell"), str) and type(row.get("seq")) is int
            cell = None
            if is_order and row.get("status") == "ok":
                cell = wanted.get((row["cell"], row["seq"]))
            points = _points(row) if cell and cell not in by_cell else None
            if cell and points is not None:
                by_cell[cell] = Trajectory(cell, *points.T)
    except (OSError, stored_json.NotAFile):
        return []
    return [by_cell[cell] for cell in sorted(by_cell)]


def _points(row: Mapping[str, Any]) -> np.ndarray | None:
    """None for a text that is invalid or too short to be drawn."""
    text = row.get("trajectory")
    if not isinstance(text, str):
        return None
    try:
        points = np.array([[float(part) for part in point.split(":")] for point in text.split()])
    except ValueError:
        return None
    if points.ndim != 2 or points.shape[1] != 4 or len(points) < 2 or not np.isfinite(points).all():
        return None
    # Moments are whole seconds, but the last may be half a second from the end, which would give it
    # too much weight or none.
    ended_s = row.get("elapsed_seconds")
    if (
        type(ended_s) in (int, float)
        and abs(ended_s - points[-1, 0]) <= 0.5
        and ended_s > points[-2, 0]
    ):
        points[-1, 0] = ended_s
    return points
