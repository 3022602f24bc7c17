"""Objects are accounted for as messages are: planned = copied + already there + failed, each failed one has a row."""

import itertools
import json

import pytest

from experiments import EXPERIMENTS
from loader import collecting
from loader.drain import drain
from loader.unfinished_cell import set_aside
from stampede.errors import RunError
from stampede.runs.account import check, stored_accounts
from stampede.runs.folder import RunFolder
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.loader.shares_experiment import SHARES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    folder = RunFolder.create(tmp_path, "r")
    folder.write_json("run.json", {"experiment": "shares"})
    return folder


@pytest.fixture
def aws(monkeypatch):
    stack = SimulatedAws("aws", dict(OUTPUTS))
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


def send(folder, *seqs, cell="a", warm_up=0):
    rows = [{"cell": cell, "seq": seq, "sent_at_ms": EPOCH_MS, "warm_up": warm_up} for seq in seqs]
    folder.append("sent.jsonl", rows)


def copied(seq, planned, failed=0, already_there=0, attempt=1, status="ok", **more):
    done = {"copied": planned - failed - already_there, "already_there": already_there, "failed": failed}
    return record(seq, status, **({"planned": planned, **done, "attempt": attempt, "finished_at_ms": attempt} | more))


def failing(seq, *lines, attempt=1, run_id="r", cell="a"):
    rows = [
        {
            "slice": 3,
            "line": line,
            "source": "a b",
            "destination": f"copies/{line}",
            "error_type": "AccessDenied",
            "error_message": "no",
        }
        for line in lines
    ]
    which = {"run_id": run_id, "cell": cell, "seq": seq, "attempt": attempt}
    rows = {"failed_objects": rows}
    return json.dumps(which | rows if attempt == 1 else rows | which)  # first, and last as in older runs


def wait(aws, folder):
    return drain(aws, folder, clock=aws.clock, sleep=aws.sleep)


def listed(folder):
    return [(row["seq"], row["attempt"], row["line"]) for row in folder.rows("failed_objects.jsonl")]


def test_every_object_of_a_cell_is_accounted_for_and_said_in_one_sentence(aws, folder, capsys):
    send(folder, 0, 1)
    aws.log(failing(0, 7, 9), at_s=1)
    aws.log(copied(0, 10, failed=2), at_s=1)
    aws.log(copied(1, 10, already_there=4), at_s=1)
    [account] = wait(aws, folder).accounts
    sentence = "20 objects planned = 14 copied + 4 already there + 2 failed"
    assert account.sentence() == f"a: 2 sent = 2 succeeded + 0 failed + 0 dead-lettered; {sentence}"
    assert sentence in " ".join(capsys.readouterr().err.split())
    [stored] = folder.read_json("accounting.json")
    assert stored["objects"]["planned"] == 20 and stored["objects"]["listed"] == 2
    assert (account.as_row(objects=True)["objects_copied"], "objects" in account.as_row(objects=False)) == (14, False)
    assert stored_accounts(folder) == [account]
    check([account])
    assert next(folder.rows("failed_objects.jsonl")) == {
        "cell": "a",
        "seq": 0,
        "attempt": 1,
        "slice": 3,
        "line": 7,
        "source": "a b",
        "destination": "copies/7",
        "error_type": "AccessDenied",
        "error_message": "no",
    }


def test_without_an_account_of_objects_nothing_of_it_is_written(aws, folder):
    folder.write_json("run.json", {"experiment": "download"})
    send(folder, 0)
    aws.log(record(0), at_s=1)
    [account] = wait(aws, folder).accounts
    assert account.objects is None and "objects" not in account.as_dict()
    assert not (folder.path / "failed_objects.jsonl").exists()


