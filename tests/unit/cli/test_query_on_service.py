"""The CloudWatch backend of `stampede query`, against a fake of the Logs API."""

import json
import os
import signal
import time
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from stampede import polling
from stampede.errors import RunError, UsageError
from stampede.insights import cloudwatch as cloudwatch_query
from stampede.insights.cloudwatch import run_on_service
from stampede.stacks import endpoints
from stampede.stacks.target import Target
from tests.fakes.logs import FakeLogs
from tests.fakes.own_sleep import replace_sleep

SENT_MS = 1_736_700_000_500
ROW = {
    "memory_size_mb": "1024",
    "concurrency": "5",
    "avg_s": "12.25",
    "tag": "007",
    "@ptr": "opaque",
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    replace_sleep(monkeypatch, polling, lambda seconds: None)


@pytest.fixture
def naps(monkeypatch):
    """The seconds that botocore would sleep between retries; it doesn't sleep."""
    slept = []
    monkeypatch.setattr(
        "botocore.endpoint.time", SimpleNamespace(sleep=slept.append, time=time.time)
    )
    return slept


def ask(stub, text="stats count(*) as n", **more):
    with stub:
        client = Target("local", {"region": "us-east-1"}, stub.url).client("logs")
        return run_on_service(client, "/aws/lambda/f", text, 1_500, 2_001, **more)


def test_a_query_is_polled_until_it_is_complete_in_whole_seconds():
    stub = FakeLogs(["Scheduled", "Running", "Running", "Complete"], [ROW])
    result = ask(stub)
    assert [operation for operation, _ in stub.calls] == ["StartQuery", *["GetQueryResults"] * 4]
    [request] = stub.requests("StartQuery")
    assert (request["startTime"], request["endTime"], request["limit"]) == (1, 3, 10_000)
    assert result.typed_rows() == [
        {"memory_size_mb": 1024, "concurrency": 5, "avg_s": 12.25, "tag": "007"}
    ]


@pytest.mark.parametrize("status", ["Failed", "Unknown"])
def test_any_other_final_status_is_an_error_that_names_it(status):
    with pytest.raises(RunError, match=f"status {status} for query "):
        ask(FakeLogs(["Running", status], [ROW]))


def test_all_pages_are_fetched_and_the_maximum_of_rows_is_an_error_without_a_limit(naps):
    rows = [{"n": str(number)} for number in range(25)]
    stub = FakeLogs(["Complete"], rows, page_rows=10)
    assert ask(stub, "fields n | limit 30", row_limit=30).rows == rows
    with pytest.raises(UsageError, match="limit N"):
        ask(FakeLogs(["Complete"], rows * 400))
    stub.errors["GetQueryResults"] = ["", *["ServiceUnavailableException"] * 9]
    with pytest.raises(ClientError):
        ask(stub)


@pytest.mark.parametrize("operation", ["StartQuery", "GetQueryResults"])
def test_a_call_that_stays_throttled_fails_and_a_started_query_is_stopped(operation, naps):
    stub = FakeLogs(["Running"], [], errors={operation: ["LimitExceededException"] * 99})
    with pytest.raises(ClientError, match="LimitExceeded"):
        ask(stub)
    assert (len(stub.requests(operation)), len(naps), max(naps) <= 20) == (6, 5, True)
    assert bool(stub.requests("StopQuery")) == (operation == "GetQueryResults")


@pytest.fixture
def run_dir(tmp_path, monkeypatch):
    """A stored run of two messages on AWS."""
    folder = tmp_path / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"target": "aws"}))
    sent = [
        {"cell": "c", "seq": seq, "message_id": f"m{seq}", "sent_at_ms": SENT_MS + seq}
        for seq in range(2)
    ]
    (folder / "sent.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sent))
    record = {"cell": "c", "seq": 0, "status": "ok", "finished_at_ms": SENT_MS + 9_000}
    (folder / "records.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.fixture
def query(run_dir, stampede, apply, monkeypatch):
    """A function that queries the run while its stack is applied."""
    apply({"region": "us-east-1", "function_name": "f", "log_group_name": "/aws/lambda/f"})
    monkeypatch.setattr(cloudwatch_query, "POLL_S", 0.001)
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")

    def run(stub):
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            return stampede("query", "summary", "--format", "json")

    return run


@pytest.fixture
def events(run_dir):
    """The stored log events of the run's two messages, of 3 and 5 seconds."""
    record = {
        "concurrency_limit": 5,
        "memory_size": 1024,
        "run_id": "run-a",
        "status": "ok",
        "warm_up": 0,
    }
    messages = [
        record | {"download_time_seconds": 3 + 2 * seq, "message_id": f"m{seq}"} for seq in range(2)
    ]
    lines = [
        {"timestamp": SENT_MS, "message": json.dumps(message), "logStream": "s"}
        for message in messages
    ]
    (run_dir / "log_events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


GROUP_RECREATED = (
    "MalformedQueryException: Query's end date and time is either before the log groups creation "
    "time or exceeds the log groups log retention settings ([0,79])"
)


@pytest.mark.parametrize(
    "stub",
    [
        FakeLogs([], [], errors={"StartQuery": ["ResourceNotFoundException"]}),
        FakeLogs([], [], errors={"StartQuery": [GROUP_RECREATED]}),
        FakeLogs(["Complete"], [], arrived=0),
    ],
)
def test_a_run_whose_log_group_is_gone_is_answered_from_its_stored_events(query, events, stub):
    done = query(stub)
    [row] = json.loads(done.out)
    assert (done.status, row["count"], row["avg_s"]) == (0, 2, 4)
    assert "using results/run-a/log_events.jsonl" in done.err and "no record of" not in done.err


def test_a_run_on_aws_is_queried_in_cloudwatch_within_its_own_time(query):
    stub = FakeLogs(
        ["Scheduled", "Complete"], [{"memory_size_mb": "1024", "count": "2"}], arrived=2
    )
    done = query(stub)
    assert json.loads(done.out) == [{"memory_size_mb": 1024, "count": 2}]
    assert "no record of" not in done.err
    request = stub.requests("StartQuery")[0]
    assert request["logGroupName"] == "/aws/lambda/f"
    assert 'filter run_id = "run-a"' in request["queryString"]
    assert (request["startTime"], request["endTime"]) == (1_736_699_940, 1_736_700_070)
    done = query(FakeLogs(["Complete"], [{"count": "1"}], arrived=1))
    assert "no record of 1 of its 2 messages" in done.err


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("LimitExceededException", "too many queries are running"),
        ("ExpiredTokenException", "doesn't accept these credentials"),
        ("AccessDeniedException", "logs:StartQuery"),
    ],
)
def test_another_refusal_is_one_line_with_the_fix_even_with_stored_events(
    query, events, naps, code, words
):
    done = query(FakeLogs([], [], errors={"StartQuery": [code] * 9}))
    assert (done.status, done.out, done.err.count("\n"), words in done.err) == (1, "", 2, True)


def test_ctrl_c_stops_the_query_on_the_service_and_says_so_in_one_line(query):
    stub = FakeLogs(["Running"], [])
    stub.on_call("GetQueryResults", lambda: os.kill(os.getpid(), signal.SIGINT))
    done = query(stub)
    assert (done.status, done.out) == (130, "")
    assert done.err.endswith("\nstampede query: interrupted\n") and done.err.count("\n") == 2
    assert stub.requests("StopQuery") == [{"queryId": "q-1"}]
