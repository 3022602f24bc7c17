"""Writes results folders from downloads given one by one, for figures that can be counted by hand."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.download.declaration import DOWNLOAD, default_sink
from stampede.cell import Cell
from stampede.report.cells import Figures
from stampede.report.intervals import Sample

ORIGIN_MS = 1_760_000_000_000
MEGABYTE = 1_000_000


def record(
    start_ms: int,
    end_ms: int,
    *,
    n: int = 1,
    memory: int = 1024,
    seq: int = 0,
    repeat: int | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """An ok record that ran from `start_ms` to `end_ms` and moved 1 MB; `changes` replace or add keys."""
    cell = f"memory_size={memory},concurrency_value={n}" + (f",repeat={repeat}" if repeat else "")
    return {
        "concurrency_limit": n,
        "download_time_seconds": (end_ms - start_ms) / 1000,
        "memory_size": memory,
        "run_id": "handmade",
        "cell": cell,
        "seq": seq,
        "message_id": f"{cell}-{seq}",
        "cold_start": 0,
        "attempt": 1,
        "started_at_ms": ORIGIN_MS + start_ms,
        "finished_at_ms": ORIGIN_MS + end_ms,
        "bytes": MEGABYTE,
        "status": "ok",
        "warm_up": 0,
    } | changes


def error(start_ms: int, end_ms: int, **changes: Any) -> dict[str, Any]:
    """An error record that ran from `start_ms` to `end_ms` and moved nothing."""
    made = record(start_ms, end_ms, **({"status": "error", "error_type": "ClientError", "bytes": 0} | changes))
    del made["download_time_seconds"]
    return made


def lasting(seconds: list[float], n: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """One record for each duration, one after the other."""
    at, made = 0, []
    for seq, length in enumerate(seconds):
        end = at + max(1, round(length * 1000))
        made.append(record(at, end, n=n, seq=seq, **changes) | {"download_time_seconds": length})
        at = end
    return made


def write(
    directory: Path, records: list[dict[str, Any]], plan: dict[str, list[Any]] | None = None, **manifest: Any
) -> Path:
    """A results folder with these records, every message on record as sent; the folder itself."""
    directory.mkdir(parents=True)
    sent = [{name: made[name] for name in ("cell", "seq", "message_id", "warm_up")} for made in records]
    for name, rows in (("records.jsonl", records), ("sent.jsonl", sent)):
        (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    head = {
        "format": 1,
        "run_id": "handmade",
        "experiment": "download",
        "target": "aws",
        "account": {"region": "us-east-1"},
    }
    repeated = {
        made["cell"]: int(made["cell"].rpartition("=")[2]) for made in records if ",repeat=" in str(made["cell"])
    }
    planned = [dict(zip(plan, values, strict=True)) for values in product(*plan.values())] if plan else []
    rows = [row | {"cell": ",".join(f"{name}={value}" for name, value in row.items())} for row in planned]
    repeats = max(repeated.values(), default=1)
    head["plan"] = {"swept": plan or {}, "fixed": {}, "repeats": repeats, "cells": rows}
    head["cells"] = [{"cell": name, "repeat": repeat} for name, repeat in repeated.items()]
    (directory / "run.json").write_text(json.dumps(head | manifest))
    return directory


def key(memory: int = 1024, n: int = 1, method: str = "download_file", sink: str = "", settings: str = "") -> Cell:
    """The key of a cell of the download."""
    return Cell.at(DOWNLOAD.axes, (memory, n, method, sink or default_sink(method)), settings)


def figures(cell: Cell, seconds: Sequence[float] = (), rounds: np.ndarray | None = None, **changes: Any) -> Figures:
    """A cell of which nothing but these seconds is known, in operations of 1 MB and, with `rounds`, of one stack."""
    last = 0 if rounds is None else int(max(rounds))
    sample, nothing = Sample(np.array(seconds), cell.words, rounds, [("stack", last)]), Sample(np.array([]))
    fields = {"counts": {}, "seconds": {}, "median": None, "metrics": {}, "overlap": None}
    fields |= {"everything": sample, "sample": sample, "speeds": nothing, "cold": nothing, "warm": nothing}
    return Figures(cell, **(fields | {"size_bytes": MEGABYTE, "mean_bytes": MEGABYTE} | changes))
