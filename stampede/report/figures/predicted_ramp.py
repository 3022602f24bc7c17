"""How many would run at once over time, as a model says: the picture of those that did, drawn of predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments import Experiment
from stampede.report.figures import drawing, overlap_timeline
from stampede.report.figures.series import drawn
from stampede.runs.cell_key import Key


def draw(experiment: Experiment, cells: Sequence[tuple[Key, Mapping[str, Any]]]) -> tuple[Figure | None, int]:
    """The picture of predictions as run.json has them, by their cells, and how many cells it has no room for."""
    numbers = {"cells": [_cell(key, prediction) for key, prediction in cells]}
    predicted = drawn(experiment, numbers)
    return _figure(predicted), overlap_timeline.left_out(predicted)


@drawing.styled
def _figure(predicted: Any) -> Figure | None:
    figure = overlap_timeline.draw(predicted)
    if figure is not None:
        text = "seconds since the first start of the cell, predicted"
        figure.supxlabel(text, fontsize=11, y=0.06 / figure.get_figheight())
    return figure


def _cell(key: Key, prediction: Mapping[str, Any]) -> dict[str, Any]:
    """A prediction in the shape that cells have in statistics.json, as far as the picture asks."""
    parallelism = _parallelism(prediction)
    return {
        **key.figures(),
        "count": prediction["count"],
        "errors": 0,
        "parallelism": parallelism,
        "repeats": [{"parallelism": parallelism}],
    }


def _parallelism(prediction: Mapping[str, Any]) -> dict[str, Any] | None:
    ramp = prediction["ramp"]
    if not ramp:
        return None
    first_s = ramp[0][0]
    window = None
    if prediction["time_to_n_s"] is not None:
        window = {"from_ms": 1000 * prediction["time_to_n_s"], "to_ms": 1000 * prediction["window_end_s"]}
    return {
        "most_at_once": prediction["most_at_once"],
        "window": window,
        "span_ms": 1000 * prediction["span_s"],
        "timeline": {
            "at_ms": [1000 * (at_s - first_s) for at_s, _ in ramp],
            "running": [running for _, running in ramp],
        },
        "share_of_download_time_at_full": prediction["share_at_n"],
    }
