"""1,000 objects of 10 to 100 KB from versitygw on loopback: the Go program's `get-many` against 30 threads of boto3."""

from __future__ import annotations

import functools

from bench import clients, download, rounds, tools
from bench.download import Side
from bench.measure import Entry
from bench.small_set import LARGEST_BYTES, OBJECTS, SMALLEST_BYTES, small_set

SECONDS_A_ROUND = 6


def cpu(runs: int) -> tuple[Entry, str]:
    """CPU seconds of the whole client process."""
    return _entry("small_objects_cpu", runs, "cpu_s", "CPU-s")


def wall(runs: int) -> tuple[Entry, str]:
    """Wall time of the whole client process, Python's start and imports included."""
    return _entry("small_objects_wall", runs, "wall_s", "s")


def _entry(name: str, runs: int, figure: str, unit: str) -> tuple[Entry, str]:
    ours, peer = _measured(runs)
    setting = (
        f"{OBJECTS:,} objects of {SMALLEST_BYTES // 1000} to {LARGEST_BYTES // 1000} KB from versitygw "
        f"{tools.VERSITYGW.version} over http on loopback to files, all in memory; {rounds.sentence(ours)}; "
        f"{rounds.sentence(peer)}"
    )
    return rounds.entry(name, ours, peer, figure, unit), setting


@functools.cache  # both entries come from the same runs
def _measured(runs: int) -> tuple[Side, Side]:
    with download.gateway() as made:
        small = small_set()
        small.put(made)
        sides = clients.go_many(made, small), clients.download_file_many(made, small)
        rounds.in_turn(sides, runs, SECONDS_A_ROUND)
    return sides
