"""`python -m bench` (`make bench`): measures against peers on loopback and writes results/bench.json."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import aa, copies, download, express, filesystem, flood, function, insights, machine, simulate
from bench.pairs import Measurements, print_entries, save
from stampede.errors import FixableError
from stampede.progress import say

OUTPUT = Path("results/bench.json")
AREAS = (download, filesystem, express, copies, flood, function, insights, simulate, aa)
MEASUREMENTS: Measurements = {names: measure for area in AREAS for names, measure in area.MEASUREMENTS.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen measurements, print the table, write the results; returns the exit status: 0, 1 or 130."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, allow_abbrev=False)
    every = [name for names in MEASUREMENTS for name in names]
    only = f"measure only this entry; may be repeated (default: all: {', '.join(every)})"
    parser.add_argument("--only", metavar="ENTRY", action="append", choices=every, default=[], help=only)
    runs = "runs of each side (default: %(default)s)"
    parser.add_argument("--runs", metavar="N", type=int, choices=range(1, 101), default=5, help=runs)
    output = "the JSON list to write the results into (default: %(default)s)"
    parser.add_argument("--output", metavar="FILE", type=Path, default=OUTPUT, help=output)
    chosen = parser.parse_args(arguments)
    return guarded(lambda: _measure(chosen.only or every, chosen.runs, chosen.output))


def guarded(measure: Callable[[], None]) -> int:
    """Call `measure` without this shell's AWS account and proxies; returns the exit status: 0, 1 (failed) or 130."""
    stay_on_loopback()
    signal.signal(signal.SIGTERM, _leave)  # so that the servers are stopped then, too
    try:
        measure()
    except FixableError as error:
        say(f"bench: {error}", style="red")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted; the servers are stopped and finished results are kept")
        return 130
    return 0


def stay_on_loopback() -> None:
    """Leave this shell's AWS account and proxies out: every server of a measurement is on 127.0.0.1."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))


def _measure(chosen: Sequence[str], runs: int, output: Path) -> None:
    measured, notes = [], []
    for names, measure in MEASUREMENTS.items():
        wanted = [name for name in names if name in chosen]
        if not wanted:
            continue
        say(f"{', '.join(wanted)}: {runs} runs")
        watch = machine.Watch()
        entries, setting = measure(runs)
        share = watch.share()
        for entry in entries:
            if entry.name in wanted:
                measured.append(replace(entry, others_share=share))
                save(output, measured[-1])  # at once: what comes after may fail
        notes.append(f"{', '.join(wanted)}: {setting}")
    command = "python -m bench " + shlex.join([part for entry in measured for part in ("--only", entry.name)])
    notes += [f"machine: {machine.describe()}", f"command: {command} --runs {runs}"]
    print_entries(measured, notes)
    say(f"results: {output}")


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
