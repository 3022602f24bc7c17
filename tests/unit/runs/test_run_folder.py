"""Results survive a killed writer, and run ids that could name another folder are refused."""

import os
from pathlib import Path

import pytest

from stampede.errors import UsageError
from stampede.runs.folder import RunFolder, checked_run_id, write_where_typed


def refused(words):
    return pytest.raises(UsageError, match=words)


# Which folder.


def test_a_run_is_found_as_the_newest_or_by_its_folder_and_a_renamed_one_keeps_its_id(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in "ba":
        RunFolder.create(Path("runs"), name).append("sent.jsonl", [{"seq": 0}])
    os.utime("runs/b/sent.jsonl", (1, 1))
    newest = RunFolder.find(Path("runs"), None)
    newest.write_json("run.json", {"run_id": "a"})
    newest.path.rename("runs/renamed")
    renamed = RunFolder.find(Path("results"), "runs/renamed")
    assert newest.name == renamed.run_id == "a"
    assert renamed.as_argument == "renamed --results-dir runs"
    assert RunFolder(Path("results/$(x)")).as_argument == "'$(x)'"
    assert RunFolder(Path("results/--help")).as_argument == "./--help"


@pytest.mark.parametrize("run_id", ["", "../x", "a b", ".hidden", 'a"b', "x" * 81])
def test_a_run_id_that_could_name_another_folder_is_refused(run_id):
    with refused("--run"):
        checked_run_id(run_id)


def test_a_folder_in_use_is_refused_to_others_and_free_afterwards(folder):
    with folder.held("--resume"), refused("--resume: run r is in use"), folder.held("--resume"):
        pass
    with folder.held("--resume"):
        pass


# What is written.


def test_a_file_is_replaced_completely_or_not_at_all_and_never_written_empty(folder):
    for value in (1, 2):
        folder.write_json("run.json", {"a": value})
    with pytest.raises(ZeroDivisionError):
        folder.rewrite("run.json", (1 / row for row in (1, 0)))
    folder.append("records.jsonl", [])
    folder.append("sent.jsonl", [{}])
    folder.rewrite("sent.jsonl", [])
    [file] = folder.path.iterdir()
    assert folder.read_json("run.json") == {"a": 2}
    assert file.stat().st_mode & 0o777 == 0o644, "others may read a report"


@pytest.mark.parametrize("whole", ['{"a": 1}\n', ""])
@pytest.mark.parametrize("torn", ["", '{"a": ', "x" * 200_000])
def test_a_torn_last_line_is_ignored_and_overwritten_by_the_next_row(folder, whole, torn):
    (folder.path / "rows.jsonl").write_text(whole + torn)
    assert list(folder.rows("rows.jsonl")) == ([{"a": 1}] if whole else [])
    folder.append("rows.jsonl", [{"a": 2}])
    assert (folder.path / "rows.jsonl").read_text() == whole + '{"a": 2}\n'


def test_nothing_is_written_through_a_link_in_a_folder(tmp_path, folder):
    other = RunFolder.create(tmp_path, "other")
    (other.path / "file").write_text("mine")
    for name in ("run.json", "records.jsonl", "sent.jsonl"):
        (folder.path / name).symlink_to(other.path / "file")
    (folder.path / "figures").symlink_to(other.path)
    folder.write_json("run.json", {"run_id": "r"})
    folder.rewrite("sent.jsonl", [{}])
    with refused("isn't a file"):
        folder.append("records.jsonl", [{}])
    with refused("is a link"):
        folder.replace("figures/a.svg", "")
    assert [(file.name, file.read_text()) for file in other.path.iterdir()] == [("file", "mine")]
    assert folder.read_json("run.json") == {"run_id": "r"}


def test_a_page_is_written_through_a_link_and_into_a_pipe(tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "latest.html"
    link.symlink_to(page)
    write_where_typed(link, "the page")
    assert page.read_text() == "the page" and link.is_symlink()
    read, write = os.pipe()
    write_where_typed(Path(f"/dev/fd/{write}"), "the page")
    assert os.read(read, 99) == b"the page"


# What is read.

MESSAGE = {"cell": "a", "seq": 0, "sent_at_ms": 1, "status": "ok", "message_id": "m"}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sent", {"seq": True}),
        ("records", {"cell": 5}),
        ("dead_letters", {"cell": None, "seq": "0"}),
        ("unanswered", {"sent_at_ms": None}),
    ],
)
def test_a_line_without_the_required_fields_of_a_message_is_named(folder, name, change):
    folder.append(f"{name}.jsonl", [MESSAGE, MESSAGE | change])
    with refused(rf"r/{name}.jsonl is damaged \(line 2: must have cell"):
        list(folder.rows(f"{name}.jsonl"))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("run", "{", ""),
        ("run", "{}", "it is empty"),
        ("run", "[]", "JSON list"),
        ("run", '{"plan": ' + "[" * 300 + "]" * 300 + "}", "nested too deeply"),
        ("run", '{"plan": []}', "plan: "),
        ("run", '{"cells": [{}]}', r"cells\[0\]: .*`cell`"),
        ("run", '{"format": 2, "cells": [{"cell": "a"}]}', r"cells\[0\]: .*`repeat`"),
        ("accounting", "[5]", r"\[0\]: "),
    ],
)
def test_a_damaged_file_is_named_with_the_damaged_part(folder, name, text, words):
    (folder.path / f"{name}.json").write_text(text)
    with refused(rf"r/{name}\.json is damaged \(.*{words}"):
        folder.read_json(f"{name}.json", [] if name == "accounting" else {})
