"""Where every message went, what failed, and what is said if it doesn't add up."""

import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede.report import details, messages
from stampede.report.run import load
from tests.contract import synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import analysed, cell_id, error, record, write_lines

CELL = cell_id(1)
ACCOUNT = {
    "sent": 9,
    "succeeded": 4,
    "failed": 2,
    "dead_lettered": 1,
    "unanswered": 1,
    "unaccounted": 1,
}
ACCOUNT |= {"duplicates": 1}


def row(seq, **more):
    return {"cell": CELL, "seq": seq, "message_id": f"{CELL}-{seq}"} | more


@pytest.fixture
def folder(tmp_path):
    """Nine messages: three succeeded, one of them twice and one at its second attempt; one failed,
    one is a dead letter, one in flight, one has other settings, one is missing. A warm-up
    failed."""
    ok, again, twice = (record(0, 100, seq=seq) for seq in range(3))
    errors = [error(0, 50, seq=seq, error_message="<Reduce & wait>") for seq in (1, 3, 4)]
    others = [error(0, 50, seq=9, warm_up=1), record(0, 100, seq=5, memory_size=2048)]
    records = [*errors, ok, again | {"attempt": 2}, twice, twice | {"attempt": 2}, *others]
    made = handmade_run.write(tmp_path / "run", records, [1])
    write_lines(made / "sent.jsonl", [*map(row, range(8)), row(9, warm_up=1)])
    write_lines(made / "dead_letters.jsonl", [row(4, body='{"seq": 4}')])
    write_lines(made / "unanswered.jsonl", [row(6)])
    return made


def test_every_message_is_accounted_for_and_what_is_not_puts_the_figures_in_doubt(folder):
    counted = messages.account_of(load(folder))
    assert {name: counted.total(name) for name in ACCOUNT} == ACCOUNT
    assert re.search(
        r"1 record .* 2048 .*1024.* \| .*1 of 9 messages unaccounted", " | ".join(counted.problems)
    )


def test_an_account_that_contradicts_the_files_is_a_problem(folder):
    (folder / "accounting.json").write_text(
        json.dumps([{"cell": CELL, "sent": 9, "succeeded": 8, "failed": 2}])
    )
    problems = " | ".join(messages.account_of(load(folder)).problems)
    assert re.search(r"succeeded = 8, but .* 4\. \| [^|]*9 sent, but .* is 10\.$", problems)


def test_without_the_messages_and_an_account_nothing_is_claimed(folder):
    (folder / "sent.jsonl").unlink()
    counted = messages.account_of(load(folder))
    assert (counted.rows, counted.is_clean) == ([], False)
    assert "Unknown" in details.failures(analysed(folder))[0].sentences[0]


def test_what_failed_is_shown_by_kind_and_then_where_every_message_went(folder, monkeypatch):
    killed = {"cell": CELL, "kind": "timed out", "line": "Task timed out"}
    monkeypatch.setattr(messages, "unrecorded", lambda folder: [killed])
    [detail] = details.failures(analysed(folder))
    failed, accounts = detail.tables
    names = ("kind", "records", "messages", "recovered", "example")
    assert [[row[name] for name in names] for row in failed.rows] == [
        ["ClientError", 3, 3, 1, "<Reduce & wait>"],
        ["in the dead-letter queue", 1, 1, None, '{"seq": 4}'],
        ["timed out, without a record", 1, None, None, "Task timed out"],
    ]
    [shown] = accounts.rows
    assert shown.items() >= (ACCOUNT | {"without_record": "1 timed out"}).items()


def test_objects_that_failed_or_are_not_accounted_for_are_shown(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    path = folder / "failed_objects.jsonl"
    path.write_text(path.read_text() * 2)
    *_, objects = details.failures(analysed(folder))
    assert [(row["kind"], row["records"]) for row in objects.tables[0].rows] == [
        ("AccessDenied", 2)
    ]
    assert "996 planned, 995 copied" in objects.sentences[0] and "-1 failed" in objects.sentences[1]
