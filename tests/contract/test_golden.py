"""Stored runs count as they did when they were measured; their pages meet the rules of all
pages."""

import json

import pytest

from stampede.cell import Cell
from stampede.report import load
from stampede.report.cells import counted_rows
from stampede.runs import cells
from tests.contract.golden import GOLDEN, NAMES, rebuilt
from tests.contract.pages import check

# From this many different values on, a percentile is the lower edge of a bin of this width:
# docs/insights.md, "Percentiles".
BINNED_FROM, BIN = 100, 1.001
SUCCESSES = (
    "SELECT seconds FROM operations WHERE status = 'ok' AND NOT is_warm_up AND NOT is_foreign AND "
    "place_at = ?"
)


@pytest.fixture(scope="module", params=NAMES)
def run(request, tmp_path_factory):
    """A run's name, its folder, and what was computed from it."""
    return request.param, *rebuilt(request.param, tmp_path_factory.mktemp("golden"))


def test_a_stored_run_is_counted_as_it_always_was(run):
    name, folder, answer = run
    expected = json.loads((GOLDEN / name / "expected.json").read_text())
    for cell, figures in expected["cells"].items():  # sums may round differently
        expected["cells"][cell] = pytest.approx(figures, rel=1e-9)
    assert answer == expected
    assert (folder / "cells.csv").read_bytes() == (GOLDEN / name / "cells.csv").read_bytes()


def test_the_saved_query_answers_what_the_records_say(run):
    own = load(run[1])
    axes, store = own.experiment.axes, own.store
    queried = {
        Cell.of_figures(axes, row): row for row in cells.read(run[1] / "cells.csv", own.experiment)
    }
    recounted = {Cell.of_figures(axes, row): dict(row) for row in counted_rows(own)}
    assert queried.keys() == recounted.keys()
    for cell, counted in recounted.items():
        times = sorted(seconds for (seconds,) in store.rows(SUCCESSES, store.numbers[cell]))
        bin_width = BIN if len(set(times)) >= BINNED_FROM else 1
        for name, percent in (("p25_s", 25), ("p75_s", 75)):
            del counted[name]
            rank_s = cells.nearest_rank(times, percent)
            assert rank_s / bin_width * (1 - 1e-9) <= queried[cell][name] <= rank_s * (1 + 1e-9), (
                name
            )
        numbers = {name: value for name, value in counted.items() if type(value) in (int, float)}
        both = {
            name: queried[cell][name] for name in numbers if queried[cell].get(name) is not None
        }
        assert both.keys() >= {"count", "avg_s"}
        assert both == pytest.approx({name: numbers[name] for name in both}, rel=1e-9)


def test_its_page_is_answered_on_one_screen(run):
    check(run[1])
