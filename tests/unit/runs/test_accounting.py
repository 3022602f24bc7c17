"""Every message is accounted for exactly once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.errors import RunError
from stampede.runs.accounting import account, check

CELL = "memory_size=1024,concurrency_value=5"


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


SEQS = st.lists(st.integers(0, 20), max_size=60)


@given(st.sets(st.integers(0, 20), min_size=1), SEQS, SEQS, SEQS)
def test_whatever_happens_the_parts_add_up_to_what_was_sent(sent_seqs, oks, errors, letters):
    [counts, *rest] = account(sent(*sent_seqs), [*map(ok, oks), *map(error, errors)], [letter(seq) for seq in letters])
    assert not rest
    assert counts.sent == len(sent_seqs) == counts.succeeded + counts.failed + counts.dead_lettered + counts.unaccounted
    assert counts.succeeded == len(sent_seqs & set(oks))
