"""`report_1m`: the whole report of a stored run of 1,000,000 records, against plain Python that only makes the table.

Ours reads records, sent messages and the columns that a sweep stores of the log events, counts (the table by the saved
query, all else from the records), draws and writes the page; the peer is a script without dependencies that makes the
table of the saved query `summary` from the log events. Every run is a process of its own, so that peaks of memory are
those of one run.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from bench import insights
from bench.errors import BenchError
from bench.measure import Entry, alternate
from experiments.download.declaration import DOWNLOAD
from stampede.cell import FORMAT
from stampede.insights import log_columns
from stampede.planning.plan import make_plan
from stampede.progress import say
from stampede.runs.folder import RunFolder

NAME = "report_1m"
RECORDS = 1_000_000
SEED = 20250112
FIRST_MS = 1_736_700_000_000
RUN_ID = "20250112T164000Z"
MEMORIES_MB, CONCURRENCIES = (1024, 2048), (1, 5, 10, 50, 100, 500)


def report_1m(runs: int) -> tuple[Entry, str]:
    """Measure both sides in turn; gives the entry (s) and a line about them. Raises BenchError."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        run = Path(folder) / RUN_ID
        say(f"writing a run of {RECORDS:,} records (about 30 s)")
        write_run(run, RECORDS)
        log_columns.store(RunFolder(run), at_end=True)  # as a sweep does before its report
        peaks = {"report": 0.0, "peer": 0.0}

        def measure(side: str, path: Path) -> float:
            measured = insights.in_child(side, path)
            peaks[side] = max(peaks[side], measured["peak_mb"])
            return measured["seconds"]

        say(f"{NAME}: {runs} runs of each side in turn (about {runs * 90} s)")
        samples = alternate(
            lambda: measure("report", run),
            lambda: measure("peer", run / "log_events.jsonl"),
            runs,
            "s",
        )
        counted = sum(cell["count"] for cell in json.loads((run / "statistics.json").read_text())["cells"])
        if counted != RECORDS:
            raise BenchError(f"the report counted {counted:,} of {RECORDS:,} records")
        sizes = " + ".join(
            f"{(run / name).stat().st_size / 1e6:,.0f} MB {name}" for name in ("log_events.jsonl", "records.jsonl")
        )
    setting = (
        f"{RECORDS:,} records, {sizes}; peak memory ours {peaks['report']:,.0f} MiB, peer {peaks['peer']:,.0f} MiB"
    )
    return samples.entry(NAME, "s", higher_is_better=False), setting


def write_run(folder: Path, records: int, seed: int = SEED) -> None:
    """Write a stored run of so many downloads, in the published cells and in proportion to N; the same for the same
    seed. In each cell N workers take one message after the other, as from a queue."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    cells = list(product(MEMORIES_MB, CONCURRENCIES))
    per_n = records // sum(n for _, n in cells)
    counts = [n * per_n for _, n in cells]
    counts[-1] += records - sum(counts)
    with (
        (folder / "records.jsonl").open("w") as stored,
        (folder / "log_events.jsonl").open("w") as events,
        (folder / "sent.jsonl").open("w") as sent,
    ):
        began_ms = FIRST_MS
        for (memory_mb, n), count in zip(cells, counts, strict=True):
            for seq, (message, finished_ms) in enumerate(_messages(draw, memory_mb, n, count, began_ms)):
                stored.write(message + "\n")
                events.writelines(_log_lines(message, seq, finished_ms, f"{seq % n:032x}"))
                cell = f"memory_size={memory_mb},concurrency_value={n}"
                line = {"cell": cell, "seq": seq, "message_id": f"{seq:032x}", "sent_at_ms": FIRST_MS}
                sent.write(json.dumps(line | {"possible_duplicate": 0, "warm_up": 0}) + "\n")
                last_ms = finished_ms
            began_ms = last_ms + 60_000
    settings = [f"memory_size={_listed(MEMORIES_MB)}", f"concurrency_value={_listed(CONCURRENCIES)}"]
    plan = make_plan(DOWNLOAD, "aws", settings, messages_per_concurrency=10)
    manifest = {"format": FORMAT, "run_id": RUN_ID, "experiment": "download", "target": "aws", "plan": plan.as_dict()}
    manifest |= {"cells": [cell.as_json() for cell in plan.cells], "finished": {cell.name: {} for cell in plan.cells}}
    (folder / "run.json").write_text(json.dumps(manifest))


def _listed(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _messages(draw: random.Random, memory_mb: int, n: int, count: int, began_ms: int) -> Iterator[tuple[str, int]]:
    """The record of each message, and when it ended."""
    free_ms = [began_ms] * n
    for seq in range(count):
        seconds = draw.lognormvariate(2.5, 0.1)
        started_ms = free_ms[seq % n] + draw.randrange(20)
        finished_ms = free_ms[seq % n] = started_ms + int(seconds * 1000)
        yield (
            (
                f'{{"concurrency_limit": {n}, "download_time_seconds": {seconds:.9f}, "memory_size": {memory_mb}, '
                f'"experiment_tag": "experiment 01", "run_id": "{RUN_ID}", '
                f'"cell": "memory_size={memory_mb},concurrency_value={n}", "seq": {seq}, "message_id": "{seq:032x}", '
                f'"request_id": "{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11", "sandbox_id": "{seq % n:032x}", '
                f'"cold_start": {int(seq < n)}, "attempt": 1, "started_at_ms": {started_ms}, '
                f'"finished_at_ms": {finished_ms}, "bytes": 1073741824, "method": "download_file", "status": "ok", '
                f'"warm_up": 0, "sink": "tmp", "first_byte_seconds": {draw.uniform(0.02, 0.08):.9f}, '
                f'"client_cpu_seconds": {seconds / 4:.9f}, "retries": {int(draw.random() < 0.01)}, "requests": 129}}'
            ),
            finished_ms,
        )


def _log_lines(message: str, seq: int, at_ms: int, stream: str) -> Iterator[str]:
    """The log events of one invocation as Lambda writes them."""
    request = f"{seq:08x}-8a3e-4c55-9d3a-2b7d1c0f9e11"
    escaped = message.replace('"', '\\"')
    for text in (
        f"START RequestId: {request} Version: $LATEST",
        escaped,
        f"END RequestId: {request}",
        f"REPORT RequestId: {request}\\tDuration: 12618.36 ms\\tBilled Duration: 12619 ms\\tMemory Size: 1024 MB",
    ):
        yield f'{{"timestamp": {at_ms}, "message": "{text}", "logStream": "{stream}"}}\n'
