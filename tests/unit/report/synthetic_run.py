"""Makes results folders with SYNTHETIC figures (seeded random numbers, no measurement) in the real format."""

import heapq
import json
import random
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

STARTED_MS = 1_760_000_000_000
MIB = 1024**2
ITEM = ("service", "what", "quantity", "unit", "usd_per_unit", "usd")
ITEMS = (
    ("Lambda", "compute", 52650.0, "GB-s", 1.66667e-05, 0.877502),
    ("Lambda", "requests", 320, "request", 2e-07, 0.000064),
    ("S3", "GET", 2560, "request", 4e-07, 0.001024),
    ("S3", "to Lambda in the region", 20.0, "GB", 0.0, 0.0),
    ("Lambda", "provisioned pollers", 1.5, "poller-hour", None, None),
)
COST = {
    "prices_date": "2026-05",
    "prices_region": "us-east-1",
    "region": "us-east-1",
    "items": [dict(zip(ITEM, item, strict=True)) for item in ITEMS],
    "total_usd": 0.87859,
    "expected_s": 400,
}

CLIENT = {"first_byte_seconds": 0.012, "client_cpu_seconds": 0.031, "retries": 0, "requests": 4}
# Memory, N, repeat (None when there is one only) and method (None when it isn't swept).
Planned = tuple[int, int, int | None, str | None]


@dataclass
class Synthetic:
    """What to make: N workers a cell take messages one after the other, as Lambda does from a queue.

    `failing` seqs give an error record on every attempt and end in the dead-letter queue; `retried` seqs fail
    once and then succeed; `duplicated` seqs succeed twice; `lost` seqs leave no trace. `warm_ups` messages for each
    worker come first; with `ramp_per_s`, five workers begin at once and so many more every second; the last
    `unfinished` cells of the plan were never run. With `methods` these are swept, too; each takes `factors` times as
    long.
    """

    memories: tuple[int, ...] = (1024, 2048)
    concurrencies: tuple[int, ...] = (1, 5, 10)
    per_n: int = 10
    seed: int = 1
    target: str = "local"
    object_bytes: int = 64 * MIB
    base_s: float = 0.2
    slope: float = 0.25
    jitter: float = 0.15
    cold_s: float = 0.05
    ramp_per_s: float | None = None
    warm_ups: int = 0
    repeats: int = 1
    unfinished: int = 0
    failing: set[int] = field(default_factory=set)
    retried: set[int] = field(default_factory=set)
    duplicated: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    methods: tuple[str | None, ...] = (None,)
    factors: dict[str | None, float] = field(default_factory=dict)
    run_id: str = "synthetic"

    def plan(self) -> list[Planned]:
        """Every planned cell."""
        repeats = range(1, self.repeats + 1) if self.repeats > 1 else (None,)
        order = product(repeats, self.memories, self.concurrencies, self.methods)
        return [(memory, n, repeat, method) for repeat, memory, n, method in order]

    def finished(self) -> list[Planned]:
        """The part of the plan that was run."""
        planned = self.plan()
        return planned[: len(planned) - self.unfinished]


def cell_id(memory: int, n: int, repeat: int | None = None, method: str | None = None) -> str:
    swept = f"method={method}," if method else ""
    return f"{swept}memory_size={memory},concurrency_value={n}" + (f",repeat={repeat}" if repeat else "")


def write(directory: Path, synthetic: Synthetic | None = None) -> Path:
    """Write a run into `directory`, everything but cells.csv and what the report makes; the folder itself."""
    what = replace(synthetic or Synthetic(), run_id=directory.name)
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(what.seed)
    records, events, sent, dead, accounting = [], [], [], [], []
    clock_ms = STARTED_MS
    for memory, n, repeat, method in what.finished():
        made = _cell(replace(what, base_s=what.base_s * what.factors.get(method, 1)), rng, memory, n, clock_ms)
        clock_ms = max([record["finished_at_ms"] for record in made], default=clock_ms) + 30_000
        cell, total, warm = cell_id(memory, n, repeat, method), n * what.per_n, n * what.warm_ups
        records += [record | {"cell": cell} | ({"method": method} | CLIENT if method else {}) for record in made]
        sent += [_sent(cell, seq, int(seq >= total)) for seq in range(total + warm)]
        dead += [_dead(cell, seq) for seq in sorted(what.failing) if seq < total]
        accounting.append(_account(cell, total, what, warm))
    for record in records:
        events += log_lines(record)
    _write_lines(directory / "records.jsonl", records)
    _write_lines(directory / "log_events.jsonl", events)
    _write_lines(directory / "sent.jsonl", sent)
    _write_lines(directory / "dead_letters.jsonl", dead)
    (directory / "accounting.json").write_text(json.dumps(accounting))
    (directory / "run.json").write_text(json.dumps(manifest(what)))
    return directory


