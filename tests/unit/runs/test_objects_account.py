"""Objects are accounted for as messages are: planned = copied + already there + failed, each failed one has a row."""

import contextlib
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


def send(folder, *seqs, warm_up=0):
    rows = [{"cell": "a", "seq": seq, "sent_at_ms": EPOCH_MS, "warm_up": warm_up} for seq in seqs]
    folder.append("sent.jsonl", rows)


def ok(seq=0, attempt=1, **done):
    """The record of a message that planned 10 objects, and copied what isn't said otherwise."""
    done = {"planned": 10, "already_there": 0, "failed": 0} | done
    copied = (done["planned"] or 0) - done["already_there"] - done["failed"]
    of_message = json.loads(record(seq, attempt=attempt, finished_at_ms=attempt))
    return of_message | {"copied": copied} | done


def error(attempt=1, **done):
    return ok(attempt=attempt, status="error", **done)


HALF = {"already_there": 4}


@pytest.mark.parametrize(
    ("records", "listed", "counts", "fault"),
    [
        # planned, copied, already there, failed, listed, unaccounted, messages unknown, owing
        ([ok(failed=2, **HALF)], [1, 1], (10, 4, 4, 2, 2, 0, 0, 0), ""),
        ([ok(failed=2)], [1], (10, 8, 0, 2, 1, 0, 0, 1), "1 failed WITHOUT A ROW"),
        ([], [], (0, 0, 0, 0, 0, 0, 1, 0), "1 messages WITHOUT A RECORD"),
        ([error(planned=None), ok(7)], [], (10, 10, 0, 0, 0, 0, 1, 0), "1 messages WITHOUT A RECORD"),  # 7: never sent
        ([error(copied=6)], [], (10, 6, 0, 0, 0, 4, 0, 0), "4 UNACCOUNTED"),
        # Of a slice that was redelivered one attempt counts, with its own rows: the first success, or the last error.
        ([error(failed=3), ok(0, 2, failed=1, **HALF)], [1, 1, 1, 2], (10, 5, 4, 1, 1, 0, 0, 0), ""),
        ([ok(), error(2, copied=0)], [], (10, 10, 0, 0, 0, 0, 0, 0), ""),
        ([ok(0, 2, **HALF), ok()], [], (10, 10, 0, 0, 0, 0, 0, 0), ""),
        ([error(2, copied=6), error(copied=5)], [], (10, 6, 0, 0, 0, 4, 0, 0), "4 UNACCOUNTED"),
        # Where the time is the same, the number of the attempt decides, and then the line.
        ([ok(0, 2, finished_at_ms=1, **HALF), ok()], [], (10, 10, 0, 0, 0, 0, 0, 0), ""),
        ([error(copied=5), error(copied=6)], [], (10, 6, 0, 0, 0, 4, 0, 0), "4 UNACCOUNTED"),
        # SQS may have a message twice, as a sending of unknown outcome is tried again: the rows of both are there.
        ([ok(failed=1), ok(failed=1)], [1, 1], (10, 9, 0, 1, 1, 0, 0, 0), ""),
        # A warm-up's record that says so.
        ([ok(), ok(8, warm_up=1)], [], (10, 10, 0, 0, 0, 0, 0, 0), ""),
        ([ok(failed=5)], [1] * 5, (10, 5, 0, 5, 5, 0, 0, 0), "half of the objects or more failed"),
    ],
)
def test_what_became_of_objects_is_counted_from_one_record_of_each_message(folder, records, listed, counts, fault):
    """Beside a warm-up, which is in no account."""
    send(folder, 0)
    send(folder, 9, warm_up=1)
    folder.append("records.jsonl", [ok(9, failed=1), *records])
    folder.append("failed_objects.jsonl", [{"cell": "a", "seq": 0, "attempt": attempt} for attempt in listed])
    folder.append("failed_objects.jsonl", [{"cell": "a", "seq": 9, "attempt": 1}])
    [account] = stored_accounts(folder)
    assert tuple(vars(account.objects).values()) == counts
    assert account.owing == account.unaccounted + counts[-1]
    with pytest.raises(RunError, match=fault) if fault else contextlib.nullcontext():
        check([account])


