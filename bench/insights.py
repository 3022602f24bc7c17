"""A million records: the saved query over them, and the whole report of their run, against plain Python.

The peer is a script without dependencies, `plain_summary.py`, that makes the table of the query. Every run is a process
of its own, so that compiling the query and opening the database count, and so that peaks of memory are those of one
run; the seconds are taken inside, without starting Python and importing modules.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from bench.child import run_child
from bench.errors import BenchError
from bench.pairs import Entry, Figures, Measured, Measurements, Side, compare, in_turn
from experiments.download.declaration import DOWNLOAD
from stampede import report
from stampede.cell import FORMAT
from stampede.checkout import QUERIES
from stampede.insights import evaluate, log_columns
from stampede.insights.backends import Local
from stampede.planning.plan import make_plan
from stampede.progress import say
from stampede.runs.folder import RunFolder

RECORDS, SEED = 1_000_000, 20250112
RUN_ID, FIRST_MS = "20250112T164000Z", 1_736_700_000_000
MEMORIES_MB, CONCURRENCIES = (1024, 2048), (1, 5, 10, 50, 100, 500)
PLAIN_SUMMARY = Path(__file__).with_name("plain_summary.py")
QUERY = QUERIES / "download" / "summary.cwli"
LOG_EVENTS = "log_events.jsonl"

Row = tuple[float, ...]  # memory_size_mb, concurrency, count, min_s, p25_s, avg_s, p75_s, max_s


def summary(name: str, ours: str, runs: int) -> Measured:
    """Seconds of the query over JSON lines (`lines`), or over the columns that a drain stores of them (`columns`).

    Raises BenchError unless both sides give the same table.
    """
    with _stored_run(platform_lines=False) as run:
        tables: dict[str, list[Row]] = {}
        entry, setting = _compared(name, ours, run, runs, tables)
    check_same(tables[ours], tables["plain_python"])
    return [entry], setting


def whole_report(runs: int) -> Measured:
    """Seconds of the report of a stored run: counted, drawn and written."""
    with _stored_run(platform_lines=True) as run:
        entry, setting = _compared("report_1m", "report", run, runs, {})
        counted = sum(cell["count"] for cell in json.loads((run / "statistics.json").read_text())["cells"])
    if counted != RECORDS:
        raise BenchError(f"the report counted {counted:,} of {RECORDS:,} records")
    return [entry], setting


def _compared(name: str, ours: str, run: Path, runs: int, tables: dict[str, list[Row]]) -> tuple[Entry, str]:
    pair = [Side(side, partial(in_child, side, run, tables)) for side in (ours, "plain_python")]
    in_turn(pair, runs, warm_up=False)
    size_mb = (run / LOG_EVENTS).stat().st_size / 1e6
    setting = f"{RECORDS:,} records, {size_mb:,.0f} MB of log events; {pair[0].sentence()}; {pair[1].sentence()}"
    return compare(name, *pair, "seconds", "s"), setting


def in_child(side: str, run: Path, tables: dict[str, list[Row]]) -> Figures:
    """Run one of SIDES, or the peer, over a run in a process of its own; its table goes to `tables`."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as printed:
        program = ["-m", "bench.insights", side] if side in SIDES else [str(PLAIN_SUMMARY)]
        used = run_child([sys.executable, *program, str(run / LOG_EVENTS)], printed=printed.name)
        told = json.load(printed)
    tables[side] = [tuple(row) for row in told["rows"]]
    return {"seconds": told["seconds"], "cpu_s": used["cpu_s"], "peak_mb": used["peak_mb"]}


def lines(logs: Path) -> list[Row]:
    """The summary by the evaluator, over a file."""
    return [tuple(row.values()) for row in evaluate(QUERY.read_text(), logs).rows]


def columns(logs: Path) -> list[Row]:
    """The summary over a stored run, as `stampede query --run` asks it."""
    return [tuple(row.values()) for row in Local.of_run(logs).ask(QUERY.read_text()).rows]


def built_report(logs: Path) -> list[Row]:
    """Build the report of a stored run; no rows."""
    report.build(logs.parent)
    return []


SIDES = {"lines": lines, "columns": columns, "report": built_report}


def check_same(ours: list[Row], peer: list[Row]) -> None:
    """Raises BenchError unless both sides gave the same table, to the last digits of the means."""
    same = len(ours) == len(peer) and all(
        len(row) == len(expected) and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(row, expected, strict=True))
        for row, expected in zip(ours, peer, strict=True)
    )
    if not same:
        raise BenchError(f"the two sides disagree: {ours[:1]} and {peer[:1]}")


@contextmanager
def _stored_run(*, platform_lines: bool) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        run = Path(folder) / RUN_ID
        say(f"writing a run of {RECORDS:,} records (about 30 s)")
        write_run(run, RECORDS, platform_lines=platform_lines)
        log_columns.store(RunFolder(run), at_end=True)  # as a sweep does before its report
        yield run


