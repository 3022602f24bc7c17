"""A drain ends early where only a redelivery could bring a record, and accounts for such messages as unanswered."""

import pytest

from loader import collecting
from loader.drain import drain
from loader.patience import FAILING_S
from stampede.errors import RunError
from stampede.insights.unrecorded import with_unrecorded
from stampede.runs.account import stored_accounts
from stampede.runs.folder import RunFolder
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record

HIDDEN_S = 5400
# The function's timeout, and what counts and lines may be late.
ENDS_S = 900 + 90 + 600


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    stack = SimulatedAws("aws", OUTPUTS | {"timeout_s": 900, "visibility_timeout_s": HIDDEN_S})
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


@pytest.fixture
def wait(aws, folder):
    """Sends messages 0 and 1 of cell a, of which 0 succeeds, and drains."""

    def run(sent_s=0, **options):
        if not list(folder.rows("sent.jsonl")):
            rows = [{"cell": "a", "seq": seq, "sent_at_ms": EPOCH_MS + sent_s * 1000} for seq in (0, 1)]
            folder.append("sent.jsonl", rows)
            aws.log(record(0), at_s=1)
        return drain(aws, folder, clock=aws.clock, sleep=aws.sleep, **options)

    return run


def counts(drained):
    [account] = drained.accounts
    return account.succeeded, account.failed, account.dead_lettered, account.unanswered, account.unaccounted


def test_a_crash_without_a_record_ends_the_cell_once_none_can_come_before_the_redelivery(aws, folder, wait, capsys):
    aws.hide(0, 5 * HIDDEN_S)
    request = "276ff3b9-1609-4ee7-a288-db3752630761"
    aws.log(f"RequestId: {request} Error: Runtime exited with error: signal: killed\n", at_s=3)
    drained = wait()
    assert ENDS_S < aws.now_s < ENDS_S + 30
    assert counts(drained) == (1, 0, 0, 1, 0)
    assert drained.ended_early.startswith("1 message is in flight, 1 of this run without a record; the drain ends now")
    assert "SQS redelivers a message only 5,400 s after its last delivery" in drained.ended_early
    drained.check()
    assert [(row["cell"], row["seq"]) for row in folder.rows("unanswered.jsonl")] == [("a", 1)]
    [stored] = folder.read_json("accounting.json")
    assert stored["without_record"] == {"killed, usually for memory": 1}
    assert with_unrecorded(stored_accounts(folder), folder.path) == drained.accounts
    said = capsys.readouterr().err
    assert "2 sent = 1 succeeded + 0 failed + 0 dead-lettered + 1 unanswered" in said
    assert "invocations without a record, as Lambda logged them: 1 killed, usually for memory" in said


def test_what_was_unanswered_has_succeeded_for_whoever_waits_for_the_redelivery(aws, wait):
    aws.hide(0, HIDDEN_S + 20)
    aws.log(record(1, attempt=2), at_s=HIDDEN_S + 10)
    assert counts(wait()) == (1, 0, 0, 1, 0)
    assert counts(wait(waits_for_redelivery=True)) == (2, 0, 0, 0, 0)
    assert aws.now_s > HIDDEN_S


def test_a_redelivery_that_nobody_saw_begin_is_waited_for(aws, wait):
    aws.hide(0, 1800)
    aws.log(record(1, attempt=2), at_s=1799)
    drained = wait(sent_s=-HIDDEN_S + 1000)  # it can be redelivered from 1,000 s on
    assert (drained.ended_early, counts(drained)) == ("", (2, 0, 0, 0, 0))


def test_a_late_line_behind_newer_ones_is_found_before_the_cell_ends(aws, wait):
    aws.hide(0, 5 * HIDDEN_S)
    aws.log(record(1, "error"), at_s=5, seen_at_s=600)
    aws.log("REPORT", at_s=500)
    assert counts(wait()) == (1, 1, 0, 0, 0)


