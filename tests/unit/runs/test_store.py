"""A run's files as tables: what is a row, what is refused and named, and what doesn't stand in a file's place."""

import json
import math
import os
import re

import pytest

from stampede.errors import UsageError
from stampede.runs.account import account
from stampede.runs.folder import RunFolder
from stampede.runs.store import open_store

GOOD = {"cell": "a", "seq": 1, "sent_at_ms": 1}


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def sent_with(folder, line):
    """What is read where a line stands between two rows: the rows' numbers and what is refused."""
    rows = [json.dumps(GOOD | {"seq": seq}) for seq in (1, 3)]
    (folder.path / "sent.jsonl").write_bytes(b"\n".join([rows[0].encode(), line, rows[1].encode(), b""]))
    store = open_store(folder)
    return store.rows("SELECT line, seq FROM sent ORDER BY line"), store.refused


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"cell": "a", "seq": "2", "sent_at_ms": 1}', 'seq must be a whole number, got "2"'),
        (b'{"cell": "a", "seq": 2.7, "sent_at_ms": 1}', "seq must be a whole number, got 2.7"),
        (b'{"cell": "a", "seq": true, "sent_at_ms": 1}', "seq must be a whole number, got true"),
        (b'{"cell": "a", "seq": 18446744073709551616, "sent_at_ms": 1}', "seq must be a whole number, got 1844"),
        (b'{"cell": 1, "seq": 2, "sent_at_ms": 1}', "cell must be a text"),
        (b'{"cell": "a\\u0000", "seq": 2, "sent_at_ms": 1}', "cell must be a text"),
        (b'{"cell": "a", "sent_at_ms": 1}', "seq is missing"),
        (b"[1]", "not a JSON object"),
        (b'{"cell": "a"', "not JSON"),
        (b"\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_row_is_refused_by_its_number_and_the_others_are_rows(folder, line, words):
    rows, [refused] = sent_with(folder, line)
    assert rows == [(1, 1), (3, 3)]
    assert refused.startswith("sent.jsonl, line 2: ") and refused.endswith("; left out.")
    with pytest.raises(UsageError, match=rf"sent\.jsonl is damaged \(line 2: {re.escape(words)}.*\); restore it"):
        open_store(folder, strict=True)


@pytest.mark.parametrize(
    "line",
    [b"", b'{"cell": "a", "seq": 2, "sent_at_ms": 1, "seq": 2}', b'{"cell": "\\ud800", "seq": 2, "sent_at_ms": 1}'],
)
def test_an_empty_line_a_key_that_comes_twice_and_half_a_character_are_no_damage(folder, line):
    rows, refused = sent_with(folder, line)
    assert ([seq for _, seq in rows], refused) == ([1, 2, 3] if line else [1, 3], [])


@pytest.mark.parametrize("value", ['"1"', "2.7", "true", "null", "NaN", "1e400", "18446744073709551616", "[]"])
def test_what_isnt_of_its_kind_beside_a_message_is_unknown(folder, value):
    (folder.path / "records.jsonl").write_text(f'{{"cell": "a", "seq": 1, "status": "ok", "attempt": {value}}}\n')
    store = open_store(folder, strict=True)
    assert store.rows("SELECT seq, attempt FROM records") == [(1, None)]


def test_a_torn_last_line_is_none_and_no_damage(folder):
    (folder.path / "sent.jsonl").write_text(json.dumps(GOOD) + '\n{"cell": "a", "s')
    assert open_store(folder, strict=True).rows("SELECT seq FROM sent") == [(1,)]


def test_rows_that_come_later_are_counted_as_those_of_the_file(folder):
    folder.append("sent.jsonl", [GOOD, GOOD | {"seq": 2}])
    store = open_store(folder)
    record = {"cell": "a", "status": "ok"}
    store.add("records", [record | {"seq": 1}, record | {"seq": 1}])
    store.add("records", [record | {"seq": 2, "status": "error"}])
    store.add("letters", [{"cell": None, "seq": None, "message_id": "\ud800"}])
    assert store.rows("SELECT message_id FROM letters") == [("?",)]
    assert store.rows("SELECT line, seq FROM records ORDER BY line") == [(1, 1), (2, 1), (3, 2)]
    [counts] = account(store)
    assert (counts.succeeded, counts.failed, counts.duplicates) == (1, 1, 1)


# The operations.

CELL = {"cell": "a", "memory_size": 1024, "concurrency_value": 5}
RUN = {"experiment": "download", "cells": [CELL], "plan": {"swept": {"memory_size": [1024, 2048]}}}
RECORD = {
    "cell": "a",
    "seq": 1,
    "message_id": "m",
    "status": "ok",
    "download_time_seconds": 0.5,
    "bytes": 7,
    "memory_size": 1024,
    "concurrency_limit": 5,
    "started_at_ms": 1,
    "attempt": 1,
    "warm_up": 0,
}


def store_of(folder, *changes):
    """What is read of a run whose records are RECORD, each with changes; a text stands as it is."""
    lines = [change if isinstance(change, str) else json.dumps(RECORD | change) for change in changes]
    (folder.path / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return open_store(folder, RUN)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "first"),
        ({"cell": None, "seq": None}, "first"),
        ({"cell": "a stranger's"}, "first"),
        ({"status": "error", "download_time_seconds": None, "memory_size": None}, "error"),
        ({"warm_up": 1}, "warm-up"),
        ({"warm_up": True}, "first"),
        ({"warm_up": 2}, "first"),
        ({"warm_up": 1, "status": "error"}, "warm-up"),
        ({"memory_size": 2048}, "foreign"),
        ({"memory_size": 2048, "status": "fine"}, "foreign"),
        ({"memory_size": [1024], "status": "error"}, "error"),
        ({"status": "fine"}, "refused"),
        ({"status": 1}, "refused"),
        ({"memory_size": None}, "refused"),
        ({"memory_size": "1024", "cell": None}, "refused"),
        ({"memory_size": True, "cell": None}, "refused"),
        ({"concurrency_limit": 0, "cell": None}, "refused"),
        ({"download_time_seconds": None}, "refused"),
        ({"download_time_seconds": "0.5"}, "refused"),
        ({"download_time_seconds": True}, "refused"),
        ({"download_time_seconds": -0.1}, "refused"),
        ({"download_time_seconds": 1.1e9}, "refused"),
        ({"download_time_seconds": float("nan")}, "refused"),
        ({"download_time_seconds": 1e9}, "first"),
        ({"download_time_seconds": 0}, "first"),
        ({"trajectory": "[" * 100_000}, "first"),
    ],
)
def test_a_record_is_an_operation_where_figures_can_be_counted_from_it(folder, change, kind):
    store = store_of(folder, {"seq": 0}, change)
    kinds = store.rows(
        """SELECT line, CASE WHEN is_foreign THEN 'foreign' WHEN is_warm_up THEN 'warm-up'
                             WHEN is_first_success THEN 'first' ELSE status END FROM operations ORDER BY line"""
    )
    assert kinds == [(1, "first")] + [(2, kind)] * (kind != "refused")
    why = (
        "records.jsonl, line 2: not a valid record (it needs status, memory_size, concurrency_limit and, when ok, "
        "download_time_seconds); left out."
    )
    assert store.refused == [why] * (kind == "refused")
    [told] = store.differences.values() or [[]]
    assert [str(difference) for difference in told] == ["memory_size 2048 where the cell has 1024"] * (
        kind == "foreign"
    )


