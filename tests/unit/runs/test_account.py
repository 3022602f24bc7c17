"""Every message is accounted for exactly once."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.errors import RunError
from stampede.runs.account import check, stored_accounts
from stampede.runs.folder import RunFolder

CELL = "memory_size=1024,concurrency_value=5"


def account(sent, records, letters):
    """The account of a run with these rows."""
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path))
        for name, rows in (("sent", sent), ("records", records), ("dead_letters", letters)):
            folder.append(f"{name}.jsonl", rows)
        return stored_accounts(folder)


def sent(*seqs, cell=CELL):
    return [{"cell": cell, "seq": seq, "message_id": f"m{seq}", "sent_at_ms": 1} for seq in seqs]


def ok(seq, cell=CELL):
    return {"cell": cell, "seq": seq, "status": "ok"}


def error(seq, cell=CELL):
    return {"cell": cell, "seq": seq, "status": "error"}


def letter(seq, cell=CELL):
    return {"cell": cell, "seq": seq, "message_id": f"m{seq}"}


def test_every_outcome_is_counted_once():
    [counts] = account(sent(0, 1, 2, 3, 4), [ok(0), error(1), ok(1), error(2), error(2), error(3), ok(0)], [letter(2)])
    assert (counts.sent, counts.succeeded, counts.failed, counts.dead_lettered, counts.unaccounted) == (5, 2, 1, 1, 1)
    assert counts.duplicates == 1


def test_a_message_without_any_trace_fails_the_check_and_is_named():
    accounts = account(sent(0, 1), [ok(0)], [])
    with pytest.raises(RunError, match=r"concurrency_value=5: 2 sent = 1 succeeded .* 1 UNACCOUNTED"):
        check(accounts)


def test_errors_alone_are_accounted_for_as_failed_and_fail_the_check_with_the_commonest():
    records = [error(0) | {"error_type": kind, "error_message": "why"} for kind in ("Rare", "Common", "Common")]
    accounts = account([*sent(0), *sent(0, cell="b")], [*records, ok(0, cell="b")], [])
    assert accounts[0].failed == 1
    with pytest.raises(
        RunError, match=rf"no message succeeded in 1 cell: {CELL}: 2 of 3 error records: Common, .* why"
    ):
        check(accounts)


def test_a_message_that_succeeded_and_was_redelivered_until_dead_counts_as_succeeded():
    [counts] = account(sent(0), [ok(0), error(0)], [letter(0)])
    assert (counts.succeeded, counts.dead_lettered) == (1, 0)


def test_records_of_a_message_never_confirmed_as_sent_are_shown_apart():
    [counts] = account(sent(0), [ok(0), ok(7)], [])
    assert (counts.sent, counts.succeeded, counts.unexpected) == (1, 1, 1)


def test_cells_are_accounted_for_separately_in_the_order_of_sending():
    accounts = account([*sent(0, cell="b"), *sent(0, cell="a")], [ok(0, cell="a")], [])
    assert [(row.cell, row.succeeded, row.unaccounted) for row in accounts] == [("b", 0, 1), ("a", 1, 0)]


SEQS = st.lists(st.sampled_from([*range(12), 10**15, -3]), max_size=40)


@given(st.sets(st.integers(0, 15), min_size=1), SEQS, SEQS, SEQS)
def test_whatever_happens_messages_are_counted_as_sets_are(sent_seqs, oks, errors, letters):
    [counts, *rest] = account(sent(*sent_seqs), [*map(ok, oks), *map(error, errors)], map(letter, letters))
    succeeded = sent_seqs & set(oks)
    dead = sent_seqs & set(letters) - succeeded
    failed = sent_seqs & set(errors) - succeeded - dead
    assert not rest
    assert (counts.sent, counts.succeeded, counts.dead_lettered) == (len(sent_seqs), len(succeeded), len(dead))
    assert (counts.failed, counts.unaccounted) == (len(failed), len(sent_seqs - succeeded - dead - failed))
    assert counts.duplicates == len(oks) - len(set(oks))
    assert (counts.unexpected, counts.error_records) == (len({*oks, *errors} - sent_seqs), len(errors))