def test_messages_that_wait_for_a_function_are_waited_for(aws, wait):
    aws.outputs["concurrency_value"] = 1
    aws.hide(0, 1700)  # one crashes at 900, and then the other begins
    aws.hide(0, 5 * HIDDEN_S)
    aws.log(record(1), at_s=1699)
    assert counts(wait()) == (2, 0, 0, 0, 0)


def test_a_message_that_is_still_in_the_queue_is_waited_for_beside_one_that_is_lost(aws, wait):
    aws.hide(0, 5 * HIDDEN_S)
    aws.__dict__["waiting_until_s"] = ENDS_S + 900
    aws.log(record(1), at_s=ENDS_S + 899)
    assert counts(wait()) == (2, 0, 0, 0, 0)


def test_messages_of_another_run_in_the_queue_are_not_this_runs(aws, folder, wait):
    aws.hide(0, 5 * HIDDEN_S)
    for begin_s in range(0, 4000, 800):
        aws.hide(begin_s, begin_s + 400)
        aws.log(record(7, run_id="another"), at_s=begin_s + 400)
    drained = wait()
    assert (counts(drained), drained.left) == ((1, 0, 0, 1, 0), "")
    assert aws.now_s > 3600 + ENDS_S, "time counts from the last change of the queue"
    assert [row["seq"] for row in folder.rows("unanswered.jsonl")] == [1]


def test_no_more_messages_are_unanswered_than_are_in_flight(aws, folder, wait):
    folder.append("sent.jsonl", [{"cell": "a", "seq": 2, "sent_at_ms": EPOCH_MS - 500_000}])  # its line was lost
    folder.append("sent.jsonl", [{"cell": "a", "seq": 1, "sent_at_ms": EPOCH_MS}])
    aws.hide(0, 5 * HIDDEN_S)
    assert counts(wait()) == (0, 0, 0, 1, 1)
    assert counts(wait()) == (0, 0, 0, 1, 1)
    assert [row["seq"] for row in folder.rows("unanswered.jsonl")] == [1], "once, however often the run is drained"


def fail(aws, folder, count, times=1):
    """Sends 30 messages, of which the first `count` fail so often and the others haven't run yet."""
    folder.append("sent.jsonl", [{"cell": "a", "seq": seq, "sent_at_ms": EPOCH_MS} for seq in range(30)])
    for delivery in range(count * times):
        error = {"error_type": "HandlerMissing", "error_message": "no module x"}
        aws.log(record(delivery % count, "error", **error), at_s=delivery)
    aws.__dict__["waiting_until_s"] = 1e9
    return {"clock": aws.clock, "sleep": aws.sleep}


@pytest.mark.parametrize(("concurrency", "failed", "times"), [(1, 5, 2), (500, 30, 1)])
def test_a_cell_whose_first_messages_all_fail_ends_and_the_others_are_unanswered(
    aws, folder, concurrency, failed, times
):
    aws.outputs["concurrency_value"] = concurrency
    drained = drain(aws, folder, **fail(aws, folder, failed, times))
    assert drained.failing == "a" and "all failed" in drained.ended_early and drained.left == ""
    assert counts(drained) == (0, failed, 0, 30 - failed, 0)
    assert FAILING_S["aws"] <= aws.now_s < FAILING_S["aws"] + 10, "a permission may still spread before"
    why = f"in 1 cell: a: {failed * times} of {failed * times} error records: HandlerMissing, .* x"
    with pytest.raises(RunError, match=why):
        drained.check()


@pytest.mark.parametrize(
    ("concurrency", "failed", "times", "succeeded"), [(5, 9, 1, 0), (1, 4, 5, 0), (20, 19, 2, 0), (5, 10, 1, 1)]
)
def test_fewer_failures_or_a_success_among_them_are_no_reason_to_end_it(
    aws, folder, concurrency, failed, times, succeeded
):
    aws.outputs["concurrency_value"] = concurrency
    for seq in range(20, 20 + succeeded):
        aws.log(record(seq), at_s=0)
    drained = drain(aws, folder, deadline_s=100, **fail(aws, folder, failed, times))
    assert (drained.failing, drained.ended_early) == ("", "") and "the deadline of 100 s" in drained.left
