"""What a killed sweep left of a cell is set aside whole, and never counted."""

import json

from loader.unfinished_cell import abandoned_keys, set_aside
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
    assert abandoned_keys(folder) == {("b", 0), ("b", 1), ("b", 2)}
    # And no file is made of which there was none.
    assert not (folder.path / "unanswered.jsonl").exists()


def test_a_cell_that_was_never_started_changes_nothing(tmp_path):
    folder = folder_with_two_cells(tmp_path)
    assert set_aside(folder, "c") == 0
    assert len(list(folder.rows("sent.jsonl"))) == 6


def test_a_kill_between_two_files_is_finished_by_the_next_call(tmp_path):
    folder = folder_with_two_cells(tmp_path)
    sent = (folder.path / "sent.jsonl").read_text()
    set_aside(folder, "b")
    (folder.path / "sent.jsonl").write_text(sent)  # as if killed before the last file was replaced
    assert set_aside(folder, "b") == 3
    assert len(list(folder.rows("abandoned.jsonl"))) == 3
