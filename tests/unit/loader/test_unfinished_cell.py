"""What a killed sweep left of a cell is set aside whole, and never counted."""

import json

import pytest

from loader.unfinished_cell import last_abandoned, set_aside
from stampede.runs.folder import RunFolder


def record(cell, seq):
    return {"run_id": "r", "cell": cell, "seq": seq, "status": "ok"}


def event(cell, seq):
    return {"timestamp": 1, "message": json.dumps(record(cell, seq)), "logStream": "s"}


def folder_with_two_cells(tmp_path):
    folder = RunFolder.create(tmp_path, "r")
    for cell in ("a", "b"):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(3)])
        folder.append("records.jsonl", [record(cell, 0)])
        folder.append("log_events.jsonl", [event(cell, 0), {"timestamp": 1, "message": "REPORT x", "logStream": "s"}])
    return folder


def test_the_rows_of_the_cell_move_and_the_others_stay(tmp_path):
    folder = folder_with_two_cells(tmp_path)
    assert set_aside(folder, "b") == 3
    for name in ("sent.jsonl", "records.jsonl"):
        assert {row["cell"] for row in folder.rows(name)} == {"a"}
    assert [row["message"][:6] for row in folder.rows("log_events.jsonl")] == ['{"run_', "REPORT", "REPORT"]
    assert [row["seq"] for row in folder.rows("abandoned.jsonl")] == [0, 1, 2]
    assert last_abandoned(folder) == {"b": 2}
    assert set_aside(folder, "never started") == 0
    # And no file is made of which there was none.
    assert not (folder.path / "unanswered.jsonl").exists()


@pytest.mark.parametrize("replaced", range(3))
def test_a_kill_between_any_two_files_is_finished_by_the_next_call(tmp_path, monkeypatch, replaced):
    folder, names, rewrite = folder_with_two_cells(tmp_path), [], RunFolder.rewrite

    def rewrite_until_killed(self, name, rows):
        names.append(name)
        if len(names) > replaced:
            raise KeyboardInterrupt
        rewrite(self, name, rows)

    with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
        killing.setattr(RunFolder, "rewrite", rewrite_until_killed)
        set_aside(folder, "b")
    assert set_aside(folder, "b") == 3
    assert len(list(folder.rows("abandoned.jsonl"))) == 3
    for name in ("sent.jsonl", "records.jsonl"):
        assert {row["cell"] for row in folder.rows(name)} == {"a"}
