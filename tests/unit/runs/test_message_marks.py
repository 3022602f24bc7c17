"""Marks of a million messages take a megabyte, and count like sets do."""

import tracemalloc
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stampede.runs.accounting import Ledger
from stampede.runs.message_marks import COMBINATIONS, DEAD, ERRED, OK, SENT, CellMarks

SEQS = st.one_of(st.integers(-3, 12), st.integers(4_090, 4_100), st.sampled_from([10**15, None, "7", 2.0, True]))
MARKS = st.sampled_from([SENT, OK, ERRED, DEAD])


@given(st.lists(st.tuples(SEQS, MARKS)), MARKS)
def test_marks_count_as_sets_would(added, wanted):
    marks, sets, repeated = CellMarks(), {mark: set() for mark in (SENT, OK, ERRED, DEAD)}, 0
    for seq, mark in added:
        name = (type(seq).__name__, seq) if type(seq) is int else ("odd", seq)
        repeated += name in sets[wanted] and mark == wanted
        marks.add(seq, mark)
        sets[mark].add(name)
    assert marks.repeated[wanted] == repeated
    messages = set().union(*sets.values())
    combined = Counter(sum(mark for mark, names in sets.items() if name in names) for name in messages)
    assert marks.by_marks() == [combined[number] for number in range(COMBINATIONS)]


def test_a_message_is_accounted_for_in_two_bytes():
    count = 200_000
    tracemalloc.start()
    try:
        ledger = Ledger()
        for seq in range(count):
            ledger.sent({"cell": "a", "seq": seq})
        for seq in range(count):
            ledger.record({"cell": "a", "seq": seq, "status": "ok" if seq % 10 else "error"})
        [account] = ledger.accounts()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (account.sent, account.succeeded, account.failed, account.unaccounted) == (count, 180_000, 20_000, 0)
    assert peak_bytes < 2 * count
