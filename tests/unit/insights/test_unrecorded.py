"""Invocations that left no record: which they are, how each failed, and whose they were."""

import json

from stampede.insights.unrecorded import unrecorded, with_unrecorded
from tests.unit.insights.download_log import event
from tests.unit.runs.test_account import account

ID = "276ff3b9-1609-4ee7-a288-db375263076"
EXITED = "RequestId: {} Error: Runtime exited with error: exit status 7\nRuntime.ExitError\n"
TIMED_OUT = "2026-11-23T16:40:03.300Z {} Task timed out after 3.00 seconds\n\n"
LINES = (
    (EXITED, 1, 900),  # a clock that is behind the sender's
    (EXITED, 2, 1900),
    (TIMED_OUT, 3, 2500),
    (TIMED_OUT, 4, 2600),  # has left a record
    (EXITED, 5, 3500),
)


def store(folder, name, rows):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_they_are_those_that_lambda_logged_and_no_record_names_in_the_cell_that_was_sent_last(tmp_path):
    events = [event(line.format(f"{ID}{number}"), logStream="s") | {"timestamp": at} for line, number, at in LINES]
    store(tmp_path, "log_events.jsonl", events)
    store(tmp_path, "records.jsonl", [{"request_id": f"{ID}4", "status": "error"}])
    sent = [("a", 0, 1000), ("a", 1, 1001), ("b", 0, 2000), ("a", 2, 3000)]  # a and b in rounds
    sent = [{"cell": cell, "seq": seq, "sent_at_ms": at_ms} for cell, seq, at_ms in sent]
    store(tmp_path, "sent.jsonl", sent)
    found = [(row["invocation"], row["cell"], row["kind"]) for row in unrecorded(tmp_path)]
    assert sorted(found) == [
        (f"{ID}1", "a", "exited"),
        (f"{ID}2", "a", "exited"),
        (f"{ID}3", "b", "timed out"),
        (f"{ID}5", "a", "exited"),
    ]
    first, second = with_unrecorded(
        account(sent=sent, dead_letters=[row | {"message_id": "m"} for row in sent[:2]]), tmp_path
    )
    assert (first.as_dict()["without_record"], second.as_dict()["without_record"]) == ({"exited": 3}, {"timed out": 1})
    assert first.as_row(objects=False)["without_record"] == "3 exited"
    assert first.sentence().endswith("; invocations without a record, as Lambda logged them: 3 exited")


def test_a_run_in_which_no_invocation_left_a_record_has_them_all(tmp_path):
    store(tmp_path, "log_events.jsonl", [event(EXITED.format(f"{ID}1"), logStream="s")])
    store(tmp_path, "sent.jsonl", [{"cell": "a", "seq": 0, "sent_at_ms": 1}])
    assert [row["cell"] for row in unrecorded(tmp_path)] == ["a"]


def test_nothing_is_looked_for_where_every_message_has_a_record_and_missing_files_are_no_error(tmp_path):
    sent = [{"cell": "a", "seq": 0, "sent_at_ms": 1}]
    [counted] = with_unrecorded(
        account(sent=sent, records=[{"cell": "a", "seq": 0, "status": "ok"}]), tmp_path / "nowhere"
    )
    assert "without_record" not in counted.as_dict() and unrecorded(tmp_path) == []
