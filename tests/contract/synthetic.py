"""Makes results folders of any experiment with SYNTHETIC figures (seeded random numbers, not
measurements), from its declaration alone: the real plan, and records with the agreed keys."""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import Experiment
from stampede.cell import FORMAT
from stampede.checkout import ROOT
from stampede.planning.demand import Demand, demands
from stampede.planning.plan import make_plan, share_of_round, with_rounds
from stampede.variable_rules import RULES

RECORD = json.loads((ROOT / "functions/agreed/record.json").read_text())
STARTED_MS = 1_760_000_000_000
PER_N = 12
TAG = "experiment 01"  # the published query looks for it
PRICES = {
    "lambda_gb_s_x86_64": 1e-5,
    "lambda_request": 2e-7,
    "s3_get": 4e-7,
    "s3_put": 5e-6,
    "express_put": 1e-6,
}
PRICES |= {
    "express_get": 4e-8,
    "express_upload_gb": 0.003,
    "express_read_gb": 0.001,
    "s3_transfer_gb": 0,
}
COST = {"total_usd": 1.5, "items": [{"service": "S3", "what": "GET", "usd": 1.5}], "prices": PRICES}


def kind_of(experiment: Experiment, demand: Demand) -> str:
    """A cell's kind of record: of a function, or of a query that a service runs for `stampede`."""
    is_query = experiment.execution(demand.cell.values) is not None
    return f"{experiment.name}_query" if is_query else experiment.name


def record(
    experiment: Experiment, demand: Demand, seq: int = 0, attempt: int = 1, **changes: Any
) -> dict[str, Any]:
    """A record of one cell with the agreed keys in their order, updated with `changes`. A failed
    record has no time."""
    is_error = changes.get("status") == "error"
    fields = [experiment.time_field if name == "<time>" else name for name in RECORD["common"]]
    fields += RECORD["own"][kind_of(experiment, demand)] + (RECORD["error"] if is_error else [])
    message = f"{demand.name}-{seq}"
    values = dict.fromkeys(fields, "made up")
    values |= {metric.field: 0 if metric.how == "sum" else 0.25 for metric in experiment.metrics}
    values |= _coordinates(experiment, demand)
    values |= {
        "concurrency_limit": demand.concurrency,
        "memory_size": demand.memory_mb,
        "experiment_tag": TAG,
    }
    values |= {
        "cell": demand.name,
        "seq": seq,
        "attempt": attempt,
        "round": 0,
        "warm_up": 0,
        "cold_start": 0,
    }
    values |= {"batch": 1, "batch_index": 0}
    values |= {
        "status": "ok",
        "experiment": experiment.name,
        "sdk": "botocore 1.43.106",
        "message_id": message,
        "request_id": f"{message}-{attempt}",
    }
    values |= {"started_at_ms": STARTED_MS, "finished_at_ms": STARTED_MS + 1000}
    values |= {"bytes": demand.usage.moved_mb * 2**20} | changes
    return {
        name: values[name]
        for name in [*fields, *changes]
        if not is_error or name != experiment.time_field
    }


def _coordinates(experiment: Experiment, demand: Demand) -> dict[str, Any]:
    """What the cell's records say for each axis."""
    values: list[Any] = []
    for axis in experiment.axes:
        value = demand.cell.setting(axis.variable) if axis.variable else axis.default_of(values)
        is_path = axis.variable in RULES and RULES[axis.variable].shared.get("is_path")
        values.append(Path(value).name if is_path else value)
    axes = zip(experiment.axes, values, strict=True)
    return {
        axis.record_field: None if axis.variable and not value else value for axis, value in axes
    }


