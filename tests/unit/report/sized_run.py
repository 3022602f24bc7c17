"""Results folders of an experiment for tests that sets two storage classes against each other by the size of an object,
with SYNTHETIC figures (no measurement): a request of the quick class takes less, and its bytes cost more."""

import json
import random
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from experiments import Axis
from experiments.download.declaration import DOWNLOAD
from stampede.axes import concurrency_axis, memory_axis
from stampede.experiment import LAST_SECTIONS, AthenaQueries, BySize, Compare, Metric, Published, StandIn, Tariff

OPERATIONS = {"upload": "write", "download": "read"}
BASE, QUICK = "standard", "express"
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
# US dollars, of 2026-05: us-east-1.
PRICES = {"lambda_gb_s_arm64": 0.0000133334, "athena_tb": 5.0}
TARIFFS = {
    BASE: Tariff(write_usd=5e-6, read_usd=4e-7, write_gb_usd=0, read_gb_usd=0),
    QUICK: Tariff(write_usd=1.13e-6, read_usd=3e-8, write_gb_usd=0.0032, read_gb_usd=0.0006),
}
# Seconds of one request, and of a byte.
REQUEST_S = {
    ("upload", BASE): 0.0109,
    ("upload", QUICK): 0.0026,
    ("download", BASE): 0.0182,
    ("download", QUICK): 0.005,
}
BYTE_S = {("upload", BASE): 8.5e-9, ("upload", QUICK): 6.8e-9, ("download", BASE): 8e-9, ("download", QUICK): 9.2e-9}
STARTED_MS, MESSAGES = 1_760_000_000_000, 12


def usual_count(operation: str, _: str, size_bytes: int, *__: object) -> int:
    """How many objects a set has when nothing is said."""
    return 100 if size_bytes >= 1_000_000 else 77_577


def _cell(row: Mapping[str, str]) -> dict[str, Any]:
    words = row["case"].split()
    size_bytes = 100_000_000 if "MB" in row["case"] else 10_000
    named = {"operation": words[0] if words[0] in OPERATIONS else "count", "size_bytes": size_bytes}
    return named | {"objects": 100 if size_bytes > 10_000 else 77_577} if row["unit"] == "s" else {}


def _published(storage_class: str) -> Published:
    return Published(
        "express",
        "AWS, published",
        "one host",
        columns={"avg_s": storage_class},
        only={"unit": "s"},
        fixed={"storage": storage_class, "parallel": 1},
        cell=_cell,
        objects_axis="objects",
        beside_any=("objects",),
    )


SIZED = DOWNLOAD.with_(
    name="sizes",
    operation=("operation", "operations"),
    axes=(
        Axis("operation", kind=str),
        Axis("storage", label="class", kind=str),
        Axis("size_bytes", label="object", words="{} bytes", unit="bytes"),
        Axis("parallel", label="at a time", words="{} at a time"),
        Axis("objects", words="{} objects", default=usual_count),
        memory_axis(default=2048),
        concurrency_axis(default=1),
    ),
    metrics=(
        Metric("seconds", "elapsed_seconds", "seconds for one operation", "s", "spread", queried=True),
        Metric("objects_per_s", "objects_per_s", "one function", "objects/s", "mean", "higher", queried=True, digits=1),
        Metric("request_p50_ms", "request_p50_ms", "one request, p50", "ms", "mean", queried=True, digits=2),
        Metric("request_p99_ms", "request_p99_ms", "one request, p99", "ms", "mean", queried=True, digits=2),
        Metric("session_ms", "session_ms", "CreateSession", "ms", "mean", digits=1),
        Metric("queue_s", "queue_seconds", "Athena’s queue", "s", "mean", digits=2),
        Metric("planning_s", "planning_seconds", "Athena’s planning", "s", "mean", digits=2),
        Metric("engine_s", "engine_seconds", "Athena’s engine", "s", "mean", digits=2),
        Metric("scanned_bytes", "scanned_bytes", "scanned", "bytes", "mean"),
    ),
    query="sizes",
    defaults={"architecture": "arm64"},
    published=(_published(BASE), _published(QUICK)),
    compare=(
        Compare("between_classes", "choice", ("storage",), base=(BASE,), section="by_size"),
        Compare("between_limits", "scale", ("parallel",)),
    ),
    sections=("by_size", "choice", "table", "athena", "spread", *LAST_SECTIONS),
    by_size=BySize(
        "storage",
        "size_bytes",
        moves=("operation", OPERATIONS),
        tariffs=lambda prices: TARIFFS if "lambda_gb_s_arm64" in prices else None,
    ),
    athena=AthenaQueries("operation", ("count",), lambda values: None),
    stand_ins={"storage": {QUICK: StandIn("a general purpose bucket", "“a general bucket”: no emulator has one.")}},
)


