"""A run's files as tables: which lines are rows, which are refused and named, and what can't
replace a file."""

import json
import math
import os
import re
from contextlib import nullcontext

import pytest

from stampede.errors import UsageError
from stampede.runs.account import account
from stampede.runs.store import open_store

GOOD = {"cell": "a", "seq": 2, "sent_at_ms": 1}
ROW = b'{"cell": "a", "seq": 1, "sent_at_ms": 1}\n'


def refused(words):
    return pytest.raises(UsageError, match=words)


NEEDED = "must have cell"
NO_JSON = "not JSON"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *(
            (ROW.strip().replace(b": 1,", value), NEEDED)
            for value in (b': "2",', b": 2.7,", b": true,")
        ),
        (ROW.strip().replace(b": 1,", b": 18446744073709551616,"), NEEDED),
        (ROW.strip().replace(b'"a"', b'"a\\u0000"'), NEEDED),
        (b"[1]", "not a JSON object"),
        (b'{"cell": "a"', NO_JSON),
        (b"\x00", NO_JSON),
        (b"[" * 100_000, NO_JSON),
        # An empty line, a duplicate key and half a character aren't damage.
        (b"", ""),
        (b'{"cell": "a", "seq": 2, "sent_at_ms": 1, "seq": 2}', ""),
        (b'{"cell": "\\ud800", "seq": 2, "sent_at_ms": 1}', ""),
    ],
)
def test_a_bad_line_is_refused_by_its_number_and_the_others_are_rows(folder, line, words):
    """The line stands between two rows, before a torn last line, which doesn't stop a run
    from resuming."""
    (folder.path / "sent.jsonl").write_bytes(ROW + line + b"\n" + ROW + ROW[:9])
    store, is_row = open_store(folder), bool(line and not words)
    numbers = sorted(re.findall("(?m)^sent.jsonl, line (.)", "\n".join(store.refused)))
    assert numbers == ["2"] * bool(words) + ["4"]
    assert store.rows("SELECT line, seq FROM sent ORDER BY line") == [
        (1, 1),
        *[(2, 2)] * is_row,
        (3, 1),
    ]
    with refused(rf"sent\.jsonl is damaged \(line 2: {words}") if words else nullcontext():
        assert len(open_store(folder, strict=True).rows("FROM sent")) == 2 + is_row


# The operations.

CELL = {"cell": "a", "memory_size": 1024, "concurrency_value": 5}
RUN = {"experiment": "download", "cells": [CELL], "plan": {"swept": {"memory_size": [1024, 2048]}}}
SETTINGS = {"memory_size": 1024, "concurrency_limit": 5}
RECORD = {
    "cell": "a",
    "seq": 1,
    "message_id": "m",
    "status": "ok",
    "download_time_seconds": 0.5,
} | SETTINGS


def store_of(folder, *changes):
    """The store of a run whose records are RECORD, each with changes; text is written unchanged."""
    lines = [
        change if isinstance(change, str) else json.dumps(RECORD | change) for change in changes
    ]
    (folder.path / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return open_store(folder, RUN)


def seconds(value):
    return {"download_time_seconds": value}


@pytest.mark.parametrize(
    ("kind", "changes"),
    {
        "first": [
            {},
            {"cell": None, "seq": None},
            {"cell": "a stranger's"},
            {"warm_up": True},
            {"warm_up": 2},
            seconds(1e9),
            seconds(0),
            {"trajectory": "[" * 100_000},
        ],
        "error": [{"memory_size": None}, seconds(None), {"memory_size": [1024]}],
        "warm-up": [{"warm_up": 1}],
        "foreign": [{"memory_size": 2048}, {"memory_size": 2048, "status": "fine"}],
        "refused": [
            {"status": "fine"},
            {"status": 1},
            {"memory_size": None},
            {"memory_size": "1024", "cell": None},
            {"memory_size": True, "cell": None},
            {"concurrency_limit": 0, "cell": None},
            *map(seconds, [None, "0.5", True, -0.1, 1.1e9, float("nan")]),
        ],
    }.items(),
)
def test_a_record_is_an_operation_if_its_figures_are_usable(folder, kind, changes):
    """Each record belongs to a different message."""
    status = {"status": "error"} if kind == "error" else {}
    store = store_of(
        folder, *(RECORD | {"seq": seq} | change | status for seq, change in enumerate(changes))
    )
    kinds = store.rows(
        """SELECT line, CASE WHEN is_foreign THEN 'foreign' WHEN is_warm_up THEN 'warm-up'
                             WHEN is_first_success THEN 'first' ELSE status END
                                 FROM operations ORDER BY line"""
    )
    lines = range(1, len(changes) + 1)
    is_refused = kind == "refused"
    assert kinds == [(line, kind) for line in lines] * (not is_refused)
    words = [text.partition(" (")[0] for text in store.refused]
    refusals = [f"records.jsonl, line {line}: not a valid record" for line in lines]
    assert words == refusals * is_refused
    differences = [str(difference) for cell in store.differences.values() for difference in cell]
    assert differences == ["memory_size 2048 where the cell has 1024"] * (kind == "foreign")


@pytest.mark.parametrize(
    "value", ["1", True, -1, 2**53, 10**30, 1.5, [7], {"a": 7}, None, float("inf")]
)
def test_an_impossible_figure_is_unknown(folder, value):
    store = store_of(folder, {"bytes": value, "retries": value, "attempt": 2**53 - 1})
    known = [-1, 1.5 if value == 1.5 else math.nan, 2**53 - 1]
    columns = store.arrays("SELECT bytes, retries, attempt FROM operations")
    assert [float(column[0]) for column in columns.values()] == pytest.approx(known, nan_ok=True)


def test_a_time_too_short_to_divide_by_is_none_and_a_moment_lies_before_the_year_10000(folder):
    store = store_of(folder, {"started_at_ms": 10**15} | seconds(5e-324))
    [row] = store.rows("SELECT seconds, started_at_ms FROM operations")
    assert row == (0, None)


def test_a_message_has_its_cell_and_number_or_sqss_id_and_its_first_success_counts(
    folder,
):
    nameless = {"cell": None, "seq": None}
    unknown = nameless | {"message_id": None}
    again = [{"status": "error"}, {"memory_size": 2048}, {"warm_up": 1}]
    again += [{"message_id": "another"}, nameless]
    firsts = [{}, {"seq": 2}, {"cell": "b"}, nameless, unknown, unknown]
    store = store_of(folder, *again[:3], *firsts, *again[3:])
    rows = store.rows("SELECT message, is_first_success FROM operations ORDER BY line")
    first = [message for message, is_first in rows if is_first]
    assert first == ["1 of a", "2 of a", "1 of b", "m", None, None]
    assert [message for message, is_first in rows if not is_first] == ["1 of a"] * 4 + ["m"]


def test_a_record_without_a_time_has_no_figures_but_its_message_succeeded(folder):
    folder.append("sent.jsonl", [GOOD | {"seq": 1}])
    [counts] = account(store_of(folder, seconds(None)))
    assert (counts.sent, counts.succeeded) == (1, 1)


def test_a_pipe_is_refused(folder):
    path = folder.path / "records.jsonl"
    os.mkfifo(path)
    with refused(r"records\.jsonl isn't a file; remove it"):
        open_store(folder, strict=True)
    assert open_store(folder).refused == [f"records.jsonl can't be read: {path} isn't a file"]
