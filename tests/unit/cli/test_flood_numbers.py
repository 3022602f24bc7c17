"""A message's number is never used twice in a run, not even after a killed flood."""

import pytest

from loader.flood import first_seq
from loader.sqs.message import IN_FLIGHT
from loader.unfinished_cell import set_aside
from stampede.runs.folder import RunFolder
from stampede.stacks.sqs_limits import MAX_ENTRIES


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


def send(folder, cell, *seqs):
    folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in seqs])


def test_numbers_after_a_killed_flood_leave_room_for_unconfirmed_batches(folder):
    send(folder, "a", *range(30))
    set_aside(folder, "a")
    first = first_seq(folder, "a")
    assert first == 30 + IN_FLIGHT * MAX_ENTRIES
    send(folder, "a", first, first + 1)
    assert (first_seq(folder, "a"), first_seq(folder, "b")) == (first + 2, 0)


def test_the_same_room_is_left_after_a_flood_without_any_confirmed_batch(
    folder,
):
    send(folder, "a", *range(30))
    assert first_seq(folder, "a", knows_all_sent=False) == 30 + IN_FLIGHT * MAX_ENTRIES
    assert first_seq(folder, "b", knows_all_sent=False) == IN_FLIGHT * MAX_ENTRIES
