"""Writes results folders from single downloads, for figures that can be counted by hand."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.download.declaration import DOWNLOAD, default_sink
from stampede.cell import Cell
from stampede.report.analysis import Analysis, analyse
from stampede.report.cells import Figures
from stampede.report.intervals import Sample
from stampede.report.run import load

ORIGIN_MS = 1_760_000_000_000
MEGABYTE = 1_000_000


def record(
    start_ms: int, end_ms: int, *, n: int = 1, memory: int = 1024, seq: int = 0, **changes: Any
) -> dict[str, Any]:
    """An ok record from `start_ms` to `end_ms` that moved 1 MB; `changes` replace or add keys."""
    cell = cell_id(n, memory)
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


def cell_id(n: int, memory: int = 1024) -> str:
    return f"memory_size={memory},concurrency_value={n}"


def error(start_ms: int, end_ms: int, **changes: Any) -> dict[str, Any]:
    """An error record from `start_ms` to `end_ms` that moved nothing."""
    made = record(
        start_ms, end_ms, **({"status": "error", "error_type": "ClientError", "bytes": 0} | changes)
    )
    del made["download_time_seconds"]
    return made


def lasting(seconds: Sequence[float], **changes: Any) -> list[dict[str, Any]]:
    """One record for each duration, one after the other."""
    ends_ms = np.cumsum(np.maximum(1, np.round(np.multiply(seconds, 1000)))).astype(int).tolist()
    return [
        record(start_ms, end_ms, seq=seq, **changes) | {"download_time_seconds": length}
        for seq, (start_ms, end_ms, length) in enumerate(
            zip([0, *ends_ms[:-1]], ends_ms, seconds, strict=True)
        )
    ]


def write(
    directory: Path, records: list[dict[str, Any]], planned: Sequence[int] = (), **manifest: Any
) -> Path:
    """Write a results folder with these records, every message recorded as sent, and a plan of
    these N; return the folder."""
    directory.mkdir(parents=True)
    sent = [
        {name: made[name] for name in ("cell", "seq", "message_id", "warm_up")} for made in records
    ]
    write_lines(directory / "records.jsonl", records)
    write_lines(directory / "sent.jsonl", sent)
    head = {"format": 1, "run_id": "handmade", "experiment": "download", "target": "aws"}
    cells = [{"memory_size": 1024, "concurrency_value": n, "cell": cell_id(n)} for n in planned]
    head["plan"] = {
        "swept": {"concurrency_value": list(planned)},
        "fixed": {},
        "repeats": 1,
        "cells": cells,
    }
    head |= {"cells": [], "account": {"region": "us-east-1"}}
    (directory / "run.json").write_text(json.dumps(head | manifest))
    return directory


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def analysed(folder: Path) -> Analysis:
    return analyse(load(folder))


def key(
    memory: int = 1024,
    n: int = 1,
    method: str = "download_file",
    sink: str = "",
    settings: str = "",
) -> Cell:
    """The key of a cell of the download."""
    return Cell.at(DOWNLOAD.axes, (memory, n, method, sink or default_sink(method)), settings)


def figures(cell: Cell, seconds: Sequence[float] = (), **changes: Any) -> Figures:
    """A cell with these seconds and nothing else, in operations of 1 MB."""
    sample, nothing = Sample(np.array(seconds), cell.words), Sample(np.array([]))
    fields = {"counts": {}, "seconds": {}, "median": None, "metrics": {}, "overlap": None}
    fields |= {
        "everything": sample,
        "sample": sample,
        "speeds": nothing,
        "cold": nothing,
        "warm": nothing,
    }
    return Figures(cell, **(fields | {"size_bytes": MEGABYTE, "mean_bytes": MEGABYTE} | changes))
