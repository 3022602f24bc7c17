"""`aa_*`: runs of two variants that are one are read as runs that claim something; a clear difference is counted."""

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace

import pytest

from bench import aa
from bench.measure import Entry
from experiments.download.declaration import DOWNLOAD
from stampede.cell import FORMAT
from stampede.planning.plan import make_plan
from tests.unit.report import synthetic_run

REPEATED = synthetic_run.Synthetic(memories=(1024,), concurrencies=(1,), repeats=10)
SETTINGS = ("memory_size=1024", "concurrency_value=1")
CHOSEN = replace(REPEATED, repeats=1, methods=("download_file", "stream"), factors={"stream": 2.0})


def test_repeats_of_one_cell_are_named_as_two_methods_of_which_nothing_is_claimed(tmp_path):
    run = synthetic_run.write(tmp_path / "run", REPEATED)
    plan = make_plan(DOWNLOAD, "local", SETTINGS, messages_per_concurrency=10, repeats=10)
    manifest = json.loads((run / "run.json").read_text())
    manifest |= {"format": FORMAT, "plan": plan.as_dict(), "cells": [cell.as_json() for cell in plan.cells]}
    manifest["finished"] = {cell.name: {} for cell in plan.cells}
    (run / "run.json").write_text(json.dumps(manifest))
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    # Its records don't tell their repeat.
    lines = [line | {"cell": manifest["cells"][at // 10]["cell"]} for at, line in enumerate(lines)]
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict = aa.judged(aa.DOWNLOAD, run)
    assert (verdict.intervals, verdict.out, verdict.claims) == (1, 0, False)
    assert "no method is clearly faster than" in verdict.headline


def test_a_difference_that_is_there_is_counted(tmp_path):
    run = synthetic_run.write(tmp_path / "run", CHOSEN)
    verdict = aa.judged(replace(aa.DOWNLOAD, read_as=lambda manifest, lines: None), run)
    assert (verdict.intervals, verdict.alone_out, verdict.out, verdict.claims) == (1, 1, 1, True)


@pytest.mark.parametrize("there", [0, 3])
def test_what_was_swept_is_not_swept_again(tmp_path, monkeypatch, there):
    run, swept = synthetic_run.write(tmp_path / "run", CHOSEN), []
    kind = replace(aa.DOWNLOAD, read_as=lambda manifest, lines: None)

    def sweep(kind, folder, number, loaded, environment):
        swept.append((number, loaded))
        shutil.copytree(run, folder / str(number))

    monkeypatch.setattr(aa, "FOLDER", tmp_path / "aa")
    monkeypatch.setattr(aa, "_sweep", sweep)
    monkeypatch.setattr(aa, "_emulator", lambda: nullcontext({}))
    monkeypatch.setattr(aa, "_built", lambda: None)
    for number in range(1, there + 1):
        sweep(kind, tmp_path / "aa" / "aa_download_load", number, True, {})
    swept.clear()
    entry, words = aa.entry(kind, loaded=True, runs=1)
    assert swept == [(number, True) for number in range(there + 1, 5)]
    assert entry == Entry("aa_download_load", 0.0, 0.95, "of intervals", 0.0, 4)
    assert words.startswith("4 of 4 intervals leave 1 out, each taken alone, and 4 as they hold together; 4 of 4 pages")