def test_a_message_whose_sending_nobody_confirmed_does_not_stand_in_for_one_of_which_nothing_is_known(aws, folder):
    send(folder, 0)
    aws.bury(1, run_id="r", cell="a", seq=0)
    aws.log(copied(1, 10), at_s=1)
    [account] = wait(aws, folder).accounts
    assert (account.dead_lettered, account.unexpected, account.objects.unknown, account.is_open) == (1, 1, 1, True)


@pytest.mark.parametrize(
    ("line_s", "record_s"), list(itertools.permutations([1, 30])), ids=["before its record", "after its record"]
)
def test_lines_are_waited_for_whenever_they_come(aws, folder, line_s, record_s):
    send(folder, 0)
    aws.log(failing(0, 1, 2), at_s=1, seen_at_s=line_s)
    aws.log(copied(0, 5, failed=2), at_s=1, seen_at_s=record_s)
    drained = wait(aws, folder)
    drained.check()
    assert drained.accounts[0].objects.listed == 2


def test_a_line_that_comes_where_no_look_asks_any_more_is_found_by_looking_again(aws, folder):
    send(folder, 0)
    aws.log("REPORT", at_s=300, seen_at_s=1)
    aws.log(copied(0, 3, failed=1), at_s=1)
    aws.log(failing(0, 1), at_s=2, seen_at_s=400)
    drained = wait(aws, folder)
    drained.check()
    assert listed(folder) == [(0, 1, 1)]


def test_a_line_is_counted_once_however_often_it_is_shown(aws, folder):
    send(folder, 0)
    aws.log(failing(0, 1), at_s=1)
    aws.log(copied(0, 3, failed=1), at_s=1)
    wait(aws, folder)
    send(folder, 1)
    aws.log(copied(1, 3), at_s=5)
    wait(aws, folder).check()
    assert listed(folder) == [(0, 1, 1)]


def test_of_a_redelivered_slice_the_last_attempt_counts_with_its_own_rows(aws, folder):
    send(folder, 0)
    aws.log(failing(0, 1, 2, 3), at_s=1)
    aws.log(copied(0, 10, failed=3, status="error", copied=4, attempt=1), at_s=1)
    aws.log(failing(0, 2, attempt=2), at_s=2)
    aws.log(copied(0, 10, failed=1, already_there=4, attempt=2), at_s=3)
    drained = wait(aws, folder)
    drained.check()
    objects = drained.accounts[0].objects
    assert (objects.planned, objects.copied, objects.already_there, objects.failed) == (10, 5, 4, 1)
    assert len(listed(folder)) == 4, "the rows of both attempts are there to read"


def test_an_error_after_a_success_does_not_take_its_place(aws, folder):
    send(folder, 0)
    aws.log(copied(0, 10, attempt=1), at_s=1)
    aws.log(copied(0, 10, copied=0, status="error", attempt=2), at_s=3)
    wait(aws, folder).check()


def test_two_attempts_of_one_number_list_the_failed_objects_of_both(aws, folder):
    """SQS may have the message twice: a sending of unknown outcome was tried again."""
    send(folder, 0)
    for second in (1, 5):
        aws.log(failing(0, 1), at_s=second)
        aws.log(copied(0, 3, failed=1, message_id=f"m{second}"), at_s=second)
    drained = wait(aws, folder)
    drained.check()
    assert (drained.accounts[0].objects.planned, drained.accounts[0].objects.failed) == (3, 1)


@pytest.mark.parametrize("torn", [failing(0, 1, 2)[:-30], '{"failed_objects"', '{"run_id"', failing(0, 1)])
def test_a_failed_object_without_a_row_fails_the_run(aws, folder, torn):
    send(folder, 0)
    aws.log(torn, at_s=1)
    aws.log(copied(0, 3, failed=2), at_s=1)
    drained = wait(aws, folder)
    with pytest.raises(RunError, match=r"not every object is accounted for: .*[12] failed WITHOUT A ROW"):
        drained.check()


