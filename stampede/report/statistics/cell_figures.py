"""All figures of one cell, and the samples that comparisons between cells need."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments import Experiment
from stampede.cell import Cell
from stampede.report.columns import UNKNOWN, Columns, count, none_of, together
from stampede.report.measured import common_size, mean_size, metrics_of
from stampede.report.statistics import distribution, parallelism, rules
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.cold import cold_against_warm
from stampede.report.statistics.rounds import RoundSample
from stampede.report.statistics.selection import CellRecords
from stampede.runs.spread import quantile


@dataclass(frozen=True)
class Measured:
    """One cell: its figures as they stand in statistics.json, and its samples of seconds, `everything` without
    operations of which an earlier delivery had done a part.

    `object_bytes` is the size that all had in common, None when they differ or don't say; `moved_bytes` is the mean.
    """

    key: Cell
    figures: dict[str, Any]
    everything: Sample
    inside: Sample
    object_bytes: int | None
    moved_bytes: float | None


def measured(cell: CellRecords, experiment: Experiment, cold_among: int = 1) -> Measured:
    """Everything that can be said of one cell on its own; `cold_among` is how many cells have a difference of cold and
    warm ones."""
    # It seeds the resamples: without the separators, which are for reading.
    label = re.sub(r"(?<=\d),(?=\d)", "", cell.key.plain.words)
    repeats, overlapping = [], []
    for name, part in cell.by_repeat().items():
        floods = [overlap for flood in part.floods() if (overlap := parallelism.measure(flood))]
        repeats.append(_repeat(name, cell.run.repeat(name), part, floods))
        if floods:
            overlapping.append(floods)
    inside = together(none_of(cell.done), *(flood.inside for floods in overlapping for flood in floods))
    everything = inside_sample = cell.sample(cell.done, cell.done["seconds"], f"{label}, all")
    if count(inside) < count(cell.done):
        inside_sample = cell.sample(inside, inside["seconds"], f"{label}, inside the window")
    whole, compared = cell.whole, everything
    if count(whole) < count(cell.done):
        compared = cell.sample(whole, whole["seconds"], f"{label}, all")
    # What is a mean of single operations: where a part of one was done before, or failed, it says nothing of the whole.
    of_whole = metrics_of(whole, experiment)
    means = {metric.name: of_whole[metric.name] for metric in experiment.metrics if metric.how == "mean"}
    figures = {
        **cell.key.figures(),
        **_counts(cell),
        **_spread(cell.done, everything),
        "client": metrics_of(cell.done, experiment) | means,
        "repeats": repeats,
        "between_repeats": _between(repeats),
        "parallelism": parallelism.combined(overlapping),
        "inside_window": {"count": count(inside)} | _spread(inside, inside_sample),
        "cold": cold_against_warm(cell, label, experiment.operation[0], cold_among),
    }
    if isinstance(everything, RoundSample):
        figures["rounds"] = everything.rounds
    if intruders := cell.intruders:
        figures["intruders"] = intruders
    if left_out := count(cell.done) - count(whole):
        figures["left_out_of_speeds"] = left_out
    return Measured(cell.key, figures, compared, inside_sample, common_size(cell.done), mean_size(cell.done))


def _counts(cell: CellRecords) -> dict[str, Any]:
    numbers, counts = np.unique(cell.done["attempt"], return_counts=True)
    attempts = {"unknown" if at == UNKNOWN else str(at): int(many) for at, many in zip(numbers, counts, strict=True)}
    return {
        "count": count(cell.done),
        "duplicates": count(cell.duplicates),
        "errors": count(cell.errors),
        "warm_ups": count(cell.warm_ups),
        "warm_up_errors": int(cell.warm_ups["is_error"].sum()),
        "sent": cell.sent,
        "attempts": {name: attempts[name] for name in sorted(attempts, key=lambda name: (len(name), name))},
        "retried": sum(many for name, many in attempts.items() if name not in ("1", "unknown")),
    }


def _spread(records: Columns, sample: Sample) -> dict[str, Any]:
    seconds = distribution.seconds(sample)
    return {"seconds": seconds, "mbit_per_s": distribution.speed(records, seconds["mean_interval"])}


def _repeat(name: str, number: int | None, part: CellRecords, floods: Sequence[parallelism.Flood]) -> dict[str, Any]:
    ordered = np.sort(part.done["seconds"]).tolist()
    return {
        "cell": name,
        "repeat": number,
        "count": len(ordered),
        "mean_s": distribution.mean(ordered) if ordered else None,
        "median_s": quantile(ordered, 0.5) if ordered else None,
        "parallelism": parallelism.repeat_figures(floods) if floods else None,
    }


def _between(repeats: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How far the means of the repeats lie apart; None for fewer than two with a time."""
    means = [repeat["mean_s"] for repeat in repeats if repeat["mean_s"] is not None]
    if len(means) < 2:
        return None
    lowest, highest = min(means), max(means)
    ratio = highest / lowest if lowest >= rules.SHORTEST_S else None
    return {"count": len(means), "lowest_mean_s": lowest, "highest_mean_s": highest, "ratio": ratio}