def seconds_of(operation: str, storage: str, size_bytes: int, parallel: int, objects: int) -> float:
    """What a set of objects takes: requests side by side, bytes one after the other."""
    return objects * (REQUEST_S[operation, storage] / parallel + size_bytes * BYTE_S[operation, storage])


def write(
    folder: Path,
    target: str = "aws",
    sizes: Sequence[int] = SIZES,
    messages: int = MESSAGES,
    prices: Mapping[str, float] = PRICES,
    parallels: Sequence[int] = (1, 64),
    queries: bool = True,
) -> Path:
    """A run of both operations on both classes, and of queries; the folder."""
    folder.mkdir(parents=True)
    dice, cells, records = random.Random(3), [], []
    combinations = list(product(OPERATIONS, (BASE, QUICK), sizes, parallels))
    combinations += [("count", storage, 10_000, 1) for storage in (BASE, QUICK)] if queries else []
    for operation, storage, size_bytes, parallel in combinations:
        values = {
            "operation": operation,
            "storage": storage,
            "size_bytes": size_bytes,
            "parallel": parallel,
            "objects": min(1000, usual_count(operation, storage, size_bytes)),
            "memory_size": 2048,
            "concurrency_value": 1,
        }
        name = ",".join(f"{variable}={value}" for variable, value in values.items())
        cells.append(values | {"cell": name})
        for seq in range(messages):
            records.append(_record(folder.name, name, values, seq, target, dice))
    manifest = {"format": 1, "run_id": folder.name, "experiment": SIZED.name, "target": target, "cells": cells}
    manifest["plan"] = {"cells": cells, "fixed": {}, "swept": {}, "region": "us-east-1"}
    known = {"prices": dict(prices), "prices_region": "us-east-1", "prices_date": "2026-05"}
    manifest["cost"] = {"items": [], "total_usd": 1.0, **known}
    names = [cell["cell"] for cell in cells]
    nothing = dict.fromkeys(("failed", "dead_lettered", "duplicates", "unaccounted", "unexpected"), 0)
    accounts = [{"cell": name, "sent": messages, "succeeded": messages, **nothing} for name in names]
    sent = [
        {"cell": name, "seq": seq, "message_id": f"{name}-{seq}", "warm_up": 0}
        for name, seq in product(names, range(messages))
    ]
    for file, rows in {"records": records, "sent": sent, "dead_letters": []}.items():
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "run.json").write_text(json.dumps(manifest))
    (folder / "accounting.json").write_text(json.dumps(accounts))
    return folder


def _record(run_id: str, cell: str, values: Mapping[str, Any], seq: int, target: str, dice: random.Random) -> dict:
    operation, factor = values["operation"], dice.lognormvariate(0, 0.04)
    size_bytes, objects = values["size_bytes"], values["objects"]
    own: dict[str, Any] = {"memory_size": values["memory_size"], "bytes": objects * size_bytes}
    if operation in OPERATIONS:
        seconds = seconds_of(operation, values["storage"], size_bytes, values["parallel"], objects) * factor
        one_ms = 1000 * (REQUEST_S[operation, values["storage"]] + size_bytes * BYTE_S[operation, values["storage"]])
        own |= {"request_p50_ms": one_ms, "request_p99_ms": 2.4 * one_ms}
        own["session_ms"] = 41.0 if values["storage"] == QUICK else 0.0
    else:
        seconds = {BASE: 75.9, QUICK: 52.3}[values["storage"]] * factor
        own |= {"queue_seconds": 0.2, "planning_seconds": 1.1, "engine_seconds": seconds - 1.3}
        own["scanned_bytes"] = None if target == "local" else 7e9
    start = STARTED_MS + seq * 1000
    own |= {name: values[name] for name in ("operation", "storage", "size_bytes", "parallel", "objects")}
    own |= {"run_id": run_id, "cell": cell, "seq": seq, "message_id": f"{cell}-{seq}", "attempt": 1, "warm_up": 0}
    own |= {"elapsed_seconds": seconds, "started_at_ms": start, "finished_at_ms": start + 900}
    own |= {"status": "ok", "cold_start": int(seq == 0), "sandbox_id": "one", "concurrency_limit": 1}
    return own | {"objects_per_s": objects / seconds}
