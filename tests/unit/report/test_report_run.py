"""Reading a results folder: tolerant of damage, strict about another format."""

import csv
import json
import re

import pytest

from experiments.download.declaration import DOWNLOAD
from stampede.cell import FORMAT
from stampede.planning.plan import make_plan
from stampede.report.accounting import account_book
from stampede.report.columns import count
from stampede.report.rebuild import build
from stampede.report.run import NoReport, load
from stampede.report.sections.messages import dead_letters
from tests.unit.report.handmade_run import key


def sent(run):
    return sum(measured + warm_up for measured, warm_up in run.sent.values())


def test_a_whole_run_is_read_without_a_warning(make_run):
    run = load(make_run())
    assert run.warnings == []
    assert (count(run.operations), run.operations["is_error"].any(), sent(run)) == (320, False, 320)
    assert run.cell_keys() == [key(m, n) for m in (1024, 2048) for n in (1, 5, 10)]
    assert (run.source, run.region, run.object_bytes) == ("this machine", "us-east-1", 64 * 1024**2)


def test_a_run_on_aws_is_marked_with_its_region(make_run):
    assert load(make_run(target="aws")).source == "AWS, us-east-1"


@pytest.mark.parametrize("name", ["records.jsonl", "sent.jsonl"])
def test_a_torn_last_line_is_named_and_everything_else_kept(make_run, name):
    folder = make_run()
    path = folder / name
    path.write_text(path.read_text()[:-40])
    run = load(folder)
    assert run.warnings == [f"{name}, line 320: the last line is incomplete (the writer was interrupted); left out."]
    assert count(run.operations) + sent(run) == 639


def test_a_torn_line_in_the_middle_is_named_with_its_number(make_run):
    folder = make_run()
    lines = (folder / "records.jsonl").read_text().splitlines()
    lines[4] = lines[4][:50]
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    run = load(folder)
    assert run.warnings == ["records.jsonl, line 5: not JSON; left out."]
    assert count(run.operations) == 319


def test_bytes_that_are_not_utf8_are_a_warning(make_run):
    folder = make_run()
    with (folder / "records.jsonl").open("ab") as file:
        file.write(b"\xff\xfe{\n")
    assert load(folder).warnings == ["records.jsonl, line 321: not JSON; left out."]


@pytest.mark.parametrize(
    "change",
    [
        {"download_time_seconds": None},
        {"download_time_seconds": -1},
        {"download_time_seconds": "12.3"},
        {"download_time_seconds": True},
        {"download_time_seconds": float("nan")},
        {"memory_size": None},
        {"status": "fine"},
    ],
)
def test_a_record_that_can_not_be_used_is_named(make_run, change):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    lines = (folder / "records.jsonl").read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | change)
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    run = load(folder)
    assert count(run.operations) == 9
    assert len(run.warnings) == 1
    assert run.warnings[0].startswith("records.jsonl, line 1: not a valid record")


@pytest.mark.parametrize("name", ["sent.jsonl", "dead_letters.jsonl"])
def test_a_line_that_is_of_no_message_is_named(make_run, name):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    before = load(folder)
    (folder / name).open("a").write("{}\n")
    run = load(folder)
    number = len((folder / name).read_text().splitlines())
    assert run.warnings == [
        *before.warnings,
        f"{name}, line {number}: doesn't say of which message it is (it needs cell and seq); left out.",
    ]
    assert (sent(run), dead_letters(run)) == (sent(before), dead_letters(before))


def test_every_missing_file_is_named(make_run):
    folder = make_run()
    for name in ("run.json", "records.jsonl", "sent.jsonl", "accounting.json"):
        (folder / name).unlink()
    run = load(folder)
    assert run.warnings == [
        "run.json is missing.",
        "records.jsonl is missing.",
        "sent.jsonl is missing.",
        "accounting.json is missing.",
    ]
    assert (run.target, run.run_id) == ("unknown", "synthetic-1")


def test_a_run_json_cut_short_is_a_warning(make_run):
    folder = make_run()
    (folder / "run.json").write_text('{"format": 1, "ru')
    run = load(folder)
    assert run.warnings[0].startswith("run.json can't be read: ")
    assert count(run.operations) == 320


@pytest.mark.parametrize("version", [3, "1", None])
def test_another_format_version_is_one_clear_error(make_run, version):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text()) | {"format": version, "stampede_version": "9.9"}
    (folder / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(NoReport) as error:
        load(folder)
    assert f"format {version!r}, but this Stampede reads format 2" in str(error.value)
    assert "9.9" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_run_of_an_experiment_that_this_version_does_not_know_is_one_clear_error(make_run):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text()) | {"experiment": "upload", "stampede_version": "9.9"}
    (folder / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(NoReport, match=r"experiment 'upload', but this Stampede has download, .*9\.9"):
        load(folder)


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(NoReport, match=r"no such results folder; `ls .*` lists the runs"):
        load(tmp_path / "absent")
    with pytest.raises(NoReport, match=r"/results isn't a folder; go to where you swept, or give --results-dir"):
        load(tmp_path / "results" / "absent")


def test_a_folder_without_a_run_is_one_clear_error(tmp_path):
    with pytest.raises(NoReport, match="isn’t a results folder"):
        load(tmp_path)


def test_planned_cells_that_were_never_reached_are_known(make_run):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text())
    manifest["cells"] = manifest["cells"][:1]
    (folder / "run.json").write_text(json.dumps(manifest))
    (folder / "records.jsonl").write_text("")
    (folder / "accounting.json").write_text("[]")
    assert load(folder).cell_keys() == [key(m, n) for m in (1024, 2048) for n in (1, 5, 10)]


