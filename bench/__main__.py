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
    function,
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
# Each measurement takes the number of runs and gives its entry and a line about its servers.
ENTRIES: dict[str, Callable[[int], tuple[Entry, str]]] = {
    **download.ENTRIES,
    **go_download.ENTRIES,
    **small_objects.ENTRIES,
    **express.ENTRIES,
    **filesystem.ENTRIES,
    **copies.ENTRIES,
    **copy_rate.ENTRIES,
    "copy_memory": copy_memory.memory,
    flood.NAME: flood.latency_15ms,
    flood.NAME_LOOPBACK: flood.loopback,
    **function.ENTRIES,
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