def test_objects_of_a_message_that_died_half_way_are_unaccounted(aws, folder):
    send(folder, 0)
    aws.log(copied(0, 10, copied=6, status="error"), at_s=1)
    aws.bury(5, run_id="r", cell="a", seq=0)
    with pytest.raises(RunError, match=r"10 objects planned = 6 copied .* 4 UNACCOUNTED"):
        wait(aws, folder).check()


def test_a_message_whose_plan_nobody_knows_fails_the_run(aws, folder):
    send(folder, 0)
    aws.log(record(0, "error", planned=None, copied=0), at_s=1)
    aws.bury(5, run_id="r", cell="a", seq=0)
    with pytest.raises(RunError, match="1 messages WITHOUT A RECORD of"):
        wait(aws, folder).check()


def test_what_warm_ups_copied_is_in_no_account(aws, folder):
    send(folder, 0, warm_up=1)
    send(folder, 1)
    aws.log(failing(0, 1), at_s=1)
    aws.log(copied(0, 10, failed=1, warm_up=1), at_s=1)
    aws.log(copied(1, 10, warm_up=0), at_s=2)
    drained = wait(aws, folder)
    drained.check()
    assert (drained.accounts[0].sent, drained.accounts[0].objects.planned) == (2, 10)


def test_lines_of_another_run_are_left(aws, folder):
    send(folder, 0)
    aws.log(failing(0, 1, run_id="another"), at_s=1)
    aws.log(copied(0, 3), at_s=2)
    wait(aws, folder).check()
    assert listed(folder) == []


@pytest.mark.parametrize("torn", ["", '{"cell": "a", "seq'])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_drain_killed_between_its_files_loses_no_row_and_repeats_none(aws, folder, kept, torn):
    send(folder, 0, 1)
    aws.log(failing(0, 1, 2), at_s=1)
    aws.log(failing(1, 3, 4), at_s=2)
    aws.log(copied(0, 5, failed=2), at_s=3)
    aws.log(copied(1, 5, failed=2), at_s=4)
    wait(aws, folder)
    rows = list(folder.rows("failed_objects.jsonl"))
    (folder.path / "failed_objects.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:kept]) + torn)
    wait(aws, folder).check()
    assert list(folder.rows("failed_objects.jsonl")) == rows


def test_a_cell_that_is_run_again_forgets_its_rows_and_those_that_come_late(aws, folder):
    send(folder, 0)
    aws.log(failing(0, 1), at_s=1)
    aws.log(copied(0, 5, failed=1), at_s=1)
    wait(aws, folder)
    set_aside(folder, "a")
    assert listed(folder) == []
    send(folder, 2000)
    aws.log(failing(0, 2), at_s=aws.now_s + 1)
    aws.log(copied(2000, 5), at_s=aws.now_s + 1)
    wait(aws, folder).check()
    assert listed(folder) == []


@pytest.mark.parametrize(("failed", "is_failed"), [(4, False), (5, True), (10, True)])
def test_a_run_in_which_half_of_the_objects_failed_has_failed(folder, failed, is_failed):
    send(folder, 0)
    folder.append("records.jsonl", [json.loads(copied(0, 10, failed=failed))])
    rows = [{"cell": "a", "seq": 0, "attempt": 1} for _ in range(failed)]
    folder.append("failed_objects.jsonl", rows)
    accounts = stored_accounts(folder)
    if not is_failed:
        check(accounts)
    else:
        with pytest.raises(RunError, match=f"^half of the objects or more failed.*{failed} failed"):
            check(accounts)


def test_of_two_successes_the_first_counts_as_in_the_report(folder):
    send(folder, 0)
    again = copied(0, 10, already_there=10, attempt=2)
    for rows in ([again, copied(0, 10)], [copied(0, 10), again]):
        (folder.path / "records.jsonl").unlink(missing_ok=True)
        folder.append("records.jsonl", [json.loads(row) for row in rows])
        [account] = stored_accounts(folder)
        assert (account.objects.copied, account.objects.already_there) == (10, 0)
