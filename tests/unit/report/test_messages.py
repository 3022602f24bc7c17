"""Where every message went, what failed, and what is said when it doesn't add up."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.report import details, messages
from stampede.report.analysis import analyse
from stampede.report.run import load
from tests.contract import synthetic
from tests.unit.report import handmade_run

CELL = "memory_size=1024,concurrency_value=1"
ACCOUNT = {"sent": 9, "succeeded": 4, "failed": 2, "dead_lettered": 1, "unanswered": 1, "unaccounted": 1}
ACCOUNT |= {"duplicates": 1, "unexpected": 0}


def row(seq, **more):
    return {"cell": CELL, "seq": seq, "message_id": f"{CELL}-{seq}", "warm_up": 0} | more


def append(path, *rows):
    with path.open("a") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture
def folder(tmp_path):
    """Of nine messages three succeeded, of them one twice and one at its second attempt; one failed, and a warm-up; one
    is a dead letter, one was in flight, one came with other settings, and of one nothing is known."""
    ok, again, twice = (handmade_run.record(0, 100, seq=seq) for seq in range(3))
    failing = {"seq": 3, "error_type": "ClientError", "error_message": "<Reduce & wait>"}
    errors = [handmade_run.error(0, 50, **failing | {"seq": seq}) for seq in (1, 3, 4)]
    warm_up = handmade_run.error(0, 50, seq=9, warm_up=1, error_message="warm-up")
    foreign = handmade_run.record(0, 100, seq=5) | {"memory_size": 2048}
    records = [warm_up, *errors, ok, again | {"attempt": 2}, twice, twice | {"attempt": 2}, foreign]
    made = handmade_run.write(tmp_path / "run", records, {"memory_size": [1024], "concurrency_value": [1]})
    (made / "sent.jsonl").write_text("")
    append(made / "sent.jsonl", *map(row, range(8)), row(9, warm_up=1))
    append(made / "dead_letters.jsonl", row(4, body='{"seq": 4}'))
    append(made / "unanswered.jsonl", row(6))
    return made


def test_every_message_is_accounted_for_and_what_is_not_puts_the_figures_in_doubt(folder):
    counted = messages.account_of(load(folder))
    assert {name: counted.total(name) for name in ACCOUNT} == ACCOUNT
    assert [problem.partition(": ")[2] for problem in counted.problems] == [
        "1 record comes from other settings (memory_size 2048 where the cell has 1024), left out of all figures.",
        "1 of 9 messages unaccounted for.",
    ]


def test_an_account_that_says_otherwise_than_the_files_is_a_problem(folder):
    (folder / "accounting.json").write_text(json.dumps([{"cell": CELL, "sent": 9, "succeeded": 8, "failed": 2}]))
    words = [problem.partition(": ")[2] for problem in messages.account_of(load(folder)).problems[1:]]
    assert words == [
        "accounting.json has succeeded = 8, but the other files add up to 4.",
        "9 sent, but succeeded + failed + dead-lettered + unanswered is 10.",
    ]


def test_without_the_messages_and_an_account_nothing_is_claimed(folder):
    (folder / "sent.jsonl").unlink()
    counted = messages.account_of(load(folder))
    assert (counted.rows, counted.is_clean) == ([], False)
    [detail] = details.failures(analyse(load(folder)))
    assert "Unknown" in detail.sentences[0]


def test_what_failed_is_shown_by_kind_and_then_where_every_message_went(folder, monkeypatch):
    killed = {"cell": CELL, "kind": "timed out", "line": "Task timed out"}
    monkeypatch.setattr(messages, "unrecorded", lambda folder: [killed])
    [detail] = details.failures(analyse(load(folder)))
    failed, accounts = detail.tables
    names = ("kind", "records", "messages", "recovered", "example")
    assert [[row[name] for name in names] for row in failed.rows] == [
        ["ClientError", 3, 3, 1, "<Reduce & wait>"],
        ["in the dead-letter queue", 1, 1, None, '{"seq": 4}'],
        ["timed out, without a record", 1, None, None, "Task timed out"],
    ]
    [shown] = accounts.rows
    assert shown.items() >= ACCOUNT.items() and shown["without_record"] == "1 timed out"
    assert "unexpected" not in [field.name for field in accounts.fields]


def test_a_run_in_which_all_succeeded_once_says_nothing_of_it(tmp_path):
    folder = handmade_run.write(tmp_path / "run", handmade_run.lasting([0.1] * 3))
    assert messages.account_of(load(folder)).is_clean
    assert details.failures(analyse(load(folder))) == []


def test_objects_that_failed_or_are_not_accounted_for_are_shown(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    path = folder / "failed_objects.jsonl"
    path.write_text(path.read_text() * 2)
    *_, objects = details.failures(analyse(load(folder)))
    [failed] = objects.tables
    assert [(row["kind"], row["records"]) for row in failed.rows] == [("AccessDenied", 2)]
    assert "996 planned, 995 copied, 0 already there, 1 failed." in objects.sentences[0]
    assert "-1 failed WITHOUT A ROW" in objects.sentences[1]
