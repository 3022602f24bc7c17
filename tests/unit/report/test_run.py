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


def operations(run):
    [(count,)] = run.store.rows("SELECT count(*) FROM operations")
    return count


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("records.jsonl", GOOD[:-9], "records.jsonl, line 5: the last line is incomplete"),
        ("records.jsonl", f'{{"status": "fine"}}\n{GOOD}\n', "records.jsonl, line 5: not a valid record"),
        ("run.json", "{", "run.json can't be read"),
        ("accounting.json", "{", "accounting.json can't be read"),
    ],
)
def test_what_can_not_be_read_is_said_and_the_rest_kept(folder, name, line, words):
    with (folder / name).open("a") as file:
        file.write(line)
    run = load(folder)
    [warning] = run.warnings
    assert words in warning and operations(run) == 4 + line.count(f"{GOOD}\n")


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"format": 3, "stampede_version": "9.9"}, r"format 3, but this Stampede reads format 2.*9\.9"),
        ({"format": 2, "experiment": "upload"}, "experiment 'upload', but this Stampede has download"),
        (None, "isn’t a results folder"),
    ],
)
def test_what_can_not_be_reported_is_one_line(tmp_path, manifest, words):
    if manifest:
        (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(NoReport, match=words) as error:
        load(tmp_path)
    assert "\n" not in str(error.value)
    with pytest.raises(NoReport, match="no such results folder"):
        load(tmp_path / "absent")


def test_a_cell_is_what_run_json_says_else_by_its_records_and_never_by_its_text(folder):
    settings = ["memory_size=512", "concurrency_value=5", "object_size_mb=1,4"]
    plan = make_plan(DOWNLOAD, "local", settings, messages_per_concurrency=10, repeats=2)
    stored = [cell.as_json() for cell in plan.cells]
    stored[-1]["messages"] = 1.5
    keys = {"format": FORMAT, "plan": plan.as_dict(), "cells": stored}
    (folder / "run.json").write_text(json.dumps({"experiment": "download", **keys}))
    run = load(folder)
    assert [warning for warning in run.warnings if "has 1 cell that can't be read" in warning]
    name = "memory_size=512,concurrency_value=5,object_size_mb=4,repeat=2"
    assert run.key_of(name) == handmade_run.key(512, 5, settings="object_size_mb=4")
    assert run.cell_words(name) == "512 MB, N = 5, download_file, object_size_mb=4, repeat 2"
    assert run.key_of(RECORDS[0]["cell"]) == handmade_run.key()
    assert run.key_of("memory_size=512,concurrency_value=7") is run.key_of(None) is None
    assert len(run.unfinished) == 3 and len(run.cell_keys()) == 3
