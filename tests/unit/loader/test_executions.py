"""Queries that stampede runs on Athena: each leaves what a message leaves, however it ends, and
none keeps running."""

import json

import pytest

from experiments import EXPERIMENTS
from loader.drain import drain
from loader.executions import carry_out, stop_left_running, token_of
from stampede.errors import RunError
from stampede.planning.plan import make_plan
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.aws_answers import ANSWERS
from tests.contract.synthetic import RECORD as AGREED
from tests.fakes.simulated_athena import SimulatedAthena
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS
from tests.fakes.sweeps import ESTIMATE, Stack
from tests.unit.conftest import go_by_clock_of
from tests.unit.loader.queries_experiment import QUERIES, QUERY

STACK = OUTPUTS | {"experiment": "queries", "operation": "count", "memory_size": 512}
STACK |= {"concurrency_value": 1, "experiment_tag": "a tag", "queue_name": "q"}
ORDER = {"parallel_limit": 1, "object_count": 7}
# The record of a query of 3 s and 700 bytes.
TOLD = {"elapsed_seconds": 3.0, "set_seconds": 3.0, "bytes": 700, "scanned_bytes": 700}
TOLD |= {"queue_seconds": 0.12, "planning_seconds": 0.08, "engine_seconds": 2.7}
TOLD |= {"service_seconds": 0.1, "objects": 7, "objects_per_s": 2.333, "request_id": "r1"}
TOLD |= {"started_at_ms": EPOCH_MS, "finished_at_ms": EPOCH_MS + 3000, "message_id": "q0"}
TOLD |= {"execution_id": "q0", "status": "ok", "concurrency_limit": 1, "operation": "count"}
# axes that this experiment lacks
OF_EXPRESS = {"storage_class", "object_bytes", "placement", "slices"}


