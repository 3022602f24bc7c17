"""`python -m bench` (`make bench`): measures against peers on loopback and writes results/bench.json."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import (
    aa,
    copies,
    copy_memory,
    copy_rate,
    download,
    express,
    filesystem,
    flood,
    go_download,
    insights,
    machine,
    report,
    session,
    simulate,
    small_objects,
)
from bench.measure import Entry, save
from bench.other_work import Watch
from bench.table import print_entries
from stampede.progress import say

OUTPUT = Path("results/bench.json")
_AGAINST_DOWNLOAD_FILE = {
    name: download.against_download_file(name, method, sink, figure, tls=name.endswith("_https"))
    for name, method, sink, figure in (
        ("download_stream_cpu", "stream", "discard", "cpu_s"),
        ("download_stream_cpu_https", "stream", "discard", "cpu_s"),
        ("download_ranges_cpu", "ranges", "tmp", "cpu_s"),
        ("download_ranges_wall", "ranges", "tmp", "seconds"),
        ("download_crt_cpu", "crt", "tmp", "cpu_s"),
        ("download_crt_wall", "crt", "tmp", "seconds"),
    )
}
# Each measurement takes the number of runs and gives its entry and a line about its servers.
ENTRIES: dict[str, Callable[[int], tuple[Entry, str]]] = {
    **_AGAINST_DOWNLOAD_FILE,
    "download_stream_wall": download.stream_wall,
    "download_go_ranges_wall": go_download.ranges_wall,
    "download_go_ranges_cpu": go_download.ranges_cpu,
    "download_go_ranges_cpu_https": go_download.ranges_cpu_https,
    "small_objects_cpu": small_objects.cpu,
    "small_objects_wall": small_objects.wall,
    "express_up": express.up,
    "express_down": express.down,
    "express_cpu": express.cpu,
    "express_up_s5cmd": express.up_s5cmd,
    "express_down_s5cmd": express.down_s5cmd,
    "filesystem_small_cpu": filesystem.small_cpu,
    "filesystem_small_wall": filesystem.small_wall,
    "filesystem_tree_wall": filesystem.tree_wall,
    "copy_cpu": copies.cpu,
    "copy_cpu_s5cmd": copies.cpu_s5cmd,
    "copy_cpu_aws_cli": copies.cpu_aws_cli,
    "copy_parallel_100": copies.parallel_100,
    "copy_adaptive_rate": copy_rate.adaptive,
    "copy_adaptive_rate_versitygw": copy_rate.adaptive_versitygw,
    "copy_adaptive_slow": copy_rate.adaptive_slow,
    "copy_fair": copy_rate.fair,
    "copy_memory": copy_memory.memory,
    flood.NAME: flood.latency_15ms,
    flood.NAME_LOOPBACK: flood.loopback,
    insights.NAME: insights.summary_1m,
    insights.NAME_PARQUET: insights.summary_1m_parquet,
    report.NAME: report.report_1m,
    simulate.NAME: simulate.against_simpy,
    simulate.NAME_MEMORY: simulate.memory,
    **aa.ENTRIES,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen measurements, print the table, write the results; returns the exit status."""
    chosen = session.parser("python -m bench", __doc__, ENTRIES, "entry", OUTPUT).parse_args(arguments)
    names = list(dict.fromkeys(chosen.only)) or list(ENTRIES)
    return session.guarded(lambda: _measure(names, chosen.runs, chosen.output))


def _measure(names: Sequence[str], runs: int, output: Path) -> None:
    entries, notes = [], []
    gives = machine.prologue()
    for name in names:
        watch = Watch()
        entry, setting = ENTRIES[name](runs)
        entry = replace(entry, others_share=watch.share())
        save(output, [entry])  # at once: what comes after may fail
        entries.append(entry)
        notes.append(f"{name}: {setting}")
    command = "python -m bench " + shlex.join([part for name in names for part in ("--only", name)])
    notes += [f"machine: {machine.describe()}", gives, f"command: {command} --runs {runs}"]
    print_entries(entries, notes)
    say(f"results: {output}")


if __name__ == "__main__":
    sys.exit(main())
