"""`python -m bench.copy_memory`: peak memory of `transfer copy` for manifests of 10 thousand to 10 million objects.

Before the front as a store of keys alone, without a limit: 10 million copies take about half an hour on two cores, and
the store about 2 GiB. `make bench` stops at a million.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import copy_clients, download, machine, session
from bench.errors import BenchError
from bench.front import front
from bench.measure import Entry, Samples
from stampede.cli.arguments import positive_int
from stampede.progress import say
from stampede.tables import print_rows

SMALL, LARGE, LARGEST = 10_000, 1_000_000, 10_000_000
PARALLEL_LIMIT = 100
LONGEST_S = 3600


def memory(runs: int) -> tuple[Entry, str]:
    """Peak MiB at a million objects against that at 10 thousand; one run of each, whatever `runs` says."""
    small, large = copied(SMALL), copied(LARGE)
    setting = f"{LARGE:,} objects against {SMALL:,} against the front as a store of keys; {large['wall_s']:,.0f} s"
    samples = Samples((large["peak_mb"],), (small["peak_mb"],))
    return samples.entry("copy_memory", "MiB", higher_is_better=False), setting


def copied(count: int) -> dict[str, float]:
    """Copy so many objects; returns the record, with wall_s and peak_mb of the process. Raises BenchError."""
    say(f"copying {count:,} objects")
    with front() as store, download.place(store.url) as made:
        copy_clients.put_master(made)
        prefix = copy_clients.new_prefix()
        with copy_clients.manifest(made, prefix, count) as rows:
            record = copy_clients.record(made, prefix, rows, PARALLEL_LIMIT, timeout_s=LONGEST_S)
    if record["copied"] != count:
        raise BenchError(f"{record['copied']} of {count} objects were copied: this run can't be compared")
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.copy_memory", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--objects",
        metavar="N",
        type=positive_int,
        action="append",
        help=f"measure this number of objects; may be repeated (default: {SMALL}, {LARGE}, {LARGEST})",
    )
    chosen = parser.parse_args(arguments)
    return session.guarded(lambda: _measure(chosen.objects or (SMALL, LARGE, LARGEST)))


def _measure(counts: Sequence[int]) -> None:
    names = {"peak MiB": "peak_mb", "CPU-s": "cpu_s", "wall s": "wall_s", "copies/s": "calls_per_s"}
    rows = []
    for count in counts:
        record = copied(count)
        rows.append({"objects": f"{count:,}", **{head: f"{record[name]:,.1f}" for head, name in names.items()}})
    print_rows(rows, "table")
    print(f"machine: {machine.describe()}")


if __name__ == "__main__":
    sys.exit(main())