def write(
    folder: Path,
    experiment: Experiment,
    settings: Sequence[str] = (),
    unmeasured: int = 0,
    takes: Callable[[Demand], float] | None = None,
    per_n: int = PER_N,
    repeats: int = 1,
    rounds: int = 1,
    **keys: Any,
) -> Path:
    """Write a run of the local matrix with `--set` settings, without the report's files; return the
    folder.

    The first message of each cell fails once and then succeeds; the last `unmeasured` cells are
    only in the plan. `takes` gives the seconds of a cell's operations; by default each cell takes
    longer than the one before. Cells of one stack run in at most `rounds`. `keys` are added to
    run.json.
    """
    plan = make_plan(experiment, "local", settings, messages_per_concurrency=per_n, repeats=repeats)
    plan = with_rounds(plan, rounds) if rounds > 1 else plan
    cells = demands(plan)
    measured = cells[: len(cells) - unmeasured]
    dice, made, sent = random.Random(1), [], []
    for number, demand in enumerate(measured):
        seconds = takes(demand) if takes else 1 + number / 4
        flood = (
            record | {"run_id": folder.name} for record in _flood(experiment, demand, seconds, dice)
        )
        made += _in_rounds(flood, demand, number) if demand.cell.rounds > 1 else flood
        messages = range(demand.cell.messages)
        sent += [
            {"cell": demand.name, "seq": seq, "message_id": f"{demand.name}-{seq}"}
            for seq in messages
        ]
    manifest = {
        "format": FORMAT,
        "run_id": folder.name,
        "experiment": experiment.name,
        "target": "local",
        "plan": plan.as_dict(),
        "cells": [cell.as_json() for cell in plan.cells],
        "finished": {demand.name: {} for demand in measured},
        "cost": COST,
    }
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(manifest | keys))
    counts = [
        {"cell": demand.name, **dict.fromkeys(("sent", "succeeded"), demand.cell.messages)}
        for demand in measured
    ]
    (folder / "accounting.json").write_text(json.dumps(counts))
    files = {"records": made, "log_events": log_lines(made), "sent": sent}
    if experiment.shared_list:
        files["failed_objects"] = failed_objects(made)
    for name, rows in files.items():
        _write_lines(folder / f"{name}.jsonl", rows)
    return folder


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def change_records(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Rewrite the records of a run, each updated with the result of `change`."""
    path = folder / "records.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    _write_lines(path, (row | change(row) for row in rows))


def _flood(
    experiment: Experiment, demand: Demand, about_s: float, dice: random.Random
) -> Iterator[dict[str, Any]]:
    """The records of one cell: N functions take its messages in turn."""
    free = [STARTED_MS + dice.randrange(50) for _ in range(demand.concurrency)]
    for at, seq in enumerate([0, *range(demand.cell.messages)]):
        worker = at % demand.concurrency
        seconds = about_s * dice.lognormvariate(0, 0.1)
        start, end = free[worker], free[worker] + max(1, round(seconds * 1000))
        free[worker] = end + dice.randrange(1, 15)
        happened = {experiment.time_field: seconds, "started_at_ms": start, "finished_at_ms": end}
        happened |= {"sandbox_id": f"sandbox-{worker}", "cold_start": int(at < demand.concurrency)}
        if experiment.speed.field == "objects_per_s":
            happened["objects_per_s"] = demand.cell.values["object_count"] / seconds
        if experiment.shared_list:
            happened |= _objects(demand, seconds, failed=int(at == 1))
        if at == 0:
            happened |= {
                "status": "error",
                "error_type": "ThrottlingError",
                "error_message": "slow down",
                "bytes": 0,
            }
        yield record(experiment, demand, seq, 2 if at == 1 else 1, **happened)


def _in_rounds(
    flood: Iterator[dict[str, Any]], demand: Demand, number: int
) -> Iterator[dict[str, Any]]:
    """The records of a cell when other cells ran between its rounds."""
    shares = [
        share_of_round(demand.cell.messages, demand.cell.rounds, at + 1)
        for at in range(demand.cell.rounds)
    ]
    for record in flood:
        at = next(at for at, share in enumerate(shares) if record["seq"] in share)
        later_ms = at * 3_600_000 + number * 60_000
        times = {name: record[name] + later_ms for name in ("started_at_ms", "finished_at_ms")}
        yield record | times | {"round": at + 1}


def _objects(demand: Demand, seconds: float, failed: int) -> dict[str, Any]:
    """What a record says of its objects, a message's share of them."""
    planned = max(2, demand.cell.values["object_count"] // demand.cell.messages)
    counts = {
        "planned": planned,
        "copied": planned - failed,
        "already_there": 0,
        "failed": failed,
        "malformed": 0,
    }
    per_s = (planned - failed) / seconds
    course = " ".join(
        f"{at}:{per_s:.0f}:{demand.cell.values['parallel_limit']}:{at % 2}" for at in range(1, 5)
    )
    return counts | {
        "calls": planned + 3,
        "calls_per_s": per_s,
        "slowdowns": 3,
        "trajectory": course,
    }


def failed_objects(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of failed_objects.jsonl for these records."""
    error = {"slice": 0, "line": 3, "source": "a b", "destination": "2015/01/01/00/a b"}
    error |= {"error_type": "AccessDenied", "error_message": "Access Denied"}
    own = ("cell", "seq", "attempt")
    return [{name: row[name] for name in own} | error for row in records if row.get("failed") == 1]


def log_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The log events of these records as Lambda writes them, without START and END lines."""
    for record in records:
        at = record["finished_at_ms"]
        lasted_ms = at - record["started_at_ms"]
        sizes = (
            f"Memory Size: {record['memory_size']} MB\tMax Memory Used: 99 MB\tInit Duration: "
            "100.00 ms\t"
        )
        billed = f"Duration: {lasted_ms}.00 ms\tBilled Duration: {lasted_ms} ms\t{sizes}"
        lost = failed_objects([record])
        own = {name: record[name] for name in ("run_id", "cell", "seq", "attempt")}
        texts = [json.dumps(own | {"failed_objects": lost})] if lost else []
        texts += [json.dumps(record), f"REPORT RequestId: {record['request_id']}\t{billed}"]
        yield from (
            {"timestamp": at, "message": f"{text}\n", "logStream": record["sandbox_id"]}
            for text in texts
        )