@pytest.mark.parametrize("value", ["1", True, -1, 2**53, 10**30, 1.5, [7], {"a": 7}, None, float("inf")])
def test_a_figure_that_cant_be_is_unknown(folder, value):
    store = store_of(folder, {"bytes": value, "retries": value, "attempt": 2**53 - 1})
    retries = 1.5 if value == 1.5 else None
    assert store.rows("SELECT bytes, retries, attempt, seconds FROM operations") == [(None, retries, 2**53 - 1, 0.5)]
    columns = store.arrays("SELECT bytes, seconds, retries FROM operations")
    assert (columns["bytes"].tolist(), columns["seconds"].tolist()) == ([-1], [0.5])
    assert columns["retries"].tolist() == [1.5] if retries else math.isnan(columns["retries"][0])


def test_the_first_success_of_a_message_is_told_from_further_ones(folder):
    """A message is known by its cell and number, else by SQS's id; one of which neither is known is like no other."""
    nameless = {"cell": None, "seq": None}
    store = store_of(
        folder,
        {"status": "error"},
        {"memory_size": 2048},
        {"warm_up": 1},
        {},
        {"message_id": "another"},
        {"seq": 2},
        {"cell": "b"},
        nameless,
        nameless,
        nameless | {"message_id": None},
        nameless | {"message_id": None},
        nameless | {"cell": "a", "message_id": None},
    )
    assert store.rows("SELECT line FROM operations WHERE is_first_success ORDER BY line") == [
        (line,) for line in (4, 6, 7, 8, 10, 11, 12)
    ]
    messages = [message for (message,) in store.rows("SELECT message FROM operations ORDER BY line")]
    assert messages == ["1 of a"] * 5 + ["2 of a", "1 of b", "m", "m", None, None, None]


