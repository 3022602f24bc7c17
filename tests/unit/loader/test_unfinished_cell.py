"""A killed sweep's data of an unfinished cell is set aside completely and never counted; sent.jsonl
during a flood."""

import json

import pytest

from loader.flood import MOST_UNRECORDED, sent_log
from loader.unfinished_cell import abandoned, set_aside, whole_rounds
from stampede.errors import UsageError
from stampede.runs.folder import RunFolder


@pytest.fixture
def begun(folder):
    """A run with two cells."""
    for cell in "ab":
        record = {"run_id": "r", "cell": cell, "seq": 0, "status": "ok"}
        folder.append(
            "sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(3)]
        )
        folder.append("records.jsonl", [record])
        folder.append(
            "log_events.jsonl",
            [{"timestamp": 1, "message": text} for text in (json.dumps(record), "REPORT")],
        )
    return folder


def seqs(folder, cell):
    return [row["seq"] for row in folder.rows("sent.jsonl") if row["cell"] == cell]


@pytest.mark.parametrize("replaced", range(4))
def test_a_cells_rows_are_set_aside_even_after_a_kill_between_two_files(
    begun, monkeypatch, replaced
):
    files, rewrite = iter(range(replaced)), RunFolder.rewrite

    def rewrite_until_killed(self, name, rows):
        if next(files, None) is None:
            raise KeyboardInterrupt
        rewrite(self, name, rows)

    if replaced < 3:
        with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
            killing.setattr(RunFolder, "rewrite", rewrite_until_killed)
            set_aside(begun, "b")
    assert (set_aside(begun, "b"), set_aside(begun, "never started")) == (True, False)
    assert (seqs(begun, "a"), seqs(begun, "b")) == ([0, 1, 2], [])
    assert {row["cell"] for row in begun.rows("records.jsonl")} == {"a"}
    lines = [row["message"][:6] for row in begun.rows("log_events.jsonl")]
    assert lines == ['{"run_', "REPORT", "REPORT"]
    is_abandoned = abandoned(begun)
    for seq in (0, 2 + MOST_UNRECORDED):
        late = {"cell": "b", "seq": seq}
        assert is_abandoned(late) and not is_abandoned(late | {"cell": "a"})
        assert is_abandoned({"timestamp": 1, "message": json.dumps(late)})
    for printed in ("[1]", "{", '{"cell": {}, "seq": {}}'):  # by a user's function
        assert not is_abandoned({"timestamp": 1, "message": printed})
    assert not (begun.path / "unanswered.jsonl").exists(), "no missing file is created"


def test_a_round_with_a_message_that_would_be_delivered_again_is_not_done(folder):
    sent = [{"cell": "a", "seq": seq, "sent_at_ms": 1, "round": 1 + seq // 2} for seq in range(6)]
    folder.append("sent.jsonl", sent)
    folder.append("dead_letters.jsonl", [{"cell": "a", "seq": 1, "message_id": "m"}])
    ok, failed = {"cell": "a", "status": "ok"}, {"cell": "a", "status": "error"}
    query = failed | {"execution_id": "e"}
    folder.append("records.jsonl", [ok | {"seq": 0}, ok | {"seq": 2}, query | {"seq": 3}])
    folder.append("records.jsonl", [ok | {"seq": 4}, failed | {"seq": 5}])
    assert whole_rounds(folder, {"a": [2, 2, 2]}) == 2


def test_the_flood_ends_before_sending_if_sent_messages_cannot_be_written(folder):
    (folder.path / "sent.jsonl").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="isn't a file"):
        sent_log(folder, "c", {})
