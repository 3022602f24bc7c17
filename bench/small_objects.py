"""1,000 objects of 10 to 100 KB from versitygw on loopback: the Go program's `get-many` against 30 threads of boto3."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial

from bench import clients, download, rounds, tools
from bench.download import Gateway, Side
from bench.measure import Entry
from bench.small_set import WORDS, SmallSet, small_set

SECONDS_A_ROUND = 7
Ours = Callable[[Gateway, SmallSet], Side]


def against_boto3(name: str, ours: Ours, figure: str, unit: str, runs: int) -> tuple[Entry, str]:
    """What `ours` makes against 30 threads of `download_file`: `cpu_s` or `wall_s` of the whole process, Python's start
    and imports included. Entries with the same `ours` come from the same runs."""
    mine, peer = _measured(ours, runs)
    setting = (
        f"{WORDS} from versitygw {tools.VERSITYGW.version} over http on loopback to files, all in memory; "
        f"{rounds.sentence(mine)}; {rounds.sentence(peer)}"
    )
    return rounds.entry(name, mine, peer, figure, unit), setting


@functools.cache
def _measured(ours: Ours, runs: int) -> tuple[Side, Side]:
    with download.gateway() as made:
        small = small_set()
        small.put(made)
        sides = ours(made, small), clients.download_file_many(made, small)
        rounds.in_turn(sides, runs, SECONDS_A_ROUND)
    return sides


ENTRIES = {
    "small_objects_cpu": partial(against_boto3, "small_objects_cpu", clients.go_many, "cpu_s", "CPU-s"),
    "small_objects_wall": partial(against_boto3, "small_objects_wall", clients.go_many, "wall_s", "s"),
}