def test_an_operation_is_of_its_cell_and_of_the_coordinates_that_it_says(folder):
    store = store_of(folder, {}, {"cell": "b", "memory_size": 2048}, {"cell": None}, {"status": "error", "sdk": "x"})
    ours, theirs = store.places[:2]
    assert (ours.coordinates, theirs.coordinates) == (
        (1024, 5, "download_file", "tmp"),
        (2048, 5, "download_file", "tmp"),
    )
    assert store.cells == ["a", "b"]
    places = store.rows("SELECT cell_at, place_at FROM operations ORDER BY line")
    assert places == [(0, 0), (1, 1), (None, 0), (0, 0)]


def test_refused_lines_have_their_numbers_in_the_file_and_count_as_what_they_are(folder):
    """A record without a time is in no figure, and its message succeeded all the same."""
    folder.append("sent.jsonl", [GOOD, GOOD | {"seq": 2}])
    nothing_said = {"seq": 2, "status": None}
    store = store_of(folder, "", "{torn", '{"a": {"b": [1]}}', {"download_time_seconds": None}, nothing_said)
    assert [refused.partition(": ")[0] for refused in store.refused] == [
        f"records.jsonl, line {line}" for line in (2, 3, 4, 5)
    ]
    [counts] = account(store)
    assert (counts.sent, counts.succeeded, counts.unaccounted) == (2, 1, 1)


@pytest.mark.parametrize(
    ("letter", "is_row"),
    [({"message_id": "m"}, True), ({"cell": "a", "seq": 1}, True), ({"cell": "a"}, False), ({"message_id": 5}, False)],
)
def test_a_letter_or_a_sent_line_says_of_which_message_it_is(folder, letter, is_row):
    for name in ("dead_letters", "sent"):
        (folder.path / f"{name}.jsonl").write_text(json.dumps(letter) + "\n")
    store = open_store(folder)
    assert [len(store.rows(f"FROM {table}")) for table in ("letters", "sent")] == [is_row, is_row]
    assert len(store.refused) == 2 * (not is_row)


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_isnt_a_file_is_refused(folder, kind):
    path = folder.path / "records.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(__file__)
    with pytest.raises(UsageError, match=r"records\.jsonl isn't a file; remove it"):
        open_store(folder, strict=True)
    [refused] = open_store(folder).refused
    assert refused == f"records.jsonl can't be read: {path} isn't a file"
