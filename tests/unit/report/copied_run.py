"""Writes runs of an experiment that copies objects, with SYNTHETIC figures: the calls/s of each cell are given."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS
from stampede.cell import FORMAT
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from tests.contract import synthetic

START_MS = synthetic.STARTED_MS


def course(seconds: int, limit_per_s: float, climb_s: int = 8) -> str:
    """The trajectory of a pace that climbs to a limit and swings around it."""
    points, in_flight = [], 4.0
    for at in range(1, seconds + 1):
        wanted = in_flight * 40
        slow = max(0.0, wanted - limit_per_s)
        points.append(f"{at}:{min(wanted, limit_per_s):.0f}:{in_flight:.0f}:{slow:.0f}")
        in_flight = in_flight * 0.85 if slow else in_flight + limit_per_s / 40 / climb_s
    return " ".join(points)


def write(
    folder: Path,
    speeds: Mapping[int, Sequence[float]],
    experiment: str = "copy",
    settings: Sequence[str] = (),
    target: str = "local",
    **changes: Any,
) -> Path:
    """A run of these calls/s by parallel limit, one for each message; the folder. `changes` stand in every record."""
    declared = EXPERIMENTS[experiment]
    limits = ",".join(map(str, speeds))
    messages = max(map(len, speeds.values()))
    plan = make_plan(declared, "local", [f"parallel_limit={limits}", *settings], messages_per_concurrency=messages)
    records = []
    for demand in sorted(demands(plan), key=lambda candidate: candidate.cell.values["parallel_limit"]):
        rates = speeds[demand.cell.values["parallel_limit"]]
        planned, free_ms = 1000, [START_MS] * demand.concurrency
        for seq, per_s in enumerate(rates):
            worker = seq % demand.concurrency
            seconds = planned / per_s
            account = {"planned": planned, "copied": planned, "calls": planned, "bytes": planned * 10_000}
            account |= dict.fromkeys(("already_there", "failed", "malformed", "slowdowns", "retries"), 0)
            account |= {"calls_per_s": per_s, "call_p50_ms": 20.0, "call_p99_ms": 44.5}
            account |= {"peak_memory_mb": 31.5, "client_cpu_seconds": 0.8}
            ended_ms = free_ms[worker] + round(seconds * 1000)
            happened = {"elapsed_seconds": seconds, "started_at_ms": free_ms[worker], "finished_at_ms": ended_ms}
            happened |= {"sandbox_id": f"sandbox-{worker}", "run_id": folder.name}
            happened |= {"trajectory": course(max(1, round(seconds)), per_s)}
            free_ms[worker] = ended_ms + 5
            records.append(synthetic.record(declared, demand, seq, **(account | happened | changes)))
    folder.mkdir(parents=True)
    manifest = {"format": FORMAT, "run_id": folder.name, "experiment": experiment, "target": target}
    manifest |= {"plan": plan.as_dict(), "cells": [cell.as_json() for cell in plan.cells]}
    manifest["finished"] = {cell.name: {} for cell in plan.cells}
    (folder / "run.json").write_text(json.dumps(manifest))
    save(folder, records)
    return folder


def save(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records and the log lines that they came from."""
    for name, rows in {"records": records, "log_events": list(synthetic.log_lines(records))}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, to be changed and saved again."""
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
