"""What a killed sweep left of a cell is set aside whole, and never counted; sent.jsonl while a flood writes it."""

import json

import pytest

from loader.flood import sent_log
from loader.sqs.outcome import Accepted
from loader.unfinished_cell import abandoned, set_aside
from stampede.errors import UsageError
from stampede.runs.folder import RunFolder


def record(cell, seq):
    return {"run_id": "r", "cell": cell, "seq": seq, "status": "ok"}


def event(cell, seq):
    return {"timestamp": 1, "message": json.dumps(record(cell, seq)), "logStream": "s"}


@pytest.fixture
def folder(tmp_path):
    """A run with two cells."""
    folder = RunFolder.create(tmp_path, "r")
    for cell in ("a", "b"):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(3)])
        folder.append("records.jsonl", [record(cell, 0)])
        folder.append("log_events.jsonl", [event(cell, 0), {"timestamp": 1, "message": "REPORT x", "logStream": "s"}])
    return folder


@pytest.mark.parametrize("replaced", range(4))
def test_the_rows_of_the_cell_go_and_a_kill_between_any_two_files_is_finished_by_the_next_call(
    folder, monkeypatch, replaced
):
    names, rewrite = [], RunFolder.rewrite

    def rewrite_until_killed(self, name, rows):
        names.append(name)
        if len(names) > replaced:
            raise KeyboardInterrupt
        rewrite(self, name, rows)

    if replaced < 3:
        with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
            killing.setattr(RunFolder, "rewrite", rewrite_until_killed)
            set_aside(folder, "b")
    assert set_aside(folder, "b") == 3
    for name in ("sent.jsonl", "records.jsonl"):
        assert {row["cell"] for row in folder.rows(name)} == {"a"}
    assert [row["message"][:6] for row in folder.rows("log_events.jsonl")] == ['{"run_', "REPORT", "REPORT"]
    assert {cell: set(numbers) for cell, numbers in abandoned(folder).items()} == {"b": {range(3)}}
    assert set_aside(folder, "never started") == 0
    assert not (folder.path / "unanswered.jsonl").exists(), "no file is made of which there was none"


def test_what_may_have_been_sent_unconfirmed_is_set_aside_too_and_whole_rounds_stay(folder):
    folder.append("sent.jsonl", [{"cell": "c", "seq": seq, "sent_at_ms": 1, "round": 1 + seq // 2} for seq in range(3)])
    assert set_aside(folder, "c", 1, may_have_sent=900) == 1
    assert abandoned(folder) == {"c": [range(2, 901)]}
    assert [row["seq"] for row in folder.rows("sent.jsonl") if row["cell"] == "c"] == [0, 1]


def test_each_batch_is_on_disk_at_once_and_behind_a_torn_line_there_is_none_of_it(tmp_path):
    folder = RunFolder.create(tmp_path, "r")
    log = sent_log(folder, "c", round_number=2)
    assert not list(folder.path.iterdir()), "a flood of which nothing was confirmed leaves no file"
    log([Accepted(0, "m-0", 1, 0), Accepted(1, "m-1", 1, 1)])
    rows = list(folder.rows("sent.jsonl"))
    assert [(row["seq"], row["possible_duplicate"], row["round"]) for row in rows] == [(0, 0, 2), (1, 1, 2)]
    with (folder.path / "sent.jsonl").open("a") as file:
        file.write('{"cell": "c", "se')
    sent_log(folder, "c")([Accepted(2, "m-2", 1, 0)])
    assert [row["seq"] for row in folder.rows("sent.jsonl")] == [0, 1, 2]


def test_where_sent_messages_could_not_be_written_the_flood_ends_before_anything_is_sent(tmp_path):
    folder = RunFolder.create(tmp_path, "r")
    (folder.path / "sent.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"sent\.jsonl isn't a file"):
        sent_log(folder, "c")
    with pytest.raises(OSError, match="gone/"):
        sent_log(RunFolder(tmp_path / "gone"), "c")