@pytest.fixture
def aws(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    stack = SimulatedAthena("aws", dict(STACK))
    go_by_clock_of(stack, monkeypatch)
    return stack


@pytest.fixture
def carried_out(aws, folder):
    folder.write_json("run.json", {"experiment": "queries"})
    return lambda count=1: carry_out(
        aws, folder, "a", range(count), QUERY, ORDER, lambda index: {"objects": 7}
    )


@pytest.fixture
def drained(aws, folder):
    """Returns whether each message succeeded, and the records; checks that the drain has nothing to
    wait for."""

    def drain_it():
        ended_s, done = aws.now_s, drain(aws, folder)
        [account] = done.accounts
        assert (done.left, account.unaccounted, aws.now_s, aws.running) == ("", 0, ended_s, [])
        assert account.sent == account.succeeded + account.failed
        records = list(folder.rows("records.jsonl"))
        return [True] * account.succeeded + [False] * account.failed, records

    return drain_it


def test_a_query_leaves_an_ordinary_record_with_athenas_times(aws, carried_out, drained):
    assert carried_out(2).sent == 2
    succeeded, (first, second) = drained()
    assert succeeded == [True, True] and first.items() >= (TOLD | ORDER).items()
    keys = [*AGREED["common"], *AGREED["own"]["express_query"]]
    assert list(first) == [
        "elapsed_seconds" if key == "<time>" else key for key in keys if key not in OF_EXPRESS
    ]
    beginning = '{"concurrency_limit": 1, "elapsed_seconds": 3.0, '
    assert all(line.startswith(beginning) for _, _, line in aws.lines)
    assert first["sandbox_id"] == second["sandbox_id"]


def test_a_record_that_the_log_group_rejects_ends_the_run_with_the_reason(
    aws, carried_out, monkeypatch
):
    rejection = ANSWERS["ev-87"]["answer"]["fields"]  # recorded: a 200 that rejects the event
    with (
        monkeypatch.context() as rejecting,
        pytest.raises(RunError, match="timestamp; set this machine's clock"),
    ):
        rejecting.setattr(SimulatedAthena, "put_log_events", lambda self, **_: rejection)
        carried_out()
    aws.fail("PutLogEvents", "AccessDeniedException", between_s=(0, 1e9))
    with pytest.raises(RunError, match="writing a record to group"):
        carried_out(2)
    assert len(aws.queries) == 2


def refusing(operation, code):
    return lambda aws: aws.fail(operation, code, between_s=(0, 1e9))


def ending(**how):
    return lambda aws: vars(aws).update(how)


# The fault, its error_type, and a word of its message.
ENDS = [
    (refusing("StartQueryExecution", "InvalidRequestException"), "QueryFailed", "AWS's words"),
    (refusing("GetQueryExecution", "AccessDeniedException"), "AccessDenied", "AWS's words"),
    (refusing("StartQueryExecution", "ThrottlingException"), "SlowDown", "AWS's words"),
    (refusing("GetQueryExecution", "no answer"), "QueryTimedOut", "no answer (Could"),
    (ending(ends="FAILED", reason="HIVE_BAD_DATA: what's that?"), "QueryFailed", "what's that?"),
    (ending(ends="FAILED", reason="Access Denied (Service: Amazon S3)"), "AccessDenied", "S3"),
    (
        ending(ends="CANCELLED", reason="Bytes scanned limit was exceeded"),
        "QueryCancelled",
        "scanned limit",
    ),
    (ending(query_s=1000.0), "QueryTimedOut", "limit of 60 s"),
    (ending(rows=[["699"]]), "WrongResult", "expected 700, got 699"),
    (ending(losing=1), "NoConnection", "closed"),
]


@pytest.mark.parametrize(("happen", "error_type", "words"), ENDS)
def test_a_failed_query_is_a_failed_message_with_a_record_and_does_not_keep_running(
    happen, error_type, words, aws, carried_out, drained, capsys
):
    happen(aws)
    carried_out()
    assert "couldn't be cancelled" not in capsys.readouterr().err
    succeeded, [record] = drained()
    assert (succeeded, record["error_type"]) == ([False], error_type)
    assert words in record["error_message"]
    assert "elapsed_seconds" not in record and record["set_seconds"] is None
    assert list(record)[-2:] == ["error_type", "error_message"]


def test_athena_may_fail_to_answer_for_a_while(aws, carried_out, drained):
    for code in ("TooManyRequestsException", "no answer"):
        aws.fail("GetQueryExecution", code, between_s=(aws.now_s, aws.now_s + 20))
        carried_out()
    assert drained()[0] == [True, True]


@pytest.mark.parametrize(
    ("operation", "call"), [("start_query_execution", 1), ("get_query_execution", 3)]
)
def test_ctrl_c_cancels_and_records_the_running_query_even_before_its_id_is_known(
    operation, call, aws, carried_out, drained, monkeypatch
):
    answer, calls = getattr(aws, operation), []

    def interrupted(**arguments):
        calls.append(answer(**arguments))
        if len(calls) == call:
            raise KeyboardInterrupt
        return calls[-1]

    monkeypatch.setitem(vars(aws), operation, interrupted)
    with pytest.raises(KeyboardInterrupt):
        carried_out(5)
    _, [record] = drained()
    assert (record["error_type"], record["execution_id"]) == ("QueryCancelled", "q0")
    assert aws.state_of("q0") == "CANCELLED"


def killed(aws, folder, cell, state):
    """What a run leaves if it is killed during its first query."""
    started = aws.start_query_execution(ClientRequestToken=token_of("r", cell, 0))
    told = started["QueryExecutionId"] if state == "begun" else ""
    folder.append(
        "executions.jsonl", [{"cell": cell, "seq": 0, "state": state, "execution_id": told}]
    )
    if told:
        folder.append(
            "sent.jsonl",
            [{"cell": cell, "seq": 0, "sent_at_ms": EPOCH_MS, "round": 1, "warm_up": 0}],
        )


def test_a_query_of_a_killed_run_that_cannot_be_cancelled_is_reported(aws, folder, capsys):
    killed(aws, folder, "a", "begun")
    stop_left_running(aws, folder, "b", QUERY)
    assert aws.running == ["q0"], "it belongs to another cell"
    aws.fail("StopQueryExecution", "AccessDeniedException", between_s=(0, 1e9))
    stop_left_running(aws, folder, "a", QUERY)
    assert "query q0 couldn't be cancelled" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["beginning", "begun"])
def test_a_resumed_sweep_cancels_the_query_and_runs_the_cell_again(state, aws, folder, monkeypatch):
    settings = ["parallel_limit=1", "concurrency_value=1"]
    plan = make_plan(QUERIES, "aws", settings, messages_per_concurrency=10)
    killed(aws, folder, plan.cells[0].name, state)
    monkeypatch.setattr(sweep_run.RunDescription, "describe", lambda self, target, terraform: None)
    monkeypatch.setattr(sweep_run, "put_objects", lambda target, objects: None)
    [account] = SweepRun(plan, folder, ESTIMATE, Stack(aws), None).run()
    assert (account.sent, account.succeeded, aws.stopped) == (2, 2, ["q0"])
    assert "PurgeQueue" not in aws.operations
    assert [json.loads(line)["execution_id"] for _, _, line in aws.lines] == ["q1", "q2"]
