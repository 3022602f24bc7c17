"""The Go program's parallel ranges to a file against s5cmd: 1 GiB from versitygw to a RAM-backed folder, on loopback.

Every run is a child process of its own, measured whole.
"""

from __future__ import annotations

import functools
from functools import partial

from bench import clients, download, rounds, tools
from bench.download import Side
from bench.measure import Entry

SECONDS_A_ROUND = 2


def ranges(name: str, figure: str, unit: str, tls: bool, runs: int) -> tuple[Entry, str]:
    """Ours against s5cmd: seconds of the whole process (`wall_s`), or its user and system CPU (`cpu_s`).

    With `tls` over HTTPS, with a local certificate that both verify.
    """
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


ENTRIES = {
    "download_go_ranges_wall": partial(ranges, "download_go_ranges_wall", "wall_s", "s", False),
    "download_go_ranges_cpu": partial(ranges, "download_go_ranges_cpu", "cpu_s", "CPU-s/GiB", False),
    "download_go_ranges_cpu_https": partial(ranges, "download_go_ranges_cpu_https", "cpu_s", "CPU-s/GiB", True),
}
