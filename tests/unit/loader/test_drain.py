"""The drain waits for what is on its way, however late it comes, stores each event once, and names what is left."""

import json

import pytest

from loader import collecting
from loader.drain import drain
from stampede.errors import RunError
from stampede.insights import evaluate, log_columns
from stampede.runs.folder import RunFolder
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    stack = SimulatedAws("aws", dict(OUTPUTS))
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


def send(folder, *seqs, cell="a", at_s=0):
    folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": EPOCH_MS + at_s * 1000} for seq in seqs])


def wait(aws, folder, **options):
    return drain(aws, folder, clock=aws.clock, sleep=aws.sleep, **options)


def seqs(folder, name="records.jsonl"):
    return [row["seq"] for row in folder.rows(name)]


def test_it_waits_for_records_that_come_later_and_stores_each_once(aws, folder):
    send(folder, 0, 1, 2)
    for second, line in enumerate(["START", record(0), record(1), record(1, run_id="another"), record(2), "REPORT"]):
        aws.log(line, at_s=second)
    aws.__dict__["in_flight_until_s"] = 8
    drained = wait(aws, folder)
    [account] = drained.accounts
    assert (account.sent, account.succeeded, account.unaccounted, account.duplicates, drained.left) == (3, 3, 0, 0, "")
    assert seqs(folder) == [0, 1, 2]
    assert len(list(folder.rows("log_events.jsonl"))) == 6
    assert folder.read_json("accounting.json") == [account.as_dict()]


@pytest.mark.parametrize("again_s", [1, 90])
def test_a_line_that_a_host_put_twice_is_one_record_and_no_duplicate(aws, folder, again_s):
    send(folder, 0, 1)
    aws.log(record(0), at_s=1)
    aws.log(record(0), at_s=1, seen_at_s=again_s)
    aws.log(record(1), at_s=100)
    [account] = wait(aws, folder).accounts
    assert (account.succeeded, account.duplicates) == (2, 0)
    assert len(list(folder.rows("log_events.jsonl"))) == 2, "what the saved queries count"


def test_the_lines_are_columns_too_when_a_cell_ends_and_not_before(aws, folder):
    send(folder, 0)
    aws.log(record(0), at_s=1)
    wait(aws, folder, cells=["a"], quiet=True)  # a warm-up
    assert not (folder.path / "log_events.parquet").exists()
    for count, cell in enumerate("ab", start=1):
        send(folder, count, cell=cell, at_s=count * 20)
        aws.log(record(count, cell=cell), at_s=count * 20 + 1)
        wait(aws, folder, cells=[cell])
        columns = log_columns.stored(folder.path / "log_events.jsonl")
        assert evaluate("stats count(*) as n", columns).rows == [{"n": count + 1}]


@pytest.mark.parametrize("torn", ["", '{"concurrency_limit": 5, "run_'])
def test_a_drain_killed_between_its_two_files_loses_no_record(aws, folder, torn):
    send(folder, 0, 1, 2)
    for second, line in enumerate([record(0), record(1, run_id="another"), record(1), "REPORT", record(2)]):
        aws.log(line, at_s=second)
    wait(aws, folder)
    rows = list(folder.rows("records.jsonl"))
    (folder.path / "records.jsonl").write_text(json.dumps(rows[0]) + "\n" + torn)
    [account] = wait(aws, folder).accounts
    assert (account.succeeded, account.unaccounted, account.duplicates) == (3, 0, 0)
    assert list(folder.rows("records.jsonl")) == rows


def test_only_the_cell_that_is_asked_for_is_waited_for_and_all_are_accounted_for(aws, folder):
    send(folder, 0, cell="b")
    send(folder, 0)
    aws.log(record(0), at_s=1)
    accounts = wait(aws, folder, cells=["a"]).accounts
    assert [(account.cell, account.succeeded, account.unaccounted) for account in accounts] == [
        ("b", 0, 1),
        ("a", 1, 0),
    ]
    assert aws.now_s < 10


# How long.


def test_a_message_is_waited_for_until_sqs_has_made_it_a_dead_letter_and_why_is_said(aws, folder, capsys):
    visibility_timeout_s = aws.outputs["visibility_timeout_s"]
    send(folder, 0, 1)
    aws.log(record(0), at_s=1)
    dead_at_s = 5 * visibility_timeout_s + 30
    for attempt in range(5):
        error = {"error_type": "SlowDown" if attempt else "Timeout", "error_message": f"attempt {attempt}"}
        aws.log(record(1, "error", attempt=attempt + 1, **error), at_s=2 + attempt * visibility_timeout_s)
    aws.bury(dead_at_s, run_id="r", cell="a", seq=1)
    aws.__dict__["in_flight_until_s"] = dead_at_s
    drained = wait(aws, folder)
    [account] = drained.accounts
    assert (account.succeeded, account.dead_lettered, drained.left) == (1, 1, "")
    assert "a: 4 of 5 error records: SlowDown, for example attempt 1\n" in capsys.readouterr().err
    assert aws.now_s < dead_at_s + 30


def test_at_a_deadline_that_was_given_it_says_what_is_still_on_its_way(aws, folder):
    send(folder, 0)
    aws.log(record(0, "error"), at_s=1)
    aws.__dict__["in_flight_until_s"] = 1e9
    drained = wait(aws, folder, deadline_s=60)
    with pytest.raises(RunError, match=r"deadline of 60 s .* 1 in flight"):
        drained.check()
    assert 60 < aws.now_s < 70


