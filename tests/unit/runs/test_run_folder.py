"""Results survive a killed writer and refuse ids that could mean another folder."""

import os
import threading
from pathlib import Path

import pytest

from stampede.errors import UsageError
from stampede.runs.folder import RunFolder, checked_run_id, write_where_typed


def test_a_torn_last_line_is_left_out_and_the_rest_is_read(tmp_path):
    folder = RunFolder.create(tmp_path, "r1")
    folder.append("rows.jsonl", [{"seq": 0}, {"seq": 1}])
    with (folder.path / "rows.jsonl").open("a") as file:
        file.write('{"seq": 2, "stat')
    assert [row["seq"] for row in folder.rows("rows.jsonl")] == [0, 1]


def test_two_runs_in_the_same_second_get_two_folders(tmp_path):
    ids = {RunFolder.create(tmp_path).run_id for _ in range(5)}
    assert len(ids) == 5


def test_the_newest_run_is_the_one_that_sent_last(tmp_path):
    for name in ("b", "a"):
        RunFolder.create(tmp_path, name).append("sent.jsonl", [{"seq": 0}])
    os.utime(tmp_path / "b" / "sent.jsonl", (1, 1))
    assert RunFolder.find(tmp_path, None).run_id == "a"


def test_a_renamed_folder_keeps_the_id_that_its_records_carry(tmp_path):
    RunFolder.create(tmp_path, "r1").write_json("run.json", {"run_id": "r1"})
    (tmp_path / "r1").rename(tmp_path / "renamed")
    folder = RunFolder.find(tmp_path, "renamed")
    assert (folder.run_id, folder.name) == ("r1", "renamed")


@pytest.mark.parametrize("run_id", ["", "../x", "a b", ".hidden", 'a"b', "x" * 81])
def test_a_run_id_that_could_mean_another_folder_is_refused(run_id):
    with pytest.raises(UsageError, match="--run"):
        checked_run_id(run_id)


def test_a_file_is_replaced_whole(tmp_path):
    folder = RunFolder.create(tmp_path, "r1")
    folder.write_json("run.json", {"a": 1})
    folder.write_json("run.json", {"a": 2})
    assert folder.read_json("run.json") == {"a": 2}
    assert [path.name for path in folder.path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("torn", ["", '{"a": ', "x" * 200_000])
def test_a_row_after_a_torn_line_stands_on_a_line_of_its_own(tmp_path, torn):
    folder = RunFolder.create(tmp_path, "r1")
    folder.append("rows.jsonl", [{"a": 1}])
    with (folder.path / "rows.jsonl").open("a") as file:
        file.write(torn)
    folder.append("rows.jsonl", [{"a": 2}])
    assert list(folder.rows("rows.jsonl")) == [{"a": 1}, {"a": 2}]
    assert (folder.path / "rows.jsonl").read_text() == '{"a": 1}\n{"a": 2}\n'


def test_a_file_that_is_only_a_torn_line_begins_anew(tmp_path):
    folder = RunFolder.create(tmp_path, "r1")
    (folder.path / "rows.jsonl").write_text('{"a"')
    folder.append("rows.jsonl", [{"a": 2}])
    assert list(folder.rows("rows.jsonl")) == [{"a": 2}]


@pytest.mark.parametrize("run_id", [None, "r1"])
def test_a_results_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path, run_id):
    (tmp_path / "a_file").touch()
    with pytest.raises(UsageError, match=r"^--results-dir: .*a_file/.* can't be created \(Not a directory\)"):
        RunFolder.create(tmp_path / "a_file", run_id)


def test_a_damaged_json_file_is_named(tmp_path):
    folder = RunFolder.create(tmp_path, "r1")
    (folder.path / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"r1/run\.json isn't JSON"):
        folder.read_json("run.json")