def planned(*settings, **options):
    """The part of a run.json that says what its cells were to be."""
    plan = make_plan(DOWNLOAD, "local", settings, messages_per_concurrency=10, **options)
    return {"format": FORMAT, "plan": plan.as_dict(), "cells": [cell.as_json() for cell in plan.cells]}


def described(make_run, **changes):
    """A run whose plan and cells are replaced."""
    folder = make_run(memories=(1024,), concurrencies=(2,))
    manifest = json.loads((folder / "run.json").read_text()) | changes
    (folder / "run.json").write_text(json.dumps(manifest))
    return load(folder)


def test_a_cell_is_known_by_run_json_and_not_by_the_text_of_its_id(make_run):
    settings = ["memory_size=1024,2048", "concurrency_value=5", "object_size_mb=1,4"]
    run = described(make_run, **planned(*settings, repeats=2))
    name = "memory_size=1024,concurrency_value=5,object_size_mb=4,repeat=2"
    assert run.key_of(name) == key(1024, 5, settings="object_size_mb=4")
    assert len(set(run.cell_keys())) == 5  # the four of the plan, and the one that the records are of
    assert run.key_of("memory_size=512,concurrency_value=7") is None
    assert run.key_of("not a cell") is run.key_of(None) is None


def test_a_cell_that_is_none_is_named(make_run):
    stored = planned("memory_size=1024", "concurrency_value=1,5")
    stored["cells"][0]["messages"] = 1.5
    run = described(make_run, **stored)
    assert "run.json has 1 cell that can't be read or that it has twice; left out." in run.warnings


def test_a_cell_that_run_json_does_not_know_is_known_by_its_records(make_run):
    run = described(make_run, cells=[], plan={})
    [cell] = run.store.cells
    assert run.key_of(cell) == key(1024, 2)


def test_a_cell_flooded_by_hand_is_known_by_what_the_stack_was(make_run):
    settings = {"mine": {"memory_size": 512, "concurrency_value": 3, "method": "stream", "sink": "tmp"}}
    run = described(make_run, cells=[], plan={}, settings=settings)
    assert run.key_of("mine") == key(512, 3, "stream", "tmp")


def test_a_cell_in_words_names_its_repeat_and_what_else_was_swept(make_run):
    settings = ["memory_size=1024", "concurrency_value=5", "object_size_mb=1,4"]
    run = described(make_run, **planned(*settings, repeats=2))
    name = "memory_size=1024,concurrency_value=5,object_size_mb=4,repeat=2"
    assert run.cell_words(name) == "1,024 MB, N = 5, download_file, object_size_mb=4, repeat 2"
    assert run.cell_words("mine") == "mine"


def test_a_record_of_other_settings_than_its_cell_is_a_problem_and_in_no_figure(make_run):
    folder = make_run(memories=(1024, 2048), concurrencies=(2,))
    for name in ("records.jsonl", "log_events.jsonl"):  # one that came back under the next cell's settings
        text = (folder / name).read_text()
        (folder / name).write_text(re.sub(r'(memory_size.{0,1}": )1024', r"\g<1>2048", text, count=1))
    build(folder)
    rows = (folder / "cells.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:3] for row in rows] == [["1024", "2", "19"], ["2048", "2", "20"]]
    run = load(folder)
    assert (count(run.operations), run.store.rows("SELECT count(*) FROM operations")) == (39, [(40,)])
    [problem] = account_book(run).problems
    assert "1 record comes from other settings (memory_size 2048 where the cell has 1024)" in problem
    assert "left out of all figures" in (folder / "report.html").read_text()


def test_cells_that_differ_in_another_variable_have_a_row_each(make_run):
    folder = make_run(memories=(1024,), concurrencies=(2,))
    cell = re.compile(r'(concurrency_value=2)(.{3,8}"seq.{0,2}": )(\d+)')
    manifest = json.loads((folder / "run.json").read_text())
    manifest |= planned("memory_size=1024", "concurrency_value=2", "object_size_mb=1,4")
    (folder / "run.json").write_text(json.dumps(manifest))
    for name in ("records.jsonl", "log_events.jsonl", "sent.jsonl"):
        sized = cell.sub(
            lambda m: f"{m[1]},object_size_mb={'14'[int(m[3]) % 2]}{m[2]}{m[3]}", (folder / name).read_text()
        )
        (folder / name).write_text(sized)
    (folder / "accounting.json").unlink()
    build(folder)
    with (folder / "cells.csv").open() as file:
        assert [(row["count"], row["settings"]) for row in csv.DictReader(file)] == [
            ("10", "object_size_mb=1"),
            ("10", "object_size_mb=4"),
        ]
    assert account_book(load(folder)).problems == []
    assert "no figure" not in (folder / "report.html").read_text()


def test_warm_ups_are_kept_apart_from_the_downloads(make_run):
    run = load(make_run(memories=(1024,), concurrencies=(2,), warm_ups=3))
    assert (count(run.operations), run.operations["is_warm_up"].sum()) == (26, 6)
