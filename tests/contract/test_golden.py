"""Stored runs count as they did when they were measured, and their pages keep to what every page does."""

import json

import pytest

from stampede.cell import Cell
from stampede.report import load
from stampede.report.cells import counted_rows
from stampede.runs import cells
from stampede.runs.spread import nearest_rank
from tests.contract.golden import GOLDEN, NAMES, rebuilt
from tests.contract.pages import check

# From so many different values on, a percentile is the lower edge of a bin so wide: docs/insights.md, "Percentiles".
BINNED_FROM, BIN = 100, 1.001
SUCCESSES = "SELECT seconds FROM operations WHERE status = 'ok' AND NOT is_warm_up AND NOT is_foreign AND place_at = ?"


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
    queried = {Cell.of_figures(axes, row): row for row in cells.read(folder / "cells.csv", own.experiment)}
    counted_again = {Cell.of_figures(axes, row): dict(row) for row in counted_rows(own)}
    assert queried.keys() == counted_again.keys()
    for cell, counted in counted_again.items():
        row, at = queried[cell], own.store.numbers[cell]
        times = sorted(seconds for (seconds,) in own.store.rows(SUCCESSES, at))
        for name, percent in (("p25_s", 25), ("p75_s", 75)):
            del counted[name]
            rank_s = nearest_rank(times, percent)
            least_s = rank_s / BIN if len(set(times)) >= BINNED_FROM else rank_s
            assert least_s * (1 - 1e-9) <= row[name] <= rank_s * (1 + 1e-9), (row, name)
        numbers = [
            name
            for name, value in counted.items()
            if type(value) in (int, float) and type(row.get(name)) in (int, float)
        ]
        assert {"count", "avg_s"} <= set(numbers)
        for name in numbers:
            assert row[name] == pytest.approx(counted[name], rel=1e-9), (cell.words, name)


def test_its_page_is_answered_on_one_screen(run):
    check(run[1])
