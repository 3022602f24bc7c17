"""`python -m bench` (`make bench`): measures against peers on loopback and writes results/bench.json."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import download, flood, go_download, insights, machine, small_objects
from bench.errors import BenchError
from bench.measure import Entry, save
from bench.table import print_entries
from loader.errors import RunError, UsageError
from loader.progress import say

DEFAULT_RUNS = 5
# Each measurement takes the number of runs and gives its entry and a line about its servers.
ENTRIES: dict[str, Callable[[int], tuple[Entry, str]]] = {
    "download_stream_cpu": download.stream_cpu,
    "download_stream_cpu_https": download.stream_cpu_https,
    "download_stream_wall": download.stream_wall,
    "download_ranges_cpu": download.ranges_cpu,
    "download_ranges_wall": download.ranges_wall,
    "download_go_ranges_wall": go_download.ranges_wall,
    "download_go_ranges_cpu": go_download.ranges_cpu,
    "small_objects_cpu": small_objects.cpu,
    "small_objects_wall": small_objects.wall,
    flood.NAME: flood.latency_15ms,
    insights.NAME: insights.summary_1m,
    insights.NAME_PARQUET: insights.summary_1m_parquet,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen measurements, print the table, write the results; returns the exit status."""
    chosen = _parser().parse_args(arguments)
    _stay_on_loopback()
    signal.signal(signal.SIGTERM, _leave)  # so that the servers are stopped then, too
    try:
        _measure(list(dict.fromkeys(chosen.only)) or list(ENTRIES), chosen.runs, chosen.output)
    except (BenchError, RunError, UsageError) as error:
        say(f"bench: {error}", style="red")
        return 1
    except KeyboardInterrupt:
        say("bench: stopped; the servers are stopped, results of finished entries are kept")
        return 130
    return 0


def _measure(names: Sequence[str], runs: int, output: Path) -> None:
    entries, notes = [], []
    if warning := machine.busy():
        say(f"bench: {warning}", style="yellow")
    for name in names:
        entry, setting = ENTRIES[name](runs)
        save(output, [entry])  # at once: what comes after may fail
        entries.append(entry)
        notes.append(f"{name}: {setting}")
    command = "python -m bench " + shlex.join([part for name in names for part in ("--only", name)])
    notes += [f"machine: {machine.describe()}", f"command: {command} --runs {runs}"]
    print_entries(entries, notes)
    say(f"results: {output}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=ENTRIES,
        default=[],
        help=f"measure only this entry, may be repeated (default: all: {', '.join(ENTRIES)})",
    )
    parser.add_argument(
        "--runs", metavar="N", type=_runs, default=DEFAULT_RUNS, help="runs of each side (default: %(default)s)"
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("results/bench.json"),
        help="the list to write the entries into (default: %(default)s)",
    )
    return parser


def _runs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs; use a whole number from 1 to 100")
    return int(text)


def _stay_on_loopback() -> None:
    """Leave this shell's AWS account and proxies out: every server of a measurement is on 127.0.0.1."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
