"""Invocations that left no record: which they are, how each failed, and which cell they
belong to."""

import json

from stampede.insights.unrecorded import unrecorded, with_unrecorded
from tests.unit.runs.test_account import account

ID = "276ff3b9-1609-4ee7-a288-db375263076"
EXITED = "RequestId: {} Error: Runtime exited with error: exit status 7\nRuntime.ExitError\n"
TIMED_OUT = "2026-11-23T16:40:03.300Z {} Task timed out after 3.00 seconds\n\n"
LINES = (
    (EXITED, 1, 900),  # its clock is behind the sender's
    (EXITED, 2, 1900),
    (TIMED_OUT, 3, 2500),
    (TIMED_OUT, 4, 2600),  # left a record
    (EXITED, 5, 3500),
)
EVENTS = [
    {"timestamp": at, "message": line.format(f"{ID}{number}"), "logStream": "s"}
    for line, number, at in LINES
]
SENT = [("a", 0, 1000), ("a", 1, 1001), ("b", 0, 2000), ("c", 0, 3000)]
SENT = [{"cell": cell, "seq": seq, "sent_at_ms": at_ms} for cell, seq, at_ms in SENT]


def store(folder, name, rows):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_an_invocation_without_a_record_belongs_to_the_cell_last_sent_to(tmp_path):
    store(tmp_path, "log_events.jsonl", EVENTS)
    store(tmp_path, "records.jsonl", [{"request_id": f"{ID}4", "status": "error"}])
    store(tmp_path, "sent.jsonl", SENT)
    missing = sorted(
        (row["invocation"][-1], row["cell"], row["kind"]) for row in unrecorded(tmp_path)
    )
    assert missing == [
        ("1", "a", "exited"),
        ("2", "a", "exited"),
        ("3", "b", "timed out"),
        ("5", "c", "exited"),
    ]
    dead_letters = [row | {"message_id": "m"} for row in SENT[:2]]
    first, second, _ = with_unrecorded(account(sent=SENT, dead_letters=dead_letters), tmp_path)
    assert first.as_dict()["without_record"] == {"exited": 2}
    assert second.as_dict()["without_record"] == {"timed out": 1}
    assert first.as_row(objects=False)["without_record"] == "2 exited"
    assert first.sentence().endswith("as Lambda logged them: 2 exited")


def test_without_any_record_every_invocation_counts(tmp_path):
    store(tmp_path, "log_events.jsonl", EVENTS)
    store(tmp_path, "sent.jsonl", SENT[:1])
    assert [row["cell"] for row in unrecorded(tmp_path)] == ["a"] * 5


def test_files_are_read_only_if_a_message_lacks_a_record_and_may_be_missing(tmp_path):
    records = [{"cell": "a", "seq": 0, "status": "ok"}]
    [counted] = with_unrecorded(account(sent=SENT[:1], records=records), tmp_path / "nowhere")
    assert "without_record" not in counted.as_dict() and unrecorded(tmp_path) == []