def test_a_file_of_another_kind_and_a_damaged_line_are_named(tmp_path):
    folder = RunFolder.create(tmp_path, "r1")
    (folder.path / "run.json").write_text("[]")
    with pytest.raises(UsageError, match=r"r1/run\.json holds something else"):
        folder.read_json("run.json", {})
    (folder.path / "sent.jsonl").write_bytes(b'{"a": 1}\n\xff\xfe\n')
    with pytest.raises(UsageError, match=r"r1/sent\.jsonl is damaged"):
        list(folder.rows("sent.jsonl"))


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        ("sent.jsonl", {}, "cell is missing"),
        ("sent.jsonl", {"cell": "a", "seq": True, "sent_at_ms": 1}, "seq must be a whole number, got True"),
        ("records.jsonl", {"cell": 5, "seq": 0, "status": "ok"}, "cell must be a text, got 5"),
        ("records.jsonl", {"cell": "a", "seq": 0}, "status is missing"),
        ("dead_letters.jsonl", {"cell": None, "seq": "0", "message_id": "m"}, "seq must be a whole number or null"),
        ("unanswered.jsonl", {"cell": "a", "seq": 0}, "sent_at_ms is missing"),
    ],
)
def test_a_line_that_lacks_what_a_message_must_have_is_named(tmp_path, name, row, words):
    folder = RunFolder.create(tmp_path, "r1")
    whole = {"cell": "a", "seq": 0, "sent_at_ms": 1, "status": "ok", "message_id": "m"}
    folder.append(name, [whole, row])
    with pytest.raises(UsageError, match=rf"r1/{name} is damaged \(line 2: {words}.*\); restore it"):
        list(folder.rows(name))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("run.json", {"plan": []}, "plan: expected `object`, got `array`"),
        ("run.json", {"cells": 5}, "cells: expected `array`, got `int`"),
        ("run.json", {"cells": [{}]}, "cells[0]: object missing required field `cell`"),
        ("run.json", {"run_id": 5}, "run_id: expected `str`, got `int`"),
        ("accounting.json", [5], "[0]: expected `object`, got `int`"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path, name, value, words):
    folder = RunFolder.create(tmp_path, "r1")
    folder.write_json(name, value)
    with pytest.raises(UsageError) as refused:
        folder.read_json(name, type(value)())
    assert str(refused.value) == f"{folder.path / name} is damaged ({words}); restore it, or start a new run"


def test_a_runs_folder_in_place_of_its_id_is_refused_with_the_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RunFolder.create(Path("runs"), "r1").write_json("run.json", {})
    with pytest.raises(UsageError, match="runs/r1 is a run's folder; give its id: --run r1 --results-dir runs"):
        RunFolder.find(Path("results"), "runs/r1")


def test_a_folder_that_one_process_holds_is_refused_to_another_and_free_afterwards(tmp_path):
    folder = RunFolder.create(tmp_path, "r")
    refused = pytest.raises(UsageError, match="--resume: run r is in use by another process")
    with folder.held("--resume"), refused, folder.held("--resume"):
        pass
    with folder.held("--resume"):
        pass


def test_a_page_goes_where_the_user_typed_through_a_link_and_into_a_pipe(tmp_path):
    page, link, pipe, read = tmp_path / "page.html", tmp_path / "latest.html", tmp_path / "pipe", []
    page.write_text("the old page")
    link.symlink_to(page)
    write_where_typed(link, "the new page")
    assert (page.read_text(), link.is_symlink()) == ("the new page", True)
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_where_typed(pipe, "the page")
    reader.join(timeout=10)
    assert read == ["the page"] and pipe.is_fifo()


def test_no_file_is_written_empty(tmp_path):
    run = RunFolder(tmp_path)
    run.append("records.jsonl", [])
    assert list(run.appended("failed_objects.jsonl", iter([]))) == []
    run.append("sent.jsonl", [{"cell": "a", "seq": 1, "sent_at_ms": 1}])
    run.rewrite("sent.jsonl", (row for row in run.rows("sent.jsonl") if row["seq"] > 1))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_through_a_link_in_a_folder(tmp_path):
    theirs, run = tmp_path / "theirs", RunFolder(tmp_path / "run")
    theirs.mkdir()
    run.path.mkdir()
    (theirs / "file").write_text("mine")
    for name in ("cells.csv", "run.json", "records.jsonl", "sent.jsonl"):
        (run.path / name).symlink_to(theirs / "file")
    (run.path / "figures").symlink_to(theirs)
    run.replace("cells.csv", "count")
    run.write_json("run.json", {})
    run.rewrite("sent.jsonl", [{"seq": 1}])
    for write in (lambda: run.append("records.jsonl", [{}]), lambda: run.replace("figures/a.svg", "")):
        with pytest.raises(UsageError, match=r"is a link|isn't a file"):
            write()
    assert [(file.name, file.read_text()) for file in theirs.iterdir()] == [("file", "mine")]
    assert not (run.path / "cells.csv").is_symlink() and (run.path / "cells.csv").read_text() == "count"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "a file of mine"])
def test_what_isnt_a_file_of_the_folder_is_neither_waited_for_nor_followed(tmp_path, kind):
    run, path = RunFolder(tmp_path), tmp_path / "records.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else __file__)
    for use in (lambda: list(run.rows("records.jsonl")), lambda: run.append("records.jsonl", [{}])):
        with pytest.raises(UsageError, match="isn't a file"):
            use()
