"""The published figures, as data (`experiments/published/*.csv`; the README there names each setting)."""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from experiments import Experiment
from experiments.experiment import Published
from report.cell_key import Key
from report.cells import SECONDS


def rows(name: str) -> list[dict[str, str]]:
    """The rows of the published table `name` as text, exactly as published. Raises FileNotFoundError."""
    text = (files("experiments") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def table(experiment: Experiment) -> dict[Key, tuple[Published, Mapping[str, float]]]:
    """The published figures beside which cells of `experiment` stand, those of SECONDS that there are, by cell."""
    found = {}
    for published in experiment.published:
        for row in _read(published.file):
            named = row | {ours: row[its] for ours, its in published.columns.items()}
            told = {axis.name: axis.kind(named[axis.name]) for axis in experiment.axes if axis.name in named}
            told = {**published.fixed, **told, **published.cell(row)}
            key = Key.of(experiment.axes, (told.get(axis.name) for axis in experiment.axes))
            if key is not None:
                found[key] = (published, {name: float(named[name]) for name in SECONDS if name in named})
    return found


_read = cache(rows)
