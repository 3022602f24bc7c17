"""How the rate went over time in one representative operation of each cell: the text `trajectory` of its record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.cell import Cell
from stampede.report.columns import Columns, count
from stampede.report.run import Run
from stampede.report.statistics.selection import cells
from stampede.runs import stored_json

# The climb to a limit isn't the limit: a rate is counted from here on too.
SETTLED_S = 10


@dataclass(frozen=True)
class Trajectory:
    """Seconds since the first call, and since the moment before: copied a second, calls in flight, SlowDowns a second.

    `seq` is the message whose record it is, `slowdowns` those of the whole operation.
    """

    key: Cell
    seq: int | None
    pace: str
    at_s: np.ndarray
    copied_per_s: np.ndarray
    in_flight: np.ndarray
    slowdowns_per_s: np.ndarray

    @property
    def slowdowns(self) -> float:
        """How many calls were throttled."""
        return float((self.slowdowns_per_s * self._lengths()).sum())

    def rate_from(self, from_s: float) -> tuple[float, float] | None:
        """Copied a second from `from_s` on, and the share of calls throttled; None where too little is left."""
        lengths = np.where(self.at_s > from_s, self._lengths(), 0)
        took_s = float(lengths.sum())
        if took_s < 1:
            return None
        copied, slow = (float((per_s * lengths).sum()) for per_s in (self.copied_per_s, self.slowdowns_per_s))
        return copied / took_s, slow / (copied + slow) if copied + slow else 0.0

    def _lengths(self) -> np.ndarray:
        return np.diff(self.at_s, prepend=0)


def trajectories(run: Run) -> list[Trajectory]:
    """That of the median operation of each cell, of those that have two moments or more; by key."""
    wanted = {
        run.store.rows("SELECT message FROM operations WHERE line = ?", _median_line(cell.whole))[0][0]: cell.key
        for cell in cells(run)
        if count(cell.whole)
    }
    by_key: dict[Cell, Trajectory] = {}
    try:
        for _, row in stored_json.rows(run.directory / "records.jsonl", []) if wanted else ():
            is_order = isinstance(row.get("cell"), str) and type(row.get("seq")) is int
            message = f"{row['seq']} of {row['cell']}" if is_order else str(row.get("message_id"))
            key = wanted.get(message) if row.get("status") == "ok" else None
            if key is not None and key not in by_key and (trajectory := _parsed(key, row)):
                by_key[key] = trajectory
    except OSError:
        return []
    return [by_key[key] for key in sorted(by_key)]


def _median_line(whole: Columns) -> int:
    order = np.argsort(whole["seconds"], kind="stable")
    return int(whole["line"][order[(len(order) - 1) // 2]])


def _parsed(key: Cell, row: Mapping[str, Any]) -> Trajectory | None:
    """None where its text isn't one, or too short to be drawn."""
    text = row.get("trajectory")
    if not isinstance(text, str):
        return None
    try:
        points = np.array([[float(part) for part in point.split(":")] for point in text.split()])
    except ValueError:
        return None
    if points.ndim != 2 or points.shape[1] != 4 or len(points) < 2 or not np.isfinite(points).all():
        return None
    # Moments are whole seconds, and the last may lie half of one beside the end: it would weigh too much, or nothing.
    ended_s = row.get("elapsed_seconds")
    if type(ended_s) in (int, float) and abs(ended_s - points[-1, 0]) <= 0.5 and ended_s > points[-2, 0]:
        points[-1, 0] = ended_s
    seq = row.get("seq")  # a message that isn't a work order has none
    return Trajectory(key, seq if type(seq) is int else None, str(row.get("pace")), *points.T)
