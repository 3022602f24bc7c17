"""What the records say about each cell: spread, achieved overlap, size and speed. Nothing here reads the
query.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from report.overlap import Overlap, achieved
from report.run import LARGEST_WHOLE, Key, Run, record_key
from report.spread import Spread, spread

BITS_PER_MEGABIT = 1_000_000


def spreads(run: Run) -> dict[Key, Spread]:
    """Figures of each cell, counted from the records alone."""
    return {key: spread(r["download_time_seconds"] for r in group) for key, group in by_cell(run.downloads).items()}


def overlaps(run: Run) -> dict[Key, Overlap]:
    """Achieved overlap of each cell. A failed download occupied its function too, so errors count."""
    result = {}
    for key, group in by_cell(run.downloads + run.errors).items():
        times = [(r.get("started_at_ms"), r.get("finished_at_ms")) for r in group]
        overlap = achieved([pair for pair in times if all(type(at) is int for at in pair)], key[1])
        if overlap is not None:
            result[key] = overlap
    return result


def mean_bytes(run: Run) -> dict[Key, float]:
    """Mean size in bytes of what was downloaded, by cell; a cell with a record that lacks it is left out."""
    result = {}
    for key, group in by_cell(run.downloads).items():
        sizes = [r.get("bytes") for r in group]
        if all(map(is_size, sizes)):
            result[key] = sum(sizes) / len(sizes)
    return result


def is_size(value: object) -> bool:
    """Whether `value` can be a number of bytes."""
    return type(value) is int and 0 <= value < LARGEST_WHOLE


def by_cell(records: Iterable[Mapping[str, Any]]) -> dict[Key, list[Mapping[str, Any]]]:
    """Records by (memory in MB, concurrency), sorted by it."""
    groups: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        key = record_key(record)
        if key is not None:
            groups.setdefault(key, []).append(record)
    return dict(sorted(groups.items()))


def rate(size_bytes: float | None, seconds: float | None) -> float | None:
    """Mbit/s (1 Mbit = 1,000,000 bits); None when either is unknown or no time passed."""
    return size_bytes * 8 / BITS_PER_MEGABIT / seconds if size_bytes is not None and seconds else None