def write_run(folder: Path, records: int, *, platform_lines: bool) -> None:
    """Write a stored run of so many downloads, in the published cells and in proportion to N; always the same.

    In each cell N workers take one message after the other, as from a queue. Its log has the lines that Lambda itself
    writes with `platform_lines`, as a drained one; without, as an exported one, the records alone.
    """
    draw = random.Random(SEED)
    folder.mkdir(parents=True)
    cells = list(product(MEMORIES_MB, CONCURRENCIES))
    counts = [n * (records // sum(n for _, n in cells)) for _, n in cells]
    counts[-1] += records - sum(counts)
    files = (folder / name for name in ("records.jsonl", LOG_EVENTS, "sent.jsonl"))
    stored, events, sent = (path.open("w") for path in files)
    with stored, events, sent:
        began_ms = FIRST_MS
        for (memory_mb, n), count in zip(cells, counts, strict=True):
            for seq, (message, finished_ms) in enumerate(_messages(draw, memory_mb, n, count, began_ms)):
                stored.write(message + "\n")
                events.writelines(_log_lines(message, seq, finished_ms, f"{seq % n:032x}", platform_lines))
                line = {"cell": f"memory_size={memory_mb},concurrency_value={n}", "seq": seq}
                line |= {"message_id": f"{seq:032x}", "sent_at_ms": FIRST_MS, "possible_duplicate": 0, "warm_up": 0}
                sent.write(json.dumps(line) + "\n")
                began_ms = max(began_ms, finished_ms)
            began_ms += 60_000
    (folder / "run.json").write_text(json.dumps(_manifest()))


def _manifest() -> dict[str, object]:
    axes = {"memory_size": MEMORIES_MB, "concurrency_value": CONCURRENCIES}
    settings = [f"{name}={','.join(map(str, values))}" for name, values in axes.items()]
    plan = make_plan(DOWNLOAD, "aws", settings, messages_per_concurrency=10)
    manifest = {"format": FORMAT, "run_id": RUN_ID, "experiment": "download", "target": "aws", "plan": plan.as_dict()}
    cells = {"cells": [cell.as_json() for cell in plan.cells], "finished": {cell.name: {} for cell in plan.cells}}
    return manifest | cells


def _messages(draw: random.Random, memory_mb: int, n: int, count: int, began_ms: int) -> Iterator[tuple[str, int]]:
    """The record of each message, and when it ended (epoch ms)."""
    free_ms = [began_ms] * n
    for seq in range(count):
        seconds = draw.lognormvariate(2.5, 0.1)
        started_ms = free_ms[seq % n] + draw.randrange(20)
        finished_ms = free_ms[seq % n] = started_ms + int(seconds * 1000)
        record = {
            "concurrency_limit": n,
            "download_time_seconds": round(seconds, 9),
            "memory_size": memory_mb,
            "experiment_tag": "experiment 01",
            "run_id": RUN_ID,
            "cell": f"memory_size={memory_mb},concurrency_value={n}",
            "seq": seq,
            "message_id": f"{seq:032x}",
            "request_id": f"{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11",
            "sandbox_id": f"{seq % n:032x}",
            "cold_start": int(seq < n),
            "attempt": 1,
            "started_at_ms": started_ms,
            "finished_at_ms": finished_ms,
            "bytes": 2**30,
            "method": "download_file",
            "status": "ok",
            "warm_up": 0,
            "sink": "tmp",
            "first_byte_seconds": round(draw.uniform(0.02, 0.08), 9),
            "client_cpu_seconds": round(seconds / 4, 9),
            "retries": int(draw.random() < 0.01),
            "requests": 129,
        }
        yield json.dumps(record), finished_ms


def _log_lines(message: str, seq: int, at_ms: int, stream: str, platform_lines: bool) -> Iterator[str]:
    """The log events of one invocation as Lambda writes them."""
    request = f"{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11"
    texts = [message]
    if platform_lines:
        took = "Duration: 12618.36 ms\tBilled Duration: 12619 ms\tMemory Size: 1024 MB"
        texts = [f"START RequestId: {request} Version: $LATEST", message, f"END RequestId: {request}"]
        texts.append(f"REPORT RequestId: {request}\t{took}")
    for text in texts:
        yield json.dumps({"timestamp": at_ms, "message": text, "logStream": stream}) + "\n"


def main(side: str, logs: str) -> None:
    """Run one of SIDES and print its table and seconds as JSON."""
    started = time.perf_counter()
    rows = SIDES[side](Path(logs))
    print(json.dumps({"rows": rows, "seconds": time.perf_counter() - started}))


MEASUREMENTS: Measurements = {
    ("insights_summary_1m",): partial(summary, "insights_summary_1m", "lines"),
    ("insights_summary_1m_parquet",): partial(summary, "insights_summary_1m_parquet", "columns"),
    ("report_1m",): whole_report,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