# The lines of failed objects, as a drain collects them.


@pytest.fixture
def aws(monkeypatch):
    stack = SimulatedAws("aws", dict(OUTPUTS))
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


REASON = {"slice": 3, "source": "a b", "destination": "x", "error_type": "AccessDenied", "error_message": "no"}


def failing(seq, *lines, run_id="r"):
    """The log line of objects that failed, whose fields older runs have the other way round."""
    which = {"run_id": run_id, "cell": "a", "seq": seq, "attempt": 1}
    parts = [which, {"failed_objects": [REASON | {"line": line} for line in lines]}]
    first, second = reversed(parts) if seq else parts
    return json.dumps(first | second)


def wait(aws, folder, *events):
    """Drains where these lines have been logged, each with its second."""
    for at_s, line, *seen in events:
        aws.log(line if isinstance(line, str) else json.dumps(line), at_s=at_s, seen_at_s=max([at_s, *seen]))
    return drain(aws, folder, clock=aws.clock, sleep=aws.sleep)


def listed(folder):
    return [(row["seq"], row["line"]) for row in folder.rows("failed_objects.jsonl")]


def test_a_drain_stores_a_row_for_each_failed_object_and_the_account(aws, folder, capsys):
    send(folder, 0, 1)
    events = (1, failing(0, 7)), (2, failing(1, 8)), (3, ok(failed=1)), (3, ok(1, failed=1))
    [account] = wait(aws, folder, *events).accounts
    sentence = "20 objects planned = 18 copied + 0 already there + 2 failed"
    assert account.sentence().endswith(sentence) and sentence in " ".join(capsys.readouterr().err.split())
    assert folder.read_json("accounting.json")[0]["objects"] == vars(account.objects)
    assert (account.as_row(objects=True)["objects_copied"], "objects" in account.as_row(objects=False)) == (18, False)
    assert stored_accounts(folder) == [account]
    first, second = folder.rows("failed_objects.jsonl")
    assert first == {"cell": "a", "seq": 0, "attempt": 1, "line": 7} | REASON
    assert second == first | {"seq": 1, "line": 8}


@pytest.mark.parametrize(
    "events",
    [
        [(1, failing(0, 1)), (1, ok(failed=1), 30)],
        [(2, failing(0, 1), 400), (1, ok(failed=1)), (300, "REPORT")],  # where no look asks any more
    ],
)
def test_lines_are_waited_for_whenever_they_come_and_are_rows_once(aws, folder, events):
    send(folder, 0)
    wait(aws, folder, (1, failing(0, 2, run_id="another")), *events).check()
    send(folder, 1)
    wait(aws, folder, (aws.now_s, ok(1))).check()
    assert listed(folder) == [(0, 1)]


def test_a_torn_line_of_failed_objects_fails_the_run(aws, folder):
    send(folder, 0)
    with pytest.raises(RunError, match="WITHOUT A ROW"):
        wait(aws, folder, (1, failing(0, 1, 2)[:-30]), (1, ok(failed=2))).check()


@pytest.mark.parametrize("torn", ["", '{"cell": "a", "seq'])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_drain_killed_between_its_files_loses_no_row_and_repeats_none(aws, folder, kept, torn):
    send(folder, 0, 1)
    events = (1, failing(0, 1, 2)), (2, failing(1, 3, 4)), (3, ok(failed=2)), (4, ok(1, failed=2))
    wait(aws, folder, *events)
    path = folder.path / "failed_objects.jsonl"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:kept]) + torn)
    wait(aws, folder).check()
    assert path.read_text() == whole


def test_a_cell_that_is_run_again_forgets_its_rows_and_those_that_come_late(aws, folder):
    send(folder, 0)
    wait(aws, folder, (1, failing(0, 1)), (1, ok(failed=1)))
    set_aside(folder, "a")
    assert listed(folder) == []
    send(folder, 2000)
    wait(aws, folder, (aws.now_s + 1, failing(0, 2)), (aws.now_s + 1, ok(2000))).check()
    assert listed(folder) == []
