"""`insights_summary_1m`: the download summary over 1,000,000 exported records, ours against plain Python.

`insights_summary_1m_parquet` is the same query over a run that has the same lines and the columns that `stampede drain`
writes of them, asked as `stampede query --run` does, against the same peer. Every run is a process of its own, so that
compiling the query and opening the database count, and so that peaks of memory are those of one run; the time is taken
inside, without starting Python and importing modules.
"""

from __future__ import annotations

import json
import math
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.child import RSS_UNIT_BYTES
from bench.errors import BenchError
from bench.measure import Entry, alternate
from bench.process import output_of
from stampede.progress import say

NAME = "insights_summary_1m"
NAME_PARQUET = "insights_summary_1m_parquet"
RECORDS = 1_000_000
SEED = 20250112
FIRST_MS = 1_736_700_000_000
QUERY = Path(__file__).resolve().parent.parent / "queries" / "download" / "summary.cwli"
TIMEOUT_S = 600
_CELLS = [(memory_mb, concurrency) for memory_mb in (1024, 2048) for concurrency in (1, 5, 10, 50, 100, 500)]
_BATCH = 10_000
_LATER_COMPILES = 9

Row = tuple[float, ...]  # memory_size_mb, concurrency, count, min_s, p25_s, avg_s, p75_s, max_s


def summary_1m(runs: int) -> tuple[Entry, str]:
    """Measure both sides in turn over JSON lines; gives the entry (s) and a line about them. Raises BenchError."""
    with _events() as logs:
        return _measured(NAME, logs, runs)


def summary_1m_parquet(runs: int) -> tuple[Entry, str]:
    """Measure ours over a run with columns and the peer over its JSON lines, in turn. Raises BenchError."""
    with _events() as logs:
        report = in_child("store", logs)
        if not report["rows"]:
            raise BenchError("the columns weren't stored")
        say(f"{NAME_PARQUET}: stored in {report['seconds']:.1f} s, peak {report['peak_mb']:,.0f} MiB", style="dim")
        return _measured(NAME_PARQUET, logs, runs, ours="of_run")


def write_events(path: Path, records: int, seed: int = SEED) -> None:
    """Write `records` successful downloads of the published cells as JSON lines, the same for the same seed."""
    draw = random.Random(seed)
    with path.open("w") as file:
        for first in range(0, records, _BATCH):
            last = min(first + _BATCH, records)
            file.write("".join(_line(seq, draw) for seq in range(first, last)))


def ours(logs: Path) -> list[Row]:
    """The summary by the evaluator."""
    from stampede.insights import evaluate

    return [tuple(row.values()) for row in evaluate(QUERY.read_text(), logs).rows]


def plain_python(logs: Path) -> list[Row]:
    """The summary as a script without dependencies computes it: json.loads, then the statistics of each cell."""
    times: dict[tuple[int, int], list[float]] = {}
    with logs.open() as file:
        for line in file:
            message = json.loads(line)["message"]
            if not message.startswith("{"):
                continue
            record = json.loads(message)
            seconds = record.get("download_time_seconds")
            if seconds is not None and record.get("status") == "ok" and record.get("warm_up") == 0:
                times.setdefault((record["memory_size"], record["concurrency_limit"]), []).append(seconds)
    rows = []
    for cell, seconds in sorted(times.items()):
        seconds.sort()
        low, high = (_percentile(seconds, percent) for percent in (25, 75))
        rows.append((*cell, len(seconds), seconds[0], low, statistics.fmean(seconds), high, seconds[-1]))
    return rows


