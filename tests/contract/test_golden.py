"""Stored runs count as they did when they were measured."""

import json

import pytest

from tests.contract.golden import GOLDEN, NAMES, rebuilt


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_run_is_counted_as_it_always_was(name, tmp_path):
    folder, answer = rebuilt(name, tmp_path)
    expected = json.loads((GOLDEN / name / "expected.json").read_text())
    cells, as_before = answer.pop("cells"), expected.pop("cells")
    assert answer == expected
    assert cells.keys() == as_before.keys()
    for cell, figures in as_before.items():
        assert cells[cell] == pytest.approx(figures, rel=1e-9), cell  # whatever adds up the seconds
    assert (folder / "cells.csv").read_bytes() == (GOLDEN / name / "cells.csv").read_bytes()
