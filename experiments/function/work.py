"""One invocation in the words of the model: the handler's CPU seconds and waiting time, which a
run's first cell measures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, quantiles, stdev
from typing import Any

from stampede.checkout import INFRA, ROOT
from stampede.errors import UsageError
from stampede.experiment import Values
from stampede.model.parameters import Parameter, Parameters
from stampede.model.processor import seconds, vcpus
from stampede.model.work import Step, Work
from stampede.phrases import counted

EXAMPLE = ROOT / "examples" / "thumbnail"


class FunctionValues(Values):
    """The variables that the experiment reads."""

    package: str
    handler: str
    runtime: str
    policy_file: str | None
    environment: dict[str, str]
    layers: list[str]
    subnet_ids: list[str]
    batch_size: int
    batching_window_s: int


# Parameters of the model must be above 0.
LEAST = 1e-6


def work(values: FunctionValues, parameters: Parameters) -> Work:
    """One invocation of the handler, and the start of its runtime. Raises UsageError for a user's
    own handler if its parameters are still the guesses for the example."""
    is_guess = parameters.row("handler_cpu_s").known == "guessed"
    if is_guess and Path(os.path.realpath(INFRA / str(values["package"]))) != EXAMPLE:
        raise UsageError(
            "how long your handler takes isn't known before it has run",
            "`stampede simulate function --run RUN_ID` predicts from a run's first cell",
        )
    handler = Step(
        "the handler", fixed_s=parameters["handler_wait_s"], cpu_s=parameters["handler_cpu_s"]
    )
    runtime = "go" if values["runtime"].startswith("provided") else "python"
    cold_s = parameters[f"{runtime}_start_s"] + parameters["handler_init_s"]
    return Work([handler], spread=parameters["spread"], cold_s=cold_s)


def measured(
    records: Iterable[Mapping[str, Any]], parameters: Parameters, run_id: str, place: str
) -> list[Parameter]:
    """The handler's parameters for an invocation with its whole batch: medians and quartiles of the
    run's cell with the smallest N, the most memory and the smallest batches. `place` is where it
    ran, `aws` or `local`. Raises LookupError if fewer than two invocations of it succeeded."""

    def cell_of(row: Mapping[str, Any]) -> tuple[int, int, int]:
        return -row["concurrency_limit"], row["memory_size"], -(row.get("batch_size") or 1)

    # All messages of a batch have the same times.
    succeeded = [
        row
        for row in records
        if row["status"] == "ok" and row["warm_up"] != 1 and not row.get("batch_index")
    ]
    cell = max(map(cell_of, succeeded), default=(0, 0, 0))
    rows = [row for row in succeeded if cell_of(row) == cell]
    if len(rows) < 2:
        raise LookupError(f"run {run_id} has fewer than two successful invocations in a cell")
    # The embedded AWS gives a function a whole processor.
    processors = vcpus(cell[1], parameters) if place == "aws" else 1.0
    cpu_s = [row["client_cpu_seconds"] for row in rows]
    took_s = [row["elapsed_seconds"] for row in rows]
    wait_s = [took - seconds(used, processors, 1) for took, used in zip(took_s, cpu_s, strict=True)]
    init_s = [row["init_seconds"] for row in rows if row["init_seconds"] is not None]
    batches = f", batches of {-cell[2]:,}" if cell[2] < -1 else ""
    source = (
        f"{counted(len(rows), 'invocation')} of run {run_id}, N = {-cell[0]:,}, {cell[1]:,} "
        f"MB{batches}"
    )
    try:
        date = datetime.fromtimestamp(rows[0]["started_at_ms"] / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise LookupError(f"run {run_id} has a record of an impossible time") from None

    def row(name: str, unit: str, numbers: list[float]) -> Parameter:
        quartiles = quantiles(numbers if len(numbers) > 1 else numbers * 2, method="inclusive")
        low, value, high = (max(LEAST, quartile) for quartile in quartiles)
        return Parameter(name, value, low, high, unit, "measured", source, date)

    spread = max(LEAST, stdev(took_s) / mean(took_s))
    return [
        row("handler_cpu_s", "CPU-s/invocation", cpu_s),
        row("handler_wait_s", "s", wait_s),
        Parameter(
            "spread", spread, spread / 2, spread * 2, "of the seconds", "measured", source, date
        ),
        *([row("handler_init_s", "s", init_s)] if init_s else []),
    ]
