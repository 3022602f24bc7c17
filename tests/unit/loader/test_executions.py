"""Queries that stampede has Athena carry out: each leaves what a message leaves, however it ends, and none runs on."""

import json

import botocore
import pytest

from experiments import EXPERIMENTS
from loader import collecting, executions
from loader.drain import drain
from loader.executions import carry_out, stop_left_running, token_of
from stampede.errors import RunError
from stampede.planning.plan import make_plan
from stampede.runs.folder import RunFolder
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.aws_answers import ANSWERS
from tests.fakes.simulated_athena import SimulatedAthena
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS
from tests.unit.loader.queries_experiment import QUERIES, QUERY
from tests.unit.sweep.test_sweep_run import ESTIMATE, Stack

STACK = OUTPUTS | {"experiment": "queries", "operation": "count", "memory_size": 512, "concurrency_value": 1}
STACK |= {"experiment_tag": "a tag", "queue_name": "q", "object_count": None}
ORDER = {"parallel_limit": 1, "object_count": 7}
RECORD = {
    "concurrency_limit": 1,
    "elapsed_seconds": 3.0,
    "memory_size": 512,
    "experiment_tag": "a tag",
    "run_id": "r",
    "cell": "a",
    "seq": 0,
    "message_id": "q0",
    "request_id": "r1",
    "sandbox_id": None,
    "cold_start": 0,
    "attempt": 1,
    "started_at_ms": EPOCH_MS,
    "finished_at_ms": EPOCH_MS + 3000,
    "bytes": 700,
    "method": "athena",
    "status": "ok",
    "round": 0,
    "warm_up": 0,
    "operation": "count",
    "parallel_limit": 1,
    "object_count": 7,
    "objects": 7,
    "objects_per_s": 2.333,
    "set_seconds": 3.0,
    "queue_seconds": 0.12,
    "planning_seconds": 0.08,
    "engine_seconds": 2.7,
    "service_seconds": 0.1,
    "scanned_bytes": 700,
    "execution_id": "q0",
    "retry_mode": "standard",
    "retry_attempts": 6,
    "sdk": f"botocore {botocore.__version__}",
    "experiment": "queries",
}


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path, "r")
    made.write_json("run.json", {"experiment": "queries"})
    return made


