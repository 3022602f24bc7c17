"""Stored runs count as they did when they were measured."""

import json
import math

import pytest

from stampede.cell import Cell
from stampede.report import load
from stampede.report.measured import metrics
from stampede.runs import cells
from stampede.runs.spread import nearest_rank
from tests.contract.golden import GOLDEN, NAMES, rebuilt

# From so many different values on, a percentile is the lower edge of a bin so wide: docs/insights.md, "Percentiles".
BINNED_FROM, BIN = 100, 1.001


@pytest.fixture(scope="module", params=NAMES)
def run(request, tmp_path_factory):
    """A run's name, its folder, and what was made of it."""
    return request.param, *rebuilt(request.param, tmp_path_factory.mktemp("golden"))


def test_a_stored_run_is_counted_as_it_always_was(run):
    name, folder, made = run
    answer, expected = dict(made), json.loads((GOLDEN / name / "expected.json").read_text())
    counted, as_before = answer.pop("cells"), expected.pop("cells")
    assert answer == expected
    assert counted.keys() == as_before.keys()
    for cell, figures in as_before.items():
        assert counted[cell] == pytest.approx(figures, rel=1e-9), cell  # whatever adds up the seconds
    assert (folder / "cells.csv").read_bytes() == (GOLDEN / name / "cells.csv").read_bytes()


def test_the_saved_query_answers_what_the_records_say(run):
    _, folder, _ = run
    own = load(folder)
    axes = own.experiment.axes
    rows = {Cell.of_figures(axes, row): row for row in cells.read(folder / "cells.csv", own.experiment)}
    assert rows.keys() == own.done.keys()
    for key, taken in metrics(own).items():
        row, times = rows[key], sorted(own.done[key]["seconds"].tolist())
        figures = {"count": len(times), "min_s": times[0], "avg_s": math.fsum(times) / len(times), "max_s": times[-1]}
        figures |= {metric.name: taken.get(metric.name) for metric in cells.taken(own.experiment)}
        told = {name: value for name, value in figures.items() if None not in (value, row[name])}
        assert {name: row[name] for name in told} == pytest.approx(told, rel=1e-9), key.words
        for name, percent in (("p25_s", 25), ("p75_s", 75)):
            rank_s = nearest_rank(times, percent)
            least_s = rank_s / BIN if len(set(times)) >= BINNED_FROM else rank_s
            assert least_s * (1 - 1e-9) <= row[name] <= rank_s * (1 + 1e-9), (key.words, name)