def _percentile(ordered: list[float], percent: int) -> float:
    """As the service has it: the nearest rank, from 100 distinct values on the lower edge of its bin."""
    value = ordered[max(1, -(-percent * len(ordered) // 100)) - 1]
    return value if len(set(ordered)) < 100 else 1.001 ** math.floor(math.log(value) / math.log(1.001))


def stored(logs: Path) -> list[Row]:
    """Stores the lines of a run as columns, as a drain does; gives how large they are (bytes), or nothing."""
    from stampede.insights import log_columns
    from stampede.runs.folder import RunFolder

    log_columns.store(RunFolder(logs.parent), at_end=True)
    columns = log_columns.stored(logs)
    return [(columns.stat().st_size,)] if columns is not None else []


def of_run(logs: Path) -> list[Row]:
    """The summary over the stored lines of a run, or its columns, as `stampede query --run` asks it."""
    from stampede.insights.backends import Local

    return [tuple(row.values()) for row in Local.of_run(logs).ask(QUERY.read_text()).rows]


def compiled(logs: Path) -> list[Row]:
    """Compiles the query without looking at the events: how long it takes at first and later (ms)."""
    from stampede.insights import check

    text, times_ms = QUERY.read_text(), []
    for _ in range(1 + _LATER_COMPILES):
        started = time.perf_counter()
        check(text)
        times_ms.append((time.perf_counter() - started) * 1000)
    return [(times_ms[0], statistics.median(times_ms[1:]))]


def reported(run: Path) -> list[Row]:
    """Builds the report of a stored run; no rows."""
    from stampede import report

    report.build(run)
    return []


SIDES = {"ours": ours, "of_run": of_run, "peer": plain_python, "store": stored, "compile": compiled, "report": reported}


def _line(seq: int, draw: random.Random) -> str:
    memory_mb, concurrency = _CELLS[seq % len(_CELLS)]
    seconds = draw.lognormvariate(2.5, 0.1)
    started_ms = FIRST_MS + seq
    finished_ms = started_ms + int(seconds * 1000)
    message = (
        f'{{"concurrency_limit": {concurrency}, "download_time_seconds": {seconds:.9f}, "memory_size": {memory_mb}, '
        f'"experiment_tag": "experiment 01", "run_id": "20250112T164000Z", '
        f'"cell": "memory_size={memory_mb},concurrency_value={concurrency}", "seq": {seq}, '
        f'"message_id": "{seq:032x}", "request_id": "{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11", '
        f'"sandbox_id": "{seq % 500:032x}", "cold_start": {int(seq < 500)}, "attempt": 1, '
        f'"started_at_ms": {started_ms}, "finished_at_ms": {finished_ms}, "bytes": 1073741824, '
        f'"method": "download_file", "status": "ok", "warm_up": 0, "sink": "tmp", '
        f'"first_byte_seconds": {draw.uniform(0.02, 0.08):.9f}, "client_cpu_seconds": {seconds / 4:.9f}, '
        f'"retries": {int(draw.random() < 0.01)}, "requests": 129}}'
    )
    escaped = message.replace('"', '\\"')
    return f'{{"timestamp": {finished_ms}, "message": "{escaped}", "logStream": "{seq % 500:032x}"}}\n'


@contextmanager
def _events() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        logs = Path(folder) / "log_events.jsonl"
        say(f"writing {RECORDS:,} records (about 10 s)")
        write_events(logs, RECORDS)
        yield logs


def _measured(name: str, logs: Path, runs: int, ours: str = "ours") -> tuple[Entry, str]:
    """Both sides in turn, `ours` being the name of our own; raises BenchError unless they give the same table."""
    answers: dict[str, list[Row]] = {}
    peaks = {ours: 0.0, "peer": 0.0}

    def measure(side: str) -> float:
        report = in_child(side, logs)
        answers[side] = [tuple(row) for row in report["rows"]]
        peaks[side] = max(peaks[side], report["peak_mb"])
        return report["seconds"]

    say(f"{name}: {runs} runs of each side in turn (about {runs * 14} s)")
    samples = alternate(lambda: measure(ours), lambda: measure("peer"), runs, "s")
    _compare(answers[ours], answers["peer"])
    first_ms, later_ms = in_child("compile", logs)["rows"][0]
    sizes = ", ".join(
        f"{path.stat().st_size / 1e6:,.0f} MB {path.suffix[1:]}" for path in sorted(logs.parent.iterdir())
    )
    setting = (
        f"{RECORDS:,} records, {sizes}; peak memory ours {peaks[ours]:,.0f} MiB, peer {peaks['peer']:,.0f} MiB"
        f"; compiling the query takes {first_ms:.0f} ms at first, {later_ms:.0f} ms later"
    )
    return samples.entry(name, "s", higher_is_better=False), setting


def in_child(side: str, logs: Path) -> dict[str, Any]:
    """Rows, seconds and peak memory (MiB) of one side, run in a process of its own."""
    return json.loads(output_of([sys.executable, "-m", "bench.insights", side, str(logs)], side, TIMEOUT_S))


def _compare(our_rows: list[Row], peer_rows: list[Row]) -> None:
    """Raises BenchError unless both sides gave the same table, to the last digits of the means."""
    same = len(our_rows) == len(peer_rows) and all(
        len(ours) == len(peer) and all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(ours, peer, strict=True))
        for ours, peer in zip(our_rows, peer_rows, strict=True)
    )
    if not same:
        raise BenchError(f"the two sides disagree: {our_rows[:1]} and {peer_rows[:1]}")


def main(side: str, logs: str) -> None:
    """Run one side and print its report as JSON."""
    started = time.perf_counter()
    rows = SIDES[side](Path(logs))
    seconds = time.perf_counter() - started
    print(json.dumps({"rows": rows, "seconds": seconds, "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Peak memory of this process (MiB). Linux's own figure leaves out what the parent held when it forked."""
    try:
        match = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        match = None
    if match:
        return int(match.group(1)) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT_BYTES / 2**20


if __name__ == "__main__":
    main(*sys.argv[1:])
