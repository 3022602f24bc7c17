"""A run's files as tables: what is a row, what is refused and named, and what doesn't stand in a file's place."""

import json
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
    store.add("letters", [{"cell": None, "seq": None, "message_id": "m"}])
    assert store.rows("SELECT line, seq FROM records ORDER BY line") == [(1, 1), (2, 1), (3, 2)]
    [counts] = account(store)
    assert (counts.succeeded, counts.failed, counts.duplicates) == (1, 1, 1)


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
