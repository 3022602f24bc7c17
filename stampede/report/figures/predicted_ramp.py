"""How many would run at once over time, as a model says: the picture of those that did, drawn of predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.cell import Cell
from stampede.report.figures.overlap_timeline import OverlapTimeline
from stampede.report.figures.subject import Subject


class PredictedRamp(OverlapTimeline):
    """`predictions` are as run.json has them, by their cells."""

    name = "predicted_ramp"
    across = f"{OverlapTimeline.across}, predicted"

    def __init__(self, experiment: Experiment, predictions: Sequence[tuple[Cell, Mapping[str, Any]]]) -> None:
        cells = [_cell(key, prediction) for key, prediction in predictions]
        super().__init__(Subject.of(experiment, {"cells": cells}))


def _cell(key: Cell, prediction: Mapping[str, Any]) -> dict[str, Any]:
    """A prediction in the shape that cells have in statistics.json, as far as the picture asks."""
    ramp, parallelism, window = prediction["ramp"], None, None
    if prediction["time_to_n_s"] is not None:
        window = {"from_ms": 1000 * prediction["time_to_n_s"], "to_ms": 1000 * prediction["window_end_s"]}
    if ramp:
        first_s = ramp[0][0]
        parallelism = {
            "most_at_once": prediction["most_at_once"],
            "window": window,
            "span_ms": 1000 * prediction["span_s"],
            "timeline": {
                "at_ms": [1000 * (at_s - first_s) for at_s, _ in ramp],
                "running": [running for _, running in ramp],
            },
            "share_of_download_time_at_full": prediction["share_at_n"],
        }
    figures = {"count": prediction["count"], "errors": 0, "parallelism": parallelism}
    return {**key.figures(), **figures, "repeats": [{"parallelism": parallelism}]}
