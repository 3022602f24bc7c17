"""What the records say about each cell: spread, size, speed and cost to the client. Nothing here reads the query."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from report.run import LARGEST_WHOLE, Run, record_key
from report.spread import Spread, spread
from report.ways import Key

BITS_PER_MEGABIT = 1_000_000
BYTES_PER_GIB = 2**30


def spreads(run: Run) -> dict[Key, Spread]:
    """Figures of each cell, counted from the records alone."""
    return {key: spread(r["download_time_seconds"] for r in group) for key, group in by_cell(run.downloads).items()}


def mean_bytes(run: Run) -> dict[Key, float]:
    """Mean size in bytes of what was downloaded, by cell; a cell with a record that lacks it is left out."""
    result = {}
    for key, group in by_cell(run.downloads).items():
        sizes = [r.get("bytes") for r in group]
        if all(map(is_size, sizes)):
            result[key] = sum(sizes) / len(sizes)
    return result


@dataclass(frozen=True)
class Client:
    """What downloading took of the function besides time; None where a record doesn't say it.

    `mbit_per_s` is mean size over mean time, `cpu_s_per_gib` all CPU seconds of the process over all bytes, `retries`
    and `requests` are sums over the downloads, and `first_byte_s` is the mean wait for the first answer with a body.
    """

    mbit_per_s: float | None
    cpu_s_per_gib: float | None
    first_byte_s: float | None
    retries: int | None
    requests: int | None


def client(downloads: Sequence[Mapping[str, Any]]) -> Client:
    """The figures of these downloads, taken from their records."""
    sizes, times = (_all(downloads, name) for name in ("bytes", "download_time_seconds"))
    cpu, first = (_all(downloads, name) for name in ("client_cpu_seconds", "first_byte_seconds"))
    retries, requests = (_all(downloads, name) for name in ("retries", "requests"))
    total = sum(sizes or ())
    return Client(
        mbit_per_s=rate(total / len(sizes), math.fsum(times) / len(times)) if sizes and times else None,
        cpu_s_per_gib=math.fsum(cpu) / total * BYTES_PER_GIB if cpu and total else None,
        first_byte_s=math.fsum(first) / len(first) if first else None,
        retries=sum(retries) if retries else None,
        requests=sum(requests) if requests else None,
    )


def clients(run: Run) -> dict[Key, Client]:
    """The client's figures of each cell, counted from the records alone."""
    return {key: client(group) for key, group in by_cell(run.downloads).items()}


def _all(downloads: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    """The number `name` of every record; None when one of them lacks it."""
    values = [record.get(name) for record in downloads]
    return values if all(type(value) in (int, float) and 0 <= value < LARGEST_WHOLE for value in values) else None


def is_size(value: object) -> bool:
    """Whether `value` can be a number of bytes."""
    return type(value) is int and 0 <= value < LARGEST_WHOLE


def by_cell(records: Iterable[Mapping[str, Any]]) -> dict[Key, list[Mapping[str, Any]]]:
    """Records by cell, sorted by its key."""
    groups: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        key = record_key(record)
        if key is not None:
            groups.setdefault(key, []).append(record)
    return dict(sorted(groups.items()))


def rate(size_bytes: float | None, seconds: float | None) -> float | None:
    """Mbit/s (1 Mbit = 1,000,000 bits); None when either is unknown or no time passed."""
    return size_bytes * 8 / BITS_PER_MEGABIT / seconds if size_bytes is not None and seconds else None
