"""What the model said of a run before it began, from run.json, tolerantly: what can't be used is named and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stampede.model.parameters import Parameter, ParameterError
from stampede.phrases import some

# What is set beside the measured, as the model names it, and which of it may be None: N is never reached, or no
# operation succeeds.
FIGURES = ("avg_s", "most_at_once", "time_to_n_s", "share_at_n", "span_s")
MAY_LACK = ("avg_s", "time_to_n_s")
# A year in seconds, and more functions than any account has: beyond it a figure is none.
LARGEST = 1e8
# A warning that names more than this is not read to its end.
NAMED = 3


@dataclass(frozen=True)
class Forecast:
    """One cell: the value of each of FIGURES, its (low, high) where it has one, and the limit that binds, or ""."""

    values: Mapping[str, float | None]
    ranges: Mapping[str, tuple[float, float]]
    binds: str


@dataclass(frozen=True)
class Prediction:
    """The cells by id, the parameters that they rest on and whose these are, `aws`."""

    place: str
    seed: int | None
    date: str
    parameters: list[Parameter]
    cells: Mapping[str, Forecast]


def read(manifest: Mapping[str, Any], warnings: list[str]) -> Prediction | None:
    """The prediction of run.json; None in a run that has none. What is damaged is added to `warnings`."""
    stored = manifest.get("prediction")
    if stored is None or (isinstance(stored, dict) and stored.get("place") == "local"):
        return None  # earlier versions had a model of this machine too
    if not isinstance(stored, dict) or not isinstance(stored.get("cells"), dict):
        warnings.append("run.json: the prediction has no named cells; left out.")
        return None
    cells = {name: _forecast(cell) for name, cell in stored["cells"].items()}
    if damaged := [name for name, forecast in cells.items() if forecast is None]:
        warnings.append(f"run.json: the prediction of {some(damaged, NAMED)} can’t be read; left out.")
    seed = stored.get("seed")
    return Prediction(
        place=str(stored.get("place") or ""),
        seed=seed if type(seed) is int else None,
        date=str(stored.get("date") or ""),
        parameters=_parameters(stored.get("parameters"), warnings),
        cells={name: forecast for name, forecast in cells.items() if forecast is not None},
    )


def _forecast(stored: object) -> Forecast | None:
    """One cell; None where anything of it can't be what the model says."""
    if not isinstance(stored, dict):
        return None
    values = {name: stored.get(name) for name in FIGURES}
    ranges = stored.get("ranges") or {}
    if not isinstance(ranges, dict):
        return None
    ranges = {name: ranges[name] for name in FIGURES if ranges.get(name) is not None}
    if not all(_is_figure(value) or (value is None and name in MAY_LACK) for name, value in values.items()):
        return None
    if not all(map(_is_range, ranges.values())):
        return None
    bottleneck = str(stored.get("binds") or "")
    return Forecast(values, {name: (low, high) for name, (low, high) in ranges.items()}, bottleneck)


def _is_figure(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= LARGEST


def _is_range(ends: object) -> bool:
    return isinstance(ends, list) and len(ends) == 2 and all(map(_is_figure, ends)) and ends[0] <= ends[1]


def _parameters(stored: object, warnings: list[str]) -> list[Parameter]:
    parameters = []
    for row in stored if isinstance(stored, list) else ():
        try:
            parameters.append(Parameter.of(row if isinstance(row, dict) else {}, "run.json"))
        except ParameterError as error:
            warnings.append(f"{error}; left out.")
    return parameters
