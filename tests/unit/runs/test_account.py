"""Every message is accounted for exactly once."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stampede.errors import RunError
from stampede.runs.account import check, stored_accounts
from stampede.runs.folder import RunFolder


def account(**files):
    """The accounts of a run with these rows."""
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path))
        for name, lines in files.items():
            folder.append(f"{name}.jsonl", lines)
        return stored_accounts(folder)


def rows(*seqs, cell="a", **more):
    return [{"cell": cell, "seq": seq, "message_id": "m", "sent_at_ms": 1} | more for seq in seqs]


SEQS = st.lists(st.sampled_from([*range(12), 10**15, -3]), max_size=40)


@example({0, 1, 2, 3, 4}, [0, 0, 0, 7], [0, 1, 2], [0, 2, 9], [1, 2, 3])
@given(st.sets(st.integers(0, 15), min_size=1), SEQS, SEQS, SEQS, SEQS)
def test_messages_are_counted_as_sets_whatever_happens(sent, oks, errors, letters, silent):
    records = rows(*oks, status="ok") + rows(*errors, status="error")
    files = {"sent": rows(*sent), "dead_letters": rows(*letters), "unanswered": rows(*silent)}
    [counts] = account(records=records, **files)
    left, expected = set(sent), {"sent": len(sent), "error_records": len(errors)}
    for name, seqs in (
        ("succeeded", oks),
        ("dead_lettered", letters),
        ("failed", errors),
        ("unanswered", silent),
    ):
        expected[name] = len(left & {*seqs})
        left -= {*seqs}
    expected |= {"unaccounted": len(left), "owing": len(left) + expected["unanswered"]}
    expected |= {"duplicates": len(oks) - len({*oks}), "unexpected": len({*oks, *errors} - sent)}
    assert {name: getattr(counts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ((), "a: 1 sent = .* 1 UNACCOUNTED"),
        (("Rare", "Often", "Often"), "in 1 cell: a: 2 of 3 error .*Often, .* why"),
    ],
)
def test_a_message_without_a_trace_and_a_cell_without_a_success_fail_the_check(kinds, words):
    sent, records = rows(0) + rows(0, cell="b"), rows(0, cell="b", status="ok")
    for kind in kinds:
        records += rows(0, status="error", error_type=kind, error_message="why")
    with pytest.raises(RunError, match=words):
        check(account(sent=sent, records=records))


def test_cells_are_accounted_for_separately_in_the_order_of_sending():
    accounts = account(sent=rows(0, cell="b") + rows(0), records=rows(0, status="ok"))
    counts = [(row.cell, row.succeeded, row.unaccounted) for row in accounts]
    assert counts == [("b", 0, 1), ("a", 1, 0)]
