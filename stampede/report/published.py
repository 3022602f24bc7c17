"""The published figures, as data (`experiments/<name>/published/*.csv`; experiments/README.md
describes each setting)."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments import Experiment
from stampede.cell import Cell
from stampede.checkout import ROOT
from stampede.experiment import Metric, Published
from stampede.report.cells import mbit_per_s
from stampede.runs.cells import SECONDS


@dataclass(frozen=True)
class PublishedCell:
    """A published cell: its figures among SECONDS and metrics, and the seconds of single runs."""

    published: Published
    cell: Cell
    figures: Mapping[str, float]
    runs_s: Sequence[float] = ()

    def stands_beside(self, key: Cell) -> bool:
        """Whether it belongs to the cell `key`, on all axes but those its table leaves open."""
        without = self.published.beside_any
        return self.cell.without(without) == key.without(without)

    def beside(self, key: Cell) -> Cell:
        """The coordinates of its row next to the cell `key`: those of that cell, but its own number
        of objects and what follows from that."""
        if self.published.objects_axis:
            own = {axis.name: self.cell[axis.name] for axis in key.axes if callable(axis.default)}
        else:
            own = {name: self.cell[name] for name in self.published.beside_any}
        return Cell.of_figures(key.axes, key.figures() | own)

    def speed(self, metric: Metric) -> float | None:
        """Its value of the experiment's speed: as published, else work over the mean time."""
        return self.figures.get(metric.name) or self._over(metric, self.figures.get("avg_s"))

    def _over(self, metric: Metric, seconds: float | None) -> float | None:
        if metric.how == "rate":
            return mbit_per_s(self.published.object_bytes, seconds)
        axis = self.published.objects_axis
        objects = self.cell[axis] if axis else self.published.objects
        return objects / seconds if objects and seconds else None


def rows(name: str) -> list[dict[str, str]]:
    """The rows of the published table `name`, as text. Raises ValueError if it doesn't exist."""
    [file] = (ROOT / "experiments").glob(f"*/published/{name}.csv")
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def every_cell(experiment: Experiment) -> list[PublishedCell]:
    """All published cells of `experiment`, table by table."""
    return [cell for published in experiment.published for cell in _of_table(experiment, published)]


def _of_table(experiment: Experiment, published: Published) -> Iterator[PublishedCell]:
    wanted = (*SECONDS, *(metric.name for metric in experiment.metrics))
    by_key: dict[Cell, list[Mapping[str, str]]] = {}
    for row in _read(published.file):
        if published.only.items() <= row.items():
            values = row | {name: row[column] for name, column in published.columns.items()}
            own = {
                axis.name: axis.kind(values[axis.name])
                for axis in experiment.axes
                if axis.name in values
            }
            place = {**published.fixed, **own, **published.cell(row)}
            key = Cell.at(experiment.axes, (place.get(axis.name) for axis in experiment.axes))
            if key is not None:
                by_key.setdefault(key, []).append(values)
    for key, alike in by_key.items():
        figures = {
            name: sum(float(row[name]) for row in alike) / len(alike)
            for name in wanted
            if name in alike[0]
        }
        runs_s = [int(alike[0][column]) / 1000 for column in published.runs_ms]
        if runs_s:
            low, high = np.quantile(runs_s, 0.25), np.quantile(runs_s, 0.75)
            five = (min(runs_s), float(low), float(np.mean(runs_s)), float(high), max(runs_s))
            figures = dict(zip(SECONDS, five, strict=True)) | figures
        yield PublishedCell(published, key, figures, runs_s)


_read = cache(rows)
