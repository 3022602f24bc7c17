"""What the records say about each cell: spread, size, and its experiment's metrics. Nothing here reads the query."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from experiments import Experiment
from stampede.cell import Cell
from stampede.experiment import Metric
from stampede.phrases import listed, size_words
from stampede.report.columns import Columns, known
from stampede.report.run import Run
from stampede.runs.spread import Spread, spread

BITS_PER_MEGABIT = 1_000_000
BYTES_PER_GIB = 2**30
# More aren't listed.
MOST_SIZES = 3


def spreads(run: Run) -> dict[Cell, Spread]:
    """Figures of the time of each cell, counted from the records alone."""
    return {key: spread(group["seconds"].tolist()) for key, group in run.done.items()}


def mean_bytes(run: Run) -> dict[Cell, float]:
    """Mean size in bytes of what was transferred, by cell; a cell with a record that lacks it is left out."""
    sizes = {key: mean_size(group) for key, group in run.done.items()}
    return {key: size for key, size in sizes.items() if size is not None}


def moved_bytes(run: Run, keys: Collection[Cell]) -> int | None:
    """What one operation moved in the cells of `keys`; None when it differs, or a record doesn't say."""
    if run.object_bytes is not None:
        return run.object_bytes
    sizes = {common_size(group) for key, group in run.done.items() if key in keys}
    return sizes.pop() if len(sizes) == 1 else None


def moved_label(run: Run) -> str:
    """What `moved_words` is called beside it; of a user's own function only the message's body is known."""
    return "payload" if run.experiment.takes_payload else f"per {run.experiment.operation[0]}"


def moved_words(run: Run) -> str:
    """What one operation moved, for reading: `64 MiB`, `1 GiB and 52 MiB`, or `49 KiB to 1 GiB` of more sizes."""
    sizes = run.sizes
    if len(sizes) > MOST_SIZES:
        return f"{size_words(sizes[0])} to {size_words(sizes[-1])}"
    return listed([size_words(size) for size in reversed(sizes)]) or "not recorded"


def metrics(run: Run) -> dict[Cell, dict[str, Any]]:
    """The metrics of each cell beside its time, counted from the records alone."""
    return {key: metrics_of(group, run.experiment) for key, group in run.done.items()}


def metrics_of(records: Columns, experiment: Experiment) -> dict[str, Any]:
    """The metrics of `experiment` beside its time, of these records; None where one of them lacks it."""
    return {metric.name: _figure(records, metric) for metric in experiment.metrics[1:]}


def _figure(records: Columns, metric: Metric) -> float | int | None:
    values = known(records, "seconds" if metric.how == "per_second" else metric.field)
    if values is None:
        return None
    if metric.how == "rate":
        return rate(int(values.sum()) / len(values), math.fsum(records["seconds"].tolist()) / len(values))
    if metric.how == "sum":
        return int(values.sum())
    total = math.fsum(values.tolist())
    if metric.how == "per_second":
        return len(values) / total if total else None
    if metric.how == "mean":
        return total / len(values)
    sizes = known(records, "bytes")
    size_bytes = 0 if sizes is None else int(sizes.sum())
    return total / size_bytes * BYTES_PER_GIB if size_bytes else None


def speed_of(cell: Mapping[str, Any], experiment: Experiment) -> float | None:
    """The experiment's speed of one worker in a cell of statistics.json."""
    speed = experiment.speed
    return cell["mbit_per_s"]["per_function"] if speed.how == "rate" else cell["client"][speed.name]


def speed_interval(cell: Mapping[str, Any], experiment: Experiment) -> Mapping[str, float] | None:
    """The 95 % interval of that speed, from the one of the mean seconds; None where it has none."""
    mean_s = cell["seconds"]["mean_interval"]
    if experiment.speed.how == "per_second" and mean_s and mean_s["low"] > 0:
        return {"low": 1 / mean_s["high"], "high": 1 / mean_s["low"]}
    return cell["mbit_per_s"]["per_function_interval"] if experiment.speed.how == "rate" else None


def mean_size(records: Columns) -> float | None:
    """The mean size in bytes; None when one of them lacks it."""
    sizes = known(records, "bytes")
    return None if sizes is None else int(sizes.sum()) / len(sizes)


def common_size(records: Columns) -> int | None:
    """The size in bytes that all had in common; None when they differ or don't say."""
    sizes = known(records, "bytes")
    return int(sizes[0]) if sizes is not None and np.all(sizes == sizes[0]) else None


def rate(size_bytes: float | None, seconds: float | None) -> float | None:
    """Mbit/s (1 Mbit = 1,000,000 bits); None when either is unknown or no time passed."""
    return size_bytes * 8 / BITS_PER_MEGABIT / seconds if size_bytes is not None and seconds else None
