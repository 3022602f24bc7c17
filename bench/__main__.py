"""`python -m bench` (`make bench`) measures against peers on loopback, into results/bench.json."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bench import aa, copies, downloads, express, flood, function, insights, simulate
from bench.ratios import MOST_SHARE, STAT, Compared, Entry, Measurement, measure, save
from bench.servers import HOST, RAM_FOLDER
from stampede.errors import FixableError, RunError
from stampede.phrases import significant
from stampede.progress import say
from stampede.tables import print_rows

OUTPUT = Path("results/bench.json")
CPU_PER_GIB = partial(Compared, "client_cpu_s", "CPU-s/GiB")
SECONDS = partial(Compared, "seconds", "s")
CPU_PER_CALL = partial(Compared, "cpu_ms_per_call", "CPU-ms/call")
OBJECTS_PER_S = Compared("objects_per_s", "objects/s", 10, more_is_better=True)
COPIES_PER_S = partial(Compared, "copies_per_s", "copies/s", more_is_better=True)
ADDED = Compared("added_us", "us", 1)
PAGES = Compared("of_pages", "of pages", 1, more_is_better=True)
MEASUREMENTS = (
    Measurement(
        {"download_stream_cpu": CPU_PER_GIB(7)},
        partial(downloads.large, "stream", "discard", downloads.download_file),
    ),
    Measurement(
        {"download_ranges_cpu": CPU_PER_GIB(1), "download_ranges_wall": SECONDS(1)},
        partial(downloads.large, "ranges", "tmp", downloads.download_file),
    ),
    Measurement(
        {"download_crt_cpu": CPU_PER_GIB(1), "download_crt_wall": SECONDS(1)},
        partial(downloads.large, "crt", "tmp", downloads.download_file),
    ),
    Measurement(
        {
            "download_go_ranges_wall": SECONDS(1.05),
            "download_go_ranges_cpu": Compared("cpu_s", "CPU-s/GiB", 1.05),
        },
        partial(downloads.large, "go_ranges", "tmp", downloads.s5cmd, RANGE_PART_MB="32"),
    ),
    Measurement(
        {
            "filesystem_small_cpu": Compared("client_cpu_s", "CPU-s", 1),
            "filesystem_small_wall": SECONDS(1),
        },
        downloads.small,
    ),
    Measurement(
        {"express_up": OBJECTS_PER_S}, partial(express.moving, "put", "upload", express.put_loop)
    ),
    Measurement(
        {"express_down": OBJECTS_PER_S},
        partial(express.moving, "get", "download", express.get_loop),
    ),
    Measurement({"copy_cpu": CPU_PER_CALL(12)}, partial(copies.costs, copies.copy_by_boto3)),
    Measurement(
        {"copy_cpu_s5cmd": CPU_PER_CALL(7)},
        partial(copies.costs, copies.copy_by_s5cmd, copies.S5CMD_LINE),
    ),
    Measurement({"copy_adaptive_rate": COPIES_PER_S(0.95)}, partial(copies.adaptive, 1), 3),
    Measurement(
        {"copy_adaptive_slow": Compared("of_limit", "of the limit", 0.95, more_is_better=True)},
        copies.adaptive_slow,
        1,
    ),
    Measurement({"copy_fair": COPIES_PER_S(0.75)}, partial(copies.adaptive, 3), 3),
    Measurement(
        {"flood_latency_15ms": Compared("messages_per_s", "messages/s", 10, more_is_better=True)},
        flood.latency_15ms,
    ),
    Measurement({"function_proxy": ADDED}, partial(function.proxy, is_python=False)),
    Measurement({"function_proxy_python": ADDED}, partial(function.proxy, is_python=True)),
    Measurement({"insights_summary_1m": SECONDS(15)}, partial(insights.summary, "lines")),
    Measurement({"insights_summary_1m_parquet": SECONDS(40)}, partial(insights.summary, "columns")),
    Measurement({"report_1m": SECONDS(1)}, insights.whole_report),
    Measurement({"simulate_10k": SECONDS(5)}, simulate.against_simpy, 3),
    *(
        Measurement({name: PAGES}, partial(aa.pages_without_a_claim, name), 1)
        for name in aa.ENTRIES
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen measurements, write the results and print a table.

    Returns the exit status: 0, 1 or 130.
    """
    chosen, every = _read_options(arguments)
    stay_on_loopback()
    # an exit that stops the servers
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        _measure(chosen.only or every, chosen.runs)
    except (FixableError, OSError) as error:
        say(f"bench: {error}", style="red")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted; the servers are stopped and finished results are kept")
        return 130
    return 0


def _read_options(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the names of all entries."""
    every = [name for measurement in MEASUREMENTS for name in measurement.entries]
    parser = argparse.ArgumentParser("python -m bench", description=__doc__, allow_abbrev=False)
    only = f"measure only this entry; may be repeated (default: all: {', '.join(every)})"
    runs = "runs of each side (default: %(default)s)"
    parser.add_argument("--only", metavar="ENTRY", action="append", choices=every, help=only)
    parser.add_argument(
        "--runs", metavar="N", type=int, choices=range(1, 101), default=5, help=runs
    )
    return parser.parse_args(arguments), every


def stay_on_loopback() -> None:
    """Ignore this shell's AWS account and proxies: all servers of measurements are on 127.0.0.1."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), HOST)))


def _measure(names: Sequence[str], runs: int) -> None:
    for needed in (STAT, RAM_FOLDER):
        if not needed.exists():
            raise RunError(f"there is no {needed}", "run the benchmarks on Linux")
    rows = []
    for measurement in MEASUREMENTS:
        wanted = {name: compared for name, compared in measurement.entries.items() if name in names}
        if not wanted:
            continue
        say(f"{', '.join(wanted)}:")
        for entry in measure(measurement, runs):
            if entry.name in wanted:
                save(OUTPUT, entry)  # at once: later measurements may fail
                rows.append(_row(entry, wanted[entry.name].goal))
    print_rows(rows, "table")
    print("medians of alternating runs; ratio above 1: ours is better; others: CPU of other work")
    python = f"Python {platform.python_version()}, boto3 {version('boto3')}"
    print(f"{platform.platform()}, {os.cpu_count()} cores, {python}")
    say(f"results: {OUTPUT}")


def _row(entry: Entry, goal: float) -> dict[str, object]:
    busy = ", too busy to count" if entry.others_share > MOST_SHARE else ""
    missed = ", missed" if entry.ratio < goal else ""
    return {
        "name": entry.name,
        "ours": significant(entry.ours),
        "peer": significant(entry.peer),
        "unit": entry.unit,
        "ratio": f"{entry.ratio:.2f} x",
        "goal": f"{goal:g}{missed}",
        "others": f"{entry.others_share:.0%}{busy}",
        "runs": entry.runs,
    }


if __name__ == "__main__":
    sys.exit(main())
