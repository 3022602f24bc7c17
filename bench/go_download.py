"""The Go program's parallel ranges to a file against s5cmd: 1 GiB from versitygw to a RAM-backed folder, on loopback.

Every run is a child process of its own, measured whole.
"""

from __future__ import annotations

import functools

from bench import clients, download, rounds, tools
from bench.download import Side
from bench.measure import Entry

SECONDS_A_ROUND = 2


def ranges_wall(runs: int) -> tuple[Entry, str]:
    """Ours against s5cmd: seconds from the start of the process to its end."""
    return _entry("download_go_ranges_wall", runs, "wall_s", "s")


def ranges_cpu(runs: int) -> tuple[Entry, str]:
    """Ours against s5cmd: user and system CPU of the whole process."""
    return _entry("download_go_ranges_cpu", runs, "cpu_s", "CPU-s/GiB")


def ranges_cpu_https(runs: int) -> tuple[Entry, str]:
    """The same over HTTPS, with a local certificate that both verify."""
    return _entry("download_go_ranges_cpu_https", runs, "cpu_s", "CPU-s/GiB", tls=True)


def _entry(name: str, runs: int, figure: str, unit: str, *, tls: bool = False) -> tuple[Entry, str]:
    ours, peer = _measured(runs, tls)
    server = f"{download.OBJECT_MB} MiB from versitygw {tools.VERSITYGW.version} over http{'s' * tls} on loopback"
    setting = f"{server} to a file, all in memory; {rounds.sentence(ours)}; {rounds.sentence(peer)}"
    return rounds.entry(name, ours, peer, figure, unit), setting


@functools.cache  # both entries over http come from the same runs
def _measured(runs: int, tls: bool) -> tuple[Side, Side]:
    with download.gateway(tls=tls) as made:
        download.put_object(made)
        sides = clients.go(made, "ranges", "tmp"), clients.s5cmd(made)
        rounds.in_turn(sides, runs, SECONDS_A_ROUND)
    return sides
