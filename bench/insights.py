"""A saved query over a million records, and the report of their run, against plain Python.

The peer is a script without dependencies, `plain_summary.py`, that makes the table of the query.
Every run is a separate process: compiling the query and opening the database count, and the peak
memory is that of one run. The process times itself, without Python's start and imports.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import run_child
from bench.ratios import Figures, Run
from experiments.download.declaration import DOWNLOAD
from stampede import report
from stampede.cell import FORMAT
from stampede.checkout import QUERIES
from stampede.errors import RunError
from stampede.insights import evaluate, log_columns
from stampede.insights.backends import Local
from stampede.planning.plan import make_plan
from stampede.progress import say
from stampede.runs.folder import RunFolder

PER_N = 751  # records of each function
RUN_ID, FIRST_MS = "20250112T164000Z", 1_736_700_000_000
CELLS = tuple(product((1024, 2048), (1, 5, 10, 50, 100, 500)))
PLAIN_SUMMARY = Path(__file__).with_name("plain_summary.py")
QUERY = QUERIES / "download" / "summary.cwli"
LOG_EVENTS = "log_events.jsonl"
CONSTANT = {
    "experiment_tag": "experiment 01",
    "run_id": RUN_ID,
    "attempt": 1,
    "bytes": 2**30,
    "warm_up": 0,
    "method": "download_file",
    "status": "ok",
    "sink": "tmp",
    "retries": 0,
    "requests": 129,
}

Row = Sequence[float]  # memory_size_mb, concurrency, count, min_s, p25_s, avg_s, p75_s, max_s


@contextmanager
def summary(side: str) -> Iterator[tuple[Run, Run]]:
    """The saved query over the `lines` or the `columns`."""
    with stored_run(platform_lines=False) as run:
        tables: list[list[Row]] = []

        def checked(side: str) -> Figures:
            rows, figures = in_child(side, run)
            tables.append(rows)
            check_same(rows, tables[0])
            return figures

        yield lambda: checked(side), lambda: checked("plain")


@contextmanager
def whole_report() -> Iterator[tuple[Run, Run]]:
    """The whole report of a stored run, which must count every record."""
    with stored_run(platform_lines=True) as run:

        def ours() -> Figures:
            rows, figures = in_child("report", run)
            if sorted(rows) != [[memory_mb, n, n * PER_N] for memory_mb, n in CELLS]:
                wanted = f"{PER_N} records of each function"
                raise RunError(f"the report should have counted {wanted}, and counted {rows}")
            return figures

        yield ours, lambda: in_child("plain", run)[1]


def in_child(side: str, run: Path) -> tuple[list[Row], Figures]:
    """Run one of SIDES, or the peer, in a separate process; returns its table and figures."""
    program = [str(PLAIN_SUMMARY)] if side == "plain" else ["-m", "bench.insights", side]
    printed, used = run_child([sys.executable, *program, str(run / LOG_EVENTS)])
    told = json.loads(printed)
    return told["rows"], used | {"seconds": told["seconds"]}


def lines(logs: Path) -> list[Row]:
    """The summary of a file by the evaluator."""
    return [tuple(row.values()) for row in evaluate(QUERY.read_text(), logs).rows]


def columns(logs: Path) -> list[Row]:
    """The summary of the columns that a drain stores, as for `stampede query --run`."""
    return [tuple(row.values()) for row in Local.of_run(logs).ask(QUERY.read_text()).rows]


def built_report(logs: Path) -> list[Row]:
    """Build the report of a stored run; returns its counts for each cell."""
    report.build(logs.parent)
    cells = json.loads((logs.parent / "statistics.json").read_text())["cells"]
    return [(cell["memory_size_mb"], cell["concurrency"], cell["count"]) for cell in cells]


SIDES = {"lines": lines, "columns": columns, "report": built_report}


def check_same(rows: Sequence[Row], expected: Sequence[Row]) -> None:
    """Raise RunError unless both tables are the same, to the last digits of the means."""
    if np.shape(rows) != np.shape(expected) or not np.allclose(rows, expected, rtol=1e-9):
        raise RunError(f"the two sides disagree: {rows[:1]} and {expected[:1]}")


@contextmanager
def stored_run(*, platform_lines: bool) -> Iterator[Path]:
    """Store a run of a million downloads, always the same, in the published cells.

    In each cell N workers take one message after the other, as from a queue. With `platform_lines`
    the log has Lambda's own lines, like a drained log; without, only the records.
    """
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        say("writing a run of a million records (about 30 s)")
        run = Path(folder) / RUN_ID
        run.mkdir()
        (run / "run.json").write_text(json.dumps(_manifest()))
        files = [(run / name).open("w") for name in ("records.jsonl", LOG_EVENTS, "sent.jsonl")]
        for record in _records():
            line = json.dumps(record)
            own = {name: record[name] for name in ("cell", "seq", "message_id", "warm_up")}
            events = [
                {
                    "timestamp": record["finished_at_ms"],
                    "message": text,
                    "logStream": record["sandbox_id"],
                }
                for text in (_log_lines(line, record["request_id"]) if platform_lines else [line])
            ]
            sent = own | {"sent_at_ms": FIRST_MS, "possible_duplicate": 0}
            texts = ([line], map(json.dumps, events), [json.dumps(sent)])
            for file, lines in zip(files, texts, strict=True):
                file.writelines(f"{text}\n" for text in lines)
        for file in files:
            file.close()
        log_columns.store(RunFolder(run), at_end=True)  # like a sweep before its report
        yield run


def _manifest() -> dict[str, object]:
    plan = make_plan(DOWNLOAD, "aws", (), messages_per_concurrency=10)
    return {
        "format": FORMAT,
        "run_id": RUN_ID,
        "experiment": "download",
        "target": "aws",
        "plan": plan.as_dict(),
        "cells": [cell.as_json() for cell in plan.cells],
        "finished": {cell.name: {} for cell in plan.cells},
    }


def _records() -> Iterator[dict[str, Any]]:
    draw = random.Random(1)
    for number, (memory_mb, n) in enumerate(CELLS):
        free_ms = [FIRST_MS + number * 24 * 3_600_000] * n
        for seq in range(n * PER_N):
            seconds = round(draw.lognormvariate(2.5, 0.1), 9)
            started_ms = free_ms[seq % n] + draw.randrange(20)
            free_ms[seq % n] = started_ms + int(seconds * 1000)
            head = {
                "concurrency_limit": n,
                "download_time_seconds": seconds,
                "memory_size": memory_mb,
            }
            yield (
                head
                | CONSTANT
                | {
                    "cell": f"memory_size={memory_mb},concurrency_value={n}",
                    "seq": seq,
                    "message_id": f"{seq:032x}",
                    "request_id": f"{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11",
                    "sandbox_id": f"{seq % n:032x}",
                    "cold_start": int(seq < n),
                    "started_at_ms": started_ms,
                    "finished_at_ms": free_ms[seq % n],
                    "first_byte_seconds": round(draw.uniform(0.02, 0.08), 9),
                    "client_cpu_seconds": round(seconds / 4, 9),
                }
            )


def _log_lines(record: str, request: str) -> list[str]:
    """The log of one invocation as Lambda writes it."""
    took = "Duration: 12618.36 ms\tBilled Duration: 12619 ms\tMemory Size: 1024 MB"
    begun = f"START RequestId: {request} Version: $LATEST"
    return [begun, record, f"END RequestId: {request}", f"REPORT RequestId: {request}\t{took}"]


def main(side: str, logs: str) -> None:
    """Run one of SIDES and print its table and seconds as JSON."""
    started = time.perf_counter()
    rows = SIDES[side](Path(logs))
    print(json.dumps({"rows": rows, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(*sys.argv[1:])
