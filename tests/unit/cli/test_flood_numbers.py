"""A message's number is never used twice in a run, not even behind a flood that was killed."""

import pytest

from loader.flood import first_seq
from loader.sqs.outcome import IN_FLIGHT
from loader.unfinished_cell import set_aside
from stampede.runs.folder import RunFolder
from stampede.stacks.sqs_limits import MAX_ENTRIES


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


def send(folder, cell, *seqs):
    folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in seqs])


def test_behind_a_killed_flood_there_is_room_for_the_batches_that_nobody_confirmed(folder):
    send(folder, "a", *range(30))
    set_aside(folder, "a")
    first = first_seq(folder, "a")
    assert first == 30 + IN_FLIGHT * MAX_ENTRIES
    send(folder, "a", first, first + 1)
    assert (first_seq(folder, "a"), first_seq(folder, "b")) == (first + 2, 0)


def test_the_same_room_is_left_for_a_flood_that_may_have_been_killed_before_any_of_it_was_confirmed(
    folder,
):
    send(folder, "a", *range(30))
    assert first_seq(folder, "a", knows_all_sent=False) == 30 + IN_FLIGHT * MAX_ENTRIES
    assert first_seq(folder, "b", knows_all_sent=False) == IN_FLIGHT * MAX_ENTRIES
