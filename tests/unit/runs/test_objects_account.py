"""Objects are accounted for like messages: planned = copied + already there + failed, with a row
for each failed one."""

import contextlib
import json

import pytest

from experiments import EXPERIMENTS
from loader.drain import drain
from loader.unfinished_cell import set_aside
from stampede.errors import RunError
from stampede.runs.account import check, stored_accounts
from tests.fakes.simulated_aws import EPOCH_MS, record
from tests.unit.loader.shares_experiment import SHARES


@pytest.fixture(autouse=True)
def described(folder, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    folder.write_json("run.json", {"experiment": "shares"})


def send(folder, *seqs, warm_up=0):
    rows = [{"cell": "a", "seq": seq, "sent_at_ms": EPOCH_MS, "warm_up": warm_up} for seq in seqs]
    folder.append("sent.jsonl", rows)


def ok(seq=0, attempt=1, **done):
    """The record of a message that planned 10 objects and copied the rest of them."""
    done = {"planned": 10, "already_there": 0, "failed": 0} | done
    copied = (done["planned"] or 0) - done["already_there"] - done["failed"]
    return (
        json.loads(record(seq, attempt=attempt, finished_at_ms=attempt)) | {"copied": copied} | done
    )


def error(attempt=1, **done):
    return ok(attempt=attempt, status="error", **done)


HALF = {"already_there": 4}
ALL_COPIED, SIX_COPIED = (10, 10, 0, 0, 0, 0, 0, 0), (10, 6, 0, 0, 0, 4, 0, 0)


@pytest.mark.parametrize(
    ("records", "listed", "counts", "fault"),
    [
        # planned, copied, already there, failed, listed, unaccounted, messages unknown, owing
        ([ok(failed=2, **HALF)], [1, 1], (10, 4, 4, 2, 2, 0, 0, 0), ""),
        ([ok(failed=2)], [1], (10, 8, 0, 2, 1, 0, 0, 1), "1 failed WITHOUT A ROW"),
        # message 7 was never sent
        (
            [error(planned=None), ok(7)],
            [],
            (10, 10, 0, 0, 0, 0, 1, 0),
            "1 messages WITHOUT A RECORD",
        ),
        ([error(copied=6)], [], SIX_COPIED, "4 UNACCOUNTED"),
        # Of a redelivered slice one attempt counts, with its own rows: the first success, or else
        # the last error.
        (
            [error(failed=3), ok(0, 2, failed=1, **HALF)],
            [1, 1, 1, 2],
            (10, 5, 4, 1, 1, 0, 0, 0),
            "",
        ),
        ([ok(0, 2, **HALF), ok()], [], ALL_COPIED, ""),
        ([error(2, copied=6), error(copied=5)], [], SIX_COPIED, "4 UNACCOUNTED"),
        # SQS may hold a message twice, because a send with an unknown outcome is retried: both
        # have rows.
        ([ok(failed=1), ok(failed=1)], [1, 1], (10, 9, 0, 1, 1, 0, 0, 0), ""),
        ([ok(), ok(8, warm_up=1)], [], ALL_COPIED, ""),
        ([ok(failed=5)], [1] * 5, (10, 5, 0, 5, 5, 0, 0, 0), "half of the objects or more failed"),
    ],
)
def test_objects_are_counted_from_one_record_of_each_message(
    folder, records, listed, counts, fault
):
    """A warm-up is in no account."""
    send(folder, 0)
    send(folder, 9, warm_up=1)
    folder.append("records.jsonl", [ok(9, failed=1), *records])
    rows = [(0, attempt) for attempt in listed] + [(9, 1)]
    folder.append(
        "failed_objects.jsonl",
        [{"cell": "a", "seq": seq, "attempt": attempt} for seq, attempt in rows],
    )
    [account] = stored_accounts(folder)
    assert tuple(vars(account.objects).values()) == counts
    assert account.owing == account.unaccounted + counts[-1]
    with pytest.raises(RunError, match=fault) if fault else contextlib.nullcontext():
        check([account])


# The lines of failed objects, as a drain collects them.

REASON = {
    "slice": 3,
    "source": "a b",
    "destination": "x",
    "error_type": "AccessDenied",
    "error_message": "no",
}


def failing(seq, *lines, run_id="r"):
    """The log line of failed objects; older runs have its fields in the other order."""
    which = {"run_id": run_id, "cell": "a", "seq": seq, "attempt": 1}
    parts = [which, {"failed_objects": [REASON | {"line": line} for line in lines]}]
    first, second = reversed(parts) if seq else parts
    return json.dumps(first | second)


@pytest.fixture
def wait(aws, folder):
    """Drains after logging these lines, each with its second."""

    def drained(*events):
        for at_s, line, *seen in events:
            text = line if isinstance(line, str) else json.dumps(line)
            aws.log(text, at_s=aws.now_s + at_s, seen_at_s=aws.now_s + max([at_s, *seen]))
        return drain(aws, folder)

    return drained


def listed(folder):
    return [(row["seq"], row["line"]) for row in folder.rows("failed_objects.jsonl")]


def test_a_drain_stores_a_row_for_each_failed_object_and_the_account(wait, folder):
    send(folder, 0, 1)
    failed = (1, failing(0, 7)), (2, failing(1, 8)), (3, ok(failed=1)), (3, ok(1, failed=1))
    [account] = wait(*failed).accounts
    assert "20 objects planned = 18 copied + 0 already there + 2 failed" in account.sentence()
    assert folder.read_json("accounting.json")[0]["objects"] == vars(account.objects)
    which = {"cell": "a", "attempt": 1} | REASON
    assert [*folder.rows("failed_objects.jsonl")] == [
        which | {"seq": seq, "line": line} for seq, line in ((0, 7), (1, 8))
    ]


@pytest.mark.parametrize(
    "events",
    [
        [(1, failing(0, 1)), (1, ok(failed=1), 30)],
        # where the drain no longer looks
        [(2, failing(0, 1), 400), (1, ok(failed=1)), (300, "REPORT")],
    ],
)
def test_lines_are_waited_for_and_stored_once_and_go_when_the_cell_is_run_again(
    wait, folder, events
):
    send(folder, 0)
    wait((1, failing(0, 2, run_id="another")), *events).check()
    send(folder, 1)
    wait((0, ok(1))).check()
    assert listed(folder) == [(0, 1)]
    set_aside(folder, "a")
    send(folder, 2000)
    wait((1, failing(0, 2)), (1, ok(2000))).check()
    assert listed(folder) == []


def test_a_torn_line_of_failed_objects_fails_the_run(wait, folder):
    send(folder, 0)
    with pytest.raises(RunError, match="WITHOUT A ROW"):
        wait((1, failing(0, 1, 2)[:-30]), (1, ok(failed=2))).check()


@pytest.mark.parametrize("name", ["failed_objects.jsonl", "records.jsonl"])
@pytest.mark.parametrize(("kept", "torn"), [(0, ""), (1, '{"cell": "a", "seq'), (3, "")])
def test_a_drain_killed_between_its_files_loses_no_row_and_repeats_none(
    wait, folder, name, kept, torn
):
    send(folder, 0, 1)
    of_another = record(1, run_id="another")
    wait(
        (1, failing(0, 1, 2)),
        (2, failing(1, 3, 4)),
        (3, ok(failed=2)),
        (3, of_another),
        (4, ok(1, failed=2)),
    )
    path = folder.path / name
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:kept]) + torn)
    wait().check()
    assert path.read_text() == whole
