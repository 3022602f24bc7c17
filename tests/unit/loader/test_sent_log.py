"""sent.jsonl while a flood writes it: there with the first confirmed batch, and refused before anything is sent."""

import pytest

from loader.flood import sent_log
from loader.sqs.outcome import Accepted
from stampede.errors import UsageError
from stampede.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


def log_one(folder, seq):
    sent_log(folder, "c")([Accepted(seq, f"m-{seq}", 1, 0)])


def test_a_flood_of_which_nothing_was_confirmed_leaves_no_file(folder):
    sent_log(folder, "c")
    assert not list(folder.path.iterdir())


def test_each_batch_is_on_disk_at_once_and_behind_a_torn_line_there_is_none_of_it(folder):
    sent_log(folder, "c", round_number=2)([Accepted(0, "m-0", 1, 0), Accepted(1, "m-1", 1, 1)])
    rows = list(folder.rows("sent.jsonl"))
    assert [(row["seq"], row["possible_duplicate"], row["round"]) for row in rows] == [(0, 0, 2), (1, 1, 2)]
    with (folder.path / "sent.jsonl").open("a") as file:
        file.write('{"cell": "c", "se')
    log_one(folder, 2)
    assert [row["seq"] for row in folder.rows("sent.jsonl")] == [0, 1, 2]


def test_where_it_could_not_be_written_the_flood_ends_before_anything_is_sent(folder, tmp_path):
    (folder.path / "sent.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"sent\.jsonl isn't a file"):
        sent_log(folder, "c")
    gone = RunFolder(tmp_path / "gone")
    with pytest.raises(OSError, match=r"gone/sent\.jsonl"):
        sent_log(gone, "c")
