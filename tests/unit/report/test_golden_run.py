"""A run that was measured and reported before other experiments had a place counts as it did, byte for byte."""

import shutil
from pathlib import Path

import pytest

from report.rebuild import build

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "download"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden") / "run"
    shutil.copytree(GOLDEN, folder, ignore=shutil.ignore_patterns("expected"))
    build(folder)
    return folder


@pytest.mark.parametrize("name", ["cells.csv", "statistics.json", "table.md"])
def test_a_stored_run_is_counted_as_it_always_was(rebuilt, name):
    assert (rebuilt / name).read_text() == (GOLDEN / "expected" / name).read_text()
