"""Where every message went, and what is said when it doesn't add up."""

import json

from stampede.report import statistics
from stampede.report.accounting import account_book, recounted
from stampede.report.run import load
from stampede.report.sections.messages import dead_letters, failures

MESSY = {"memories": (1024,), "failing": {3, 7}, "retried": {2}, "duplicated": {4}, "lost": {9}}


def test_a_clean_run_adds_up(make_run):
    book = account_book(load(make_run()))
    assert book.problems == []
    assert book.totals == {
        "sent": 320,
        "succeeded": 320,
        "failed": 0,
        "dead_lettered": 0,
        "duplicates": 0,
        "unaccounted": 0,
        "unexpected": 0,
        "unanswered": 0,
    }


def test_counting_again_from_the_files_agrees_with_the_stored_accounting(make_run):
    run = load(make_run(**MESSY))
    assert recounted(run) == run.accounting
    assert recounted(run)[0] == {
        "cell": "memory_size=1024,concurrency_value=1",
        "sent": 10,
        "succeeded": 7,
        "failed": 0,
        "dead_lettered": 2,
        "duplicates": 1,
        "unaccounted": 1,
        "unexpected": 0,
        "unanswered": 0,
    }


def test_without_accounting_json_the_files_are_counted(make_run):
    folder = make_run(**MESSY)
    stored = account_book(load(folder)).rows
    (folder / "accounting.json").unlink()
    book = account_book(load(folder))
    assert (book.stored, book.rows) == (False, stored)


def test_without_sent_and_accounting_nothing_is_claimed(make_run):
    folder = make_run()
    (folder / "accounting.json").unlink()
    (folder / "sent.jsonl").unlink()
    assert account_book(load(folder)).rows == []


def test_a_failed_warm_up_is_no_failure_of_its_cell_and_no_example_of_one(make_run):
    folder = make_run(**MESSY)
    before, records = failures(load(folder)), (folder / "records.jsonl").read_text()
    error = next(line for line in records.splitlines() if '"status": "error"' in line)
    warm_up = json.loads(error) | {"warm_up": 1, "error_message": "another", "bytes": 5}
    (folder / "records.jsonl").write_text(json.dumps(warm_up) + "\n" + records)
    run = load(folder)
    assert failures(run) == before and 5 not in run.sizes


def test_unaccounted_messages_are_a_problem_of_their_cell(make_run):
    book = account_book(load(make_run(memories=(1024,), concurrencies=(1, 5), lost={9})))
    assert book.problems == [
        "1,024 MB, N = 1: 1 of 10 messages unaccounted for.",
        "1,024 MB, N = 5: 1 of 50 messages unaccounted for.",
    ]


def test_messages_that_were_in_flight_without_a_record_are_unanswered_and_no_problem(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), lost={8, 9})
    stored = json.loads((folder / "accounting.json").read_text())
    unanswered = [row for row in map(json.loads, (folder / "sent.jsonl").open()) if row["seq"] in (7, 8, 9)]
    (folder / "unanswered.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unanswered))
    stored[0] |= {"unaccounted": 0, "unanswered": 2}  # 7 succeeded later
    (folder / "accounting.json").write_text(json.dumps(stored))
    run = load(folder)
    assert (recounted(run), account_book(run).problems) == (stored, [])


def test_counts_that_do_not_add_up_are_a_problem(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    rows = json.loads((folder / "accounting.json").read_text())
    rows[0]["succeeded"] = 8
    (folder / "accounting.json").write_text(json.dumps(rows))
    assert account_book(load(folder)).problems == [
        "1,024 MB, N = 1: 10 sent, but succeeded + failed + dead-lettered + unanswered is 8, and no message is "
        "listed as unaccounted for.",
        "1,024 MB, N = 1: accounting.json has succeeded = 8, but the other files add up to 10.",
    ]


def test_an_error_record_alone_is_a_failed_message(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), failing={3})
    (folder / "dead_letters.jsonl").write_text("")
    row = recounted(load(folder))[0]
    assert (row["succeeded"], row["failed"], row["dead_lettered"]) == (9, 1, 0)
    (folder / "accounting.json").unlink()
    caveats = statistics.statistics(load(folder))["verdict"]["caveats"]
    assert caveats[1].startswith("1 of 10 messages didn’t succeed, and the times leave them out: 1 of 10 with ")


def test_the_same_failure_is_one_line(make_run):
    found = failures(load(make_run(**MESSY)))
    assert [failure.cell.rpartition("=")[2] for failure in found] == ["1", "5", "10"]
    first = found[0]
    # Two messages fail three times each, one fails once and then succeeds.
    assert (first.error_type, first.records, first.messages, first.recovered) == ("ClientError", 7, 3, 1)


def test_dead_letters_are_counted_by_cell(make_run):
    found = dead_letters(load(make_run(**MESSY)))
    assert [(letters.cell.rpartition("=")[2], letters.messages) for letters in found] == [("1", 2), ("5", 2), ("10", 2)]


def test_errors_of_bodies_that_are_no_work_order_are_told_apart_by_message_id(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), failing={3})
    lines = (folder / "records.jsonl").read_text().splitlines()
    strangers = [
        json.loads(lines[-1]) | {"cell": None, "seq": None, "run_id": None, "status": "error", "message_id": name}
        for name in ("a", "a", "b")
    ]
    with (folder / "records.jsonl").open("a") as file:
        file.writelines(json.dumps(stranger) + "\n" for stranger in strangers)
    stranger = failures(load(folder))[0]
    assert (stranger.cell, stranger.records, stranger.messages) == ("not a message of this run", 3, 2)


def test_warm_up_messages_are_accounted_for_too(make_run):
    run = load(make_run(memories=(1024,), concurrencies=(2,), warm_ups=3))
    (row,) = recounted(run)
    assert (row["sent"], row["succeeded"], row["unaccounted"]) == (26, 26, 0)
    assert account_book(run).problems == []
