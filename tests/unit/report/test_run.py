"""Reading a results folder: tolerant of damage, strict about another format."""

import json

import pytest

from experiments.download.declaration import DOWNLOAD
from stampede.cell import FORMAT
from stampede.planning.plan import make_plan
from stampede.report.run import NoReport, load
from tests.unit.report import handmade_run

RECORDS = handmade_run.lasting([0.1] * 4)
GOOD = json.dumps(RECORDS[0])


@pytest.fixture
def folder(tmp_path):
    """Four downloads of one cell."""
    made = handmade_run.write(tmp_path / "run", RECORDS)
    (made / "accounting.json").write_text("[]")
    return made


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("records.jsonl", GOOD[:-9], "line 5: the last line is incomplete"),
        ("records.jsonl", f'{{"status": "fine"}}\n{GOOD}\n', "line 5: not a valid record"),
        ("run.json", "{", "can't be read"),
        ("accounting.json", "{", "can't be read"),
    ],
)
def test_unreadable_parts_are_reported_and_the_rest_is_kept(folder, name, line, words):
    with (folder / name).open("a") as file:
        file.write(line)
    run = load(folder)
    [warning] = run.warnings
    assert name in warning and words in warning
    assert run.store.rows("SELECT count(*) FROM operations") == [(4 + line.count(f"{GOOD}\n"),)]


def test_what_an_emptied_file_lacks_is_reported(folder):
    (folder / "sent.jsonl").write_text("")
    keys = {"format": FORMAT, "experiment": "download", "cells": None}
    (folder / "run.json").write_text(json.dumps(keys))
    warnings = " ".join(load(folder).warnings)
    assert "sent.jsonl is empty" in warnings and "run.json has no list of cells" in warnings


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"format": 3, "stampede_version": "9.9"}, r"format 3, .*9\.9"),
        ({"format": 2, "experiment": "upload"}, "has download"),
        (None, "isn’t a results folder"),
    ],
)
def test_a_folder_that_cannot_be_reported_gives_one_line(tmp_path, manifest, words):
    if manifest:
        (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(NoReport, match=f"^.*{words}.*$"):
        load(tmp_path)


def test_a_cell_is_what_run_json_says_else_by_its_records_and_never_by_its_text(folder):
    settings = ["memory_size=512", "concurrency_value=5", "object_size_mb=1,4"]
    plan = make_plan(DOWNLOAD, "local", settings, messages_per_concurrency=10, repeats=2)
    stored = [cell.as_json() for cell in plan.cells]
    stored[-1]["messages"] = 1.5
    keys = {"format": FORMAT, "plan": plan.as_dict(), "cells": stored}
    (folder / "run.json").write_text(json.dumps({"experiment": "download", **keys}))
    run = load(folder)
    assert "has 1 cell that can't be read" in " ".join(run.warnings)
    name = "memory_size=512,concurrency_value=5,object_size_mb=4,repeat=2"
    assert run.key_of(name) == handmade_run.key(512, 5, settings="object_size_mb=4")
    assert run.key_of(RECORDS[0]["cell"]) == handmade_run.key()
    assert run.key_of("memory_size=512,concurrency_value=7") is None
    assert len(run.unfinished) == len(run.cell_keys()) == 3