def manifest(what: Synthetic) -> dict[str, Any]:
    return {
        "stampede_version": "0.1.0",
        "format": 1,
        "run_id": what.run_id,
        "experiment": "download",
        "target": what.target,
        "started_at": "2025-10-09T08:53:20+00:00",
        "finished_at": "2025-10-09T08:57:58+00:00",
        "plan": {
            "swept": {"memory_size": list(what.memories), "concurrency_value": list(what.concurrencies)}
            | ({"method": list(what.methods)} if what.methods != (None,) else {}),
            "fixed": {"object_size_mb": what.object_bytes // MIB, "ephemeral_storage_mb": 512},
            "messages_per_concurrency": what.per_n,
            "repeats": what.repeats,
            "order": [cell_id(*cell) for cell in what.plan()],
            "cells": [_row(*cell) for cell in what.plan()],
        },
        "cells": [_row(*cell) for cell in what.finished()],
        "account": {"account_id": "000000000000", "region": "us-east-1", "concurrent_executions": 1000},
        "cost": COST,
        "versions": {"python": "3.11.7", "terraform": "1.11.4", "ministack": "1.5.33", "boto3": "1.43.106"},
        "machine": {"system": "Linux-6.1-x86_64", "processors": 2, "memory_bytes": 16_777_216_000},
    }


def _row(memory: int, n: int, repeat: int | None, method: str | None) -> dict[str, Any]:
    row = {"cell": cell_id(memory, n, repeat, method), "memory_size": memory, "concurrency_value": n}
    return row | {"repeat": repeat or 1} | ({"method": method} if method else {})


def log_lines(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The log events of one invocation as Lambda writes them."""
    at, request = record["finished_at_ms"], record["request_id"]
    duration = record["finished_at_ms"] - record["started_at_ms"]
    texts = (
        (record["started_at_ms"], f"START RequestId: {request} Version: $LATEST\n"),
        (at, json.dumps(record) + "\n"),
        (at, f"END RequestId: {request}\n"),
        (at, f"REPORT RequestId: {request}\tDuration: {duration}.00 ms\tBilled Duration: {duration} ms\n"),
    )
    return [{"timestamp": at, "message": text, "logStream": record["sandbox_id"]} for at, text in texts]


def _cell(what: Synthetic, rng: random.Random, memory: int, n: int, clock_ms: int) -> list[dict[str, Any]]:
    total = n * what.per_n
    queue = deque([(seq, 1) for seq in range(total, total + n * what.warm_ups)])
    queue.extend((seq, 1) for seq in range(total) if seq not in what.lost)
    workers = [(clock_ms + _late_ms(what, worker) + rng.randrange(200), worker) for worker in range(n)]
    heapq.heapify(workers)
    cold = [1] * n
    records = []
    while queue:
        seq, attempt = queue.popleft()
        start, worker = heapq.heappop(workers)
        seconds = what.base_s * (1 + what.slope * (n - 1)) * rng.lognormvariate(0, what.jitter)
        seconds += what.cold_s * cold[worker]
        end = start + round(seconds * 1000)
        fails = seq in what.failing or (seq in what.retried and attempt == 1)
        place = (f"sandbox-{memory}-{n}-{worker}", cold[worker], attempt, start, end)
        record = _record(what, memory, n, seq, place, None if fails else seconds)
        records.append(record | {"warm_up": int(seq >= total)})
        heapq.heappush(workers, (end + 1 + rng.randrange(15), worker))
        cold[worker] = 0
        if fails and attempt < 3:
            queue.append((seq, attempt + 1))
        if seq in what.duplicated and attempt == 1:
            queue.append((seq, 2))
    return records


def _late_ms(what: Synthetic, worker: int) -> int:
    """How long after the first the `worker` begins."""
    return round(max(0, worker - 4) / what.ramp_per_s * 1000) if what.ramp_per_s else 0


def _record(what: Synthetic, memory: int, n: int, seq: int, place: tuple, seconds: float | None) -> dict[str, Any]:
    sandbox, cold, attempt, start, end = place
    record: dict[str, Any] = {"concurrency_limit": n}
    if seconds is not None:
        record["download_time_seconds"] = seconds
    record |= {
        "memory_size": memory,
        "experiment_tag": "experiment 01",
        "run_id": what.run_id,
        "cell": cell_id(memory, n),
        "seq": seq,
        "message_id": f"message-{memory}-{n}-{seq}",
        "request_id": f"request-{memory}-{n}-{seq}-{attempt}",
        "sandbox_id": sandbox,
        "cold_start": cold,
        "attempt": attempt,
        "started_at_ms": start,
        "finished_at_ms": end,
        "bytes": what.object_bytes if seconds is not None else 0,
        "method": "download_file",
        "status": "error" if seconds is None else "ok",
        "warm_up": 0,
    }
    if seconds is None:
        record |= {"error_type": "ClientError", "error_message": "GetObject: 503 SlowDown <Reduce your rate & wait>"}
    return record


def _sent(cell: str, seq: int, warm_up: int) -> dict[str, Any]:
    sent = {"cell": cell, "seq": seq, "message_id": f"message-{cell}-{seq}", "sent_at_ms": STARTED_MS}
    return sent | {"possible_duplicate": 0} | ({"warm_up": 1} if warm_up else {})


def _dead(cell: str, seq: int) -> dict[str, Any]:
    body = json.dumps({"run_id": "synthetic", "cell": cell, "seq": seq})
    return {"cell": cell, "seq": seq, "message_id": f"message-{cell}-{seq}", "body": body}


def _account(cell: str, total: int, what: Synthetic, warm: int) -> dict[str, Any]:
    dead = len([seq for seq in what.failing if seq < total])
    lost = len([seq for seq in what.lost if seq < total])
    return {
        "cell": cell,
        "sent": total + warm,
        "succeeded": total + warm - dead - lost,
        "failed": 0,
        "dead_lettered": dead,
        "duplicates": len([seq for seq in what.duplicated if seq < total]),
        "unaccounted": lost,
        "unexpected": 0,
        "unanswered": 0,
    }


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