@pytest.fixture
def aws(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    stack = SimulatedAthena("aws", dict(STACK))
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    monkeypatch.setattr(executions, "now_ms", lambda: EPOCH_MS + int(stack.now_s * 1000))
    return stack


@pytest.fixture
def carried_out(aws, folder):
    def carry(count=1, **options):
        clock = {"clock": aws.clock, "sleep": aws.sleep} | options
        return carry_out(aws, folder, "a", count, QUERY, order=ORDER, share=lambda index: {"objects": 7}, **clock)

    return carry


@pytest.fixture
def drained(aws, folder):
    """The account of the cell, and its records, once everything has come to rest."""

    def drain_it():
        done = drain(aws, folder, clock=aws.clock, sleep=aws.sleep)
        assert not done.left
        [account] = done.accounts
        return account, list(folder.rows("records.jsonl"))

    return drain_it


def counts(account):
    return (account.sent, account.succeeded, account.failed, account.dead_lettered, account.unaccounted)


def test_a_query_leaves_a_record_like_any_other_with_athenas_own_times(aws, carried_out, drained, capsys):
    assert carried_out(count=2, quiet=True).sent == 2
    assert capsys.readouterr().err == "", "in a sweep what goes well is a detail"
    account, records = drained()
    assert counts(account) == (2, 2, 0, 0, 0)
    first = records[0]
    assert first == RECORD | {"sandbox_id": first["sandbox_id"]}
    assert list(first) == list(RECORD)
    assert all(line.startswith('{"concurrency_limit": 1, "elapsed_seconds": 3.0, ') for _, _, line in aws.lines)
    assert {record["sandbox_id"] for record in records} == {first["sandbox_id"]}


def test_a_record_that_cloudwatch_leaves_out_ends_the_run_with_the_reason(aws, carried_out, monkeypatch):
    rejection = ANSWERS["ev-87"]["answer"]["fields"]  # recorded: a 200 that rejects the event
    monkeypatch.setattr(SimulatedAthena, "put_log_events", lambda self, **_: rejection)
    with pytest.raises(RunError, match="rejected a record because of its timestamp; set this machine's clock"):
        carried_out()


ENDS = {
    "a refused start": ("refuse StartQueryExecution InvalidRequestException", "QueryFailed", "in AWS's words"),
    "a look that isn't allowed": ("refuse GetQueryExecution AccessDeniedException", "AccessDenied", "in AWS's words"),
    "a start that never gets through": ("refuse StartQueryExecution ThrottlingException", "SlowDown", "in AWS's"),
    "a query that fails": ("end FAILED HIVE_BAD_DATA: what's that?", "QueryFailed", "HIVE_BAD_DATA: what's that?"),
    "objects that it may not read": ("end FAILED Access Denied (Service: Amazon S3)", "AccessDenied", "Amazon S3"),
    "somebody who cancels it": ("end CANCELLED Bytes scanned limit was exceeded", "QueryCancelled", "scanned limit"),
    "a query that outlives its limit": ("take 1000", "QueryTimedOut", "RUNNING at the limit of 60 s"),
    "a service that never answers": ("refuse GetQueryExecution no answer", "QueryTimedOut", "no answer (Could"),
    "another result": ("give 699", "WrongResult", "expected 700, got 699"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_failed_query_is_a_failed_message_with_its_record_and_none_runs_on(end, aws, carried_out, drained, capsys):
    (what, *rest), error_type, words = ENDS[end][0].split(" ", 2), *ENDS[end][1:]
    if what == "refuse":
        aws.fail(*rest, between_s=(0, 1e9))
    elif what == "end":
        vars(aws).update(ends=rest[0], reason=rest[1])
    elif what == "take":
        vars(aws).update(query_s=float(rest[0]))
    else:
        vars(aws).update(rows=[rest])
    carried_out(count=2)
    assert aws.running == []
    assert "couldn't be cancelled" not in capsys.readouterr().err
    ended_s = aws.now_s
    account, records = drained()
    assert counts(account) == (2, 0, 2, 0, 0)
    assert aws.now_s == ended_s, "nothing is delivered again, so there is nothing to wait for"
    assert [record["error_type"] for record in records] == [error_type] * 2
    assert words in records[0]["error_message"]
    keys = [name for name in RECORD if name != "elapsed_seconds"]
    assert list(records[0]) == [*keys, "error_type", "error_message"]


def test_a_query_whose_answer_is_lost_is_found_by_its_token_and_cancelled(aws, carried_out, drained):
    vars(aws).update(losing=1)
    carried_out()
    assert counts(drained()[0]) == (1, 0, 1, 0, 0)
    assert (len(aws.queries), aws.running) == (1, [])


@pytest.mark.parametrize("code", ["TooManyRequestsException", "no answer"])
def test_athena_may_be_silent_for_a_while(code, aws, carried_out, drained):
    aws.fail("GetQueryExecution", code, between_s=(0, 20))
    carried_out()
    assert counts(drained()[0]) == (1, 1, 0, 0, 0)


@pytest.mark.parametrize(("operation", "call"), [("start_query_execution", 1), ("get_query_execution", 3)])
def test_ctrl_c_cancels_the_query_under_way_also_before_its_id_is_told_and_records_it(
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
        carried_out(count=5)
    account, [record] = drained()
    assert counts(account) == (1, 0, 1, 0, 0)
    assert (record["error_type"], record["execution_id"], aws.state_of("q0")) == ("QueryCancelled", "q0", "CANCELLED")


def test_a_log_group_that_takes_no_record_ends_the_run(aws, carried_out):
    aws.fail("PutLogEvents", "AccessDeniedException", between_s=(0, 1e9))
    with pytest.raises(RunError, match="writing a record to group"):
        carried_out(count=2)
    assert len(aws.queries) == 1


def killed(aws, folder, cell, state):
    """What a run leaves that was killed while its first query was under way."""
    query_id = aws.start_query_execution(ClientRequestToken=token_of("r", cell, 0))["QueryExecutionId"]
    known = query_id if state == "begun" else ""
    folder.append("executions.jsonl", [{"cell": cell, "seq": 0, "state": state, "execution_id": known}])
    if known:
        folder.append("sent.jsonl", [{"cell": cell, "seq": 0, "sent_at_ms": EPOCH_MS, "round": 1, "warm_up": 0}])


@pytest.mark.parametrize("state", ["beginning", "begun"])
def test_a_query_of_a_killed_run_is_cancelled_or_said_where_it_cannot_be(state, aws, folder, capsys):
    killed(aws, folder, "a", state)
    stop_left_running(aws, folder, "b", QUERY)
    assert aws.running == ["q0"]
    stop_left_running(aws, folder, "a", QUERY)
    assert aws.running == []
    folder.append("executions.jsonl", [{"cell": "c", "seq": 0, "state": "begun", "execution_id": "gone"}])
    stop_left_running(aws, folder, "c", QUERY)
    assert "query gone couldn't be cancelled" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["beginning", "begun"])
def test_a_killed_sweep_that_is_resumed_cancels_the_query_and_runs_the_cell_again(state, aws, folder, monkeypatch):
    settings = ["operation=count", "parallel_limit=1", "object_count=7", "concurrency_value=1", "memory_size=512"]
    plan = make_plan(QUERIES, "aws", settings, messages_per_concurrency=10)
    [cell] = plan.cells
    killed(aws, folder, cell.name, state)
    stack = Stack(aws)
    monkeypatch.setattr(sweep_run.RunDescription, "describe", lambda self, target, terraform: None)
    monkeypatch.setattr(sweep_run, "put_objects", lambda target, objects: None)
    clocked = {"clock": aws.clock, "sleep": aws.sleep}
    monkeypatch.setattr(sweep_run, "carry_out", lambda *a, **o: carry_out(*a, **o, **clocked))
    monkeypatch.setattr(sweep_run, "drain", lambda *a, **o: drain(*a, **o, **clocked))
    [account] = SweepRun(plan, folder, ESTIMATE, stack, None).run()
    assert counts(account) == (2, 2, 0, 0, 0)
    assert aws.stopped == ["q0"]
    assert "PurgeQueue" not in aws.operations
    assert [json.loads(line)["execution_id"] for _, _, line in aws.lines] == ["q1", "q2"]