# Late lines.


@pytest.mark.parametrize("late_s", [100, 550])
def test_a_line_that_comes_minutes_late_is_found(aws, folder, late_s):
    send(folder, *range(5))
    for seq in range(5):
        aws.log(record(seq), at_s=seq, seen_at_s=seq + (late_s if seq == 0 else 0))
    for second in range(5, 300, 20):  # newer lines of others move the edge far beyond the late one
        aws.log(f"REPORT {second}", at_s=second)
    drained = wait(aws, folder)
    drained.check()
    assert sorted(seqs(folder)) == list(range(5))
    assert len(list(folder.rows("log_events.jsonl"))) == len({str(row) for row in folder.rows("log_events.jsonl")})


def test_a_second_drain_an_hour_later_finds_a_line_that_the_first_gave_up(aws, folder):
    send(folder, 0, 1, 2)
    aws.log(record(0), at_s=1, seen_at_s=3000)
    aws.log(record(1), at_s=200)
    with pytest.raises(RunError, match=r"3 sent = 1 succeeded .* 2 UNACCOUNTED"):
        wait(aws, folder).check()
    aws.sleep(3600)
    began_s = aws.now_s
    assert wait(aws, folder).accounts[0].unaccounted == 1
    assert aws.now_s - began_s < 120, "no line is late any more"
    assert seqs(folder) == [1, 0], "each once"


# Answers that are errors.


@pytest.mark.parametrize(
    ("operation", "code"), [("GetQueueAttributes", "no answer"), ("FilterLogEvents", "ThrottlingException")]
)
def test_a_poll_that_fails_is_asked_again(aws, folder, capsys, operation, code):
    send(folder, 0)
    aws.log(record(0), at_s=30)
    aws.fail(operation, code, between_s=(0, 120))
    wait(aws, folder).check()
    assert capsys.readouterr().err.count("trying again") == 1


def test_a_failure_on_the_second_page_of_the_lines_loses_none(aws, folder):
    send(folder, *range(8))
    for seq in range(8):
        aws.log(record(seq), at_s=seq)
    aws.sleep(10)
    answer = aws.filter_log_events
    calls = []

    def failing_once(**arguments):
        calls.append(arguments)
        if len(calls) == 2:
            aws.fail("FilterLogEvents", "InternalError", between_s=(aws.now_s, aws.now_s + 1))
        return answer(**arguments)

    aws.__dict__["filter_log_events"] = failing_once
    wait(aws, folder).check()
    assert sorted(seqs(folder)) == list(range(8))


@pytest.mark.parametrize("code", ["ExpiredToken", "AWS.SimpleQueueService.NonExistentQueue"])
def test_an_error_that_no_waiting_mends_ends_it_at_once(aws, folder, code):
    send(folder, 0)
    aws.fail("GetQueueAttributes", code, between_s=(0, 1e9))
    with pytest.raises(RunError):
        wait(aws, folder)
    assert aws.now_s == 0


# Dead letters.


def test_each_dead_letter_is_read_once_however_often_the_drain_looks(aws, folder):
    send(folder, *range(40))
    for seq in range(40):
        aws.bury(20 * seq, run_id="r" if seq % 2 else "another", cell="a", seq=seq)
    for seq in range(0, 40, 2):
        aws.log(record(seq), at_s=seq)
    aws.__dict__["in_flight_until_s"] = 810
    wait(aws, folder).check()
    assert sorted(seqs(folder, "dead_letters.jsonl")) == list(range(1, 40, 2))
    assert aws.count("ReceiveMessage") <= 60
    assert aws.received == {}, "the letters are shown again"
    wait(aws, folder).check()
    assert len(seqs(folder, "dead_letters.jsonl")) == 20


# Attempts that were cut off.


def test_of_an_attempt_that_was_set_aside_only_what_is_kept_counts_however_late(aws, folder):
    send(folder, 0, 6)
    folder.append("abandoned.jsonl", [{"cell": "a", "seq": seq} for seq in (3, 5)])
    for seq in (0, 3, 4, 6):
        aws.log(record(seq), at_s=1 + seq)
    [account] = wait(aws, folder).accounts
    assert (account.sent, account.succeeded, account.unexpected) == (2, 2, 0)
    assert seqs(folder) == [0, 6]


# Who holds a message.


def test_a_message_that_a_host_holds_for_hours_is_waited_for(aws, folder):
    """A host says that it is at work; the deadline of dead letters begins when it no longer does."""
    del aws.outputs["function_name"]
    send(folder, 0)
    aws.__dict__["in_flight_until_s"] = 20_000
    aws.log(record(0), at_s=19_999)
    drained = wait(aws, folder)
    assert (drained.left, drained.accounts[0].succeeded) == ("", 1)


@pytest.mark.parametrize(("by_hosts", "limit_s"), [(False, 2760), (True, 1560)])
def test_a_message_that_makes_no_progress_is_given_up_at_last(aws, folder, by_hosts, limit_s):
    """Hosts cost money by the hour, and the queue's own timeout is none of theirs."""
    send(folder, 0)
    aws.__dict__["waiting_until_s" if by_hosts else "in_flight_until_s"] = 20_000
    if by_hosts:
        del aws.outputs["function_name"]
    assert f"no message has made progress for {limit_s} s" in wait(aws, folder).left
    assert aws.now_s < limit_s + 40
