"""`aa_*`: runs of two variants that are one are read as runs that claim something; a clear difference is counted."""

import multiprocessing
import shutil
from dataclasses import replace

import pytest

from bench import aa
from bench.pairs import Entry
from experiments.download.declaration import DOWNLOAD
from tests.contract import synthetic

CELL = ("memory_size=1024", "concurrency_value=1")
AS_IT_IS = replace(aa.DOWNLOAD, read_as=lambda manifest, lines: None)


@pytest.fixture
def run(tmp_path):
    """Of two methods, the second of which takes twice as long."""
    settings = (*CELL, "method=download_file,stream")
    takes = {False: 1.0, True: 2.0}
    return synthetic.write(
        tmp_path / "run",
        DOWNLOAD,
        settings,
        takes=lambda demand: takes["stream" in demand.name],
        finished_at="2026-11-26",
    )


def test_repeats_of_one_cell_are_named_as_two_methods_of_which_nothing_is_claimed(tmp_path):
    run = synthetic.write(tmp_path / "run", DOWNLOAD, CELL, takes=lambda demand: 1.0, repeats=10)
    claims = aa.claims(aa.DOWNLOAD, run)
    assert (claims.intervals, claims.out) == (1, 0)
    assert "no clear winner" in claims.headline


def test_a_difference_that_is_there_is_counted(run):
    claims = aa.claims(AS_IT_IS, run)
    assert (claims.intervals, claims.alone_out, claims.out) == (1, 1, 1)


@pytest.mark.parametrize("there", [0, 3])
def test_what_was_swept_is_not_swept_again(run, tmp_path, monkeypatch, there):
    swept = []

    def sweep(kind, folder, number, loaded, state):
        swept.append((number, loaded))
        shutil.copytree(run, folder / str(number))

    monkeypatch.setattr(aa, "FOLDER", tmp_path / "aa")
    monkeypatch.setattr(aa, "_sweep", sweep)
    monkeypatch.setitem(aa.ENTRIES, "aa_download_load", (AS_IT_IS, True))
    monkeypatch.setattr(aa, "output_of", lambda *_, **__: "")
    for number in range(1, there + 1):
        sweep(AS_IT_IS, tmp_path / "aa" / "aa_download_load", number, True, "")
    swept.clear()
    [entry], setting = aa.claimed("aa_download_load", runs=1)
    assert swept == [(number, True) for number in range(there + 1, 5)]
    assert entry == Entry("aa_download_load", 0.0, 0.95, "of intervals", 0.0, 4)
    assert "pages that claim: 4" in setting and setting.count(" as fast as ") == 4


def test_a_sweep_beside_load_has_a_process_for_each_processor_and_none_is_left():
    with aa._load(seed=1, count=2):
        assert len(multiprocessing.active_children()) == 2
    assert multiprocessing.active_children() == []
