"""The CloudWatch backend of `stampede query`, against a loopback stand-in for the Logs API."""

import json
import os
import signal
import time
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError

from stampede.cli.command_line import main
from stampede.errors import RunError, UsageError
from stampede.insights import cloudwatch as cloudwatch_query
from stampede.insights.cloudwatch import run_on_service, typed
from stampede.stacks import endpoints
from stampede.stacks.target import Target
from tests.fakes.logs import FakeLogs

STACK_LINE = "stack: aws, f in us-east-1\n"  # progress, before anything is asked
SENT_MS = 1_736_700_000_500
RECORD = {"cell": "c", "seq": 0, "status": "ok", "finished_at_ms": SENT_MS + 9_000}
ROW = {"memory_size_mb": "1024", "concurrency": "5", "count": "12", "avg_s": "12.25", "tag": "007", "@ptr": "opaque"}


def ask(stub, text="stats count(*) as n", **more):
    with stub:
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        client = boto3.client("logs", endpoint_url=stub.url, **keys)
        return run_on_service(client, "/aws/lambda/f", text, 1_500, 2_001, sleep=lambda seconds: None, **more)


def test_a_query_is_polled_until_it_is_complete():
    stub = FakeLogs(["Scheduled", "Running", "Running", "Complete"], [ROW])
    result = ask(stub)
    assert [operation for operation, _ in stub.calls] == ["StartQuery", *["GetQueryResults"] * 4]
    assert result.rows == [{name: value for name, value in ROW.items() if name != "@ptr"}]
    assert result.typed_rows()[0] == {
        "memory_size_mb": 1024,
        "concurrency": 5,
        "count": 12,
        "avg_s": 12.25,
        "tag": "007",
    }


def test_the_time_range_is_rounded_outwards_to_seconds():
    stub = FakeLogs(["Complete"], [])
    ask(stub)
    [request] = stub.requests("StartQuery")
    assert (request["startTime"], request["endTime"], request["limit"]) == (1, 3, 10_000)


def ask_as_the_command_line_does(stub):
    """With the client of `stampede query`, whose retries are part of what is tested."""
    outputs = {"region": "us-east-1"}
    with stub:
        client = Target("local", outputs, stub.url).client("logs")
        return run_on_service(client, "g", "stats count(*)", 0, 1, sleep=lambda seconds: None)


@pytest.mark.parametrize("status", ["Failed", "Timeout", "Cancelled", "Unknown"])
def test_any_other_end_is_an_error_that_names_the_status(status):
    with pytest.raises(RunError, match=f"status {status} for query "):
        ask(FakeLogs(["Running", status], [ROW]))


def test_all_pages_are_fetched():
    rows = [{"n": str(number)} for number in range(25)]
    stub = FakeLogs(["Complete"], rows, page_rows=10)
    assert ask(stub, "fields n | limit 30", row_limit=30).rows == rows
    assert [request.get("nextToken") for request in stub.requests("GetQueryResults")] == [None, "10", "20"]


def test_as_many_rows_as_the_service_returns_at_most_are_an_error_unless_the_query_has_a_limit():
    rows = [{"n": "1"}] * 10_000
    with pytest.raises(UsageError, match="limit N"):
        ask(FakeLogs(["Complete"], rows))
    stub = FakeLogs(["Complete"], rows)
    assert len(ask(stub, "fields n | limit 20000", row_limit=20_000).rows) == 10_000
    assert stub.requests("StartQuery")[0]["limit"] == 20_000


@pytest.fixture
def naps(monkeypatch):
    """The seconds that botocore would sleep before it tries again; it doesn't."""
    slept = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=slept.append, time=time.time))
    return slept


@pytest.mark.parametrize("code", ["ThrottlingException", "LimitExceededException"])
def test_a_call_that_is_throttled_is_tried_again(code, naps):
    stub = FakeLogs(["Running", "Complete"], [ROW], errors={"StartQuery": [code, code], "GetQueryResults": [code]})
    assert ask_as_the_command_line_does(stub).rows
    assert len(stub.requests("StartQuery")) == 3
    assert len(naps) == 3


@pytest.mark.parametrize("operation", ["StartQuery", "GetQueryResults"])
def test_a_call_that_stays_throttled_is_given_up_and_a_started_query_is_stopped(operation, naps):
    stub = FakeLogs(["Running"], [], errors={operation: ["LimitExceededException"] * 99})
    with pytest.raises(ClientError, match="LimitExceeded"):
        ask_as_the_command_line_does(stub)
    assert len(stub.requests(operation)) == 6
    assert len(naps) == 5 and max(naps) <= 20
    assert bool(stub.requests("StopQuery")) == (operation == "GetQueryResults")


def test_a_page_that_cannot_be_had_is_an_error_and_no_partial_answer(naps):
    rows = [{"n": str(number)} for number in range(25)]
    stub = FakeLogs(["Complete"], rows, page_rows=10)
    stub.fail_from_page(2, "ServiceUnavailableException")
    with pytest.raises(ClientError):
        ask_as_the_command_line_does(stub)


def test_a_query_that_is_given_up_is_stopped(monkeypatch):
    monkeypatch.setattr(cloudwatch_query, "PATIENCE_S", -1)
    stub = FakeLogs(["Running"], [])
    with pytest.raises(RunError, match="narrow its time range"):
        ask(stub)
    assert stub.requests("StopQuery") == [{"queryId": "q-1"}]


def test_a_query_that_is_interrupted_is_stopped():
    def interrupt(seconds):
        raise KeyboardInterrupt

    stub = FakeLogs(["Running"], [])
    with stub, pytest.raises(KeyboardInterrupt):
        client = boto3.client(
            "logs", "us-east-1", endpoint_url=stub.url, aws_access_key_id="a", aws_secret_access_key="b"
        )
        run_on_service(client, "g", "stats count(*)", 0, 1, sleep=interrupt)
    assert stub.requests("StopQuery") == [{"queryId": "q-1"}]


@pytest.mark.parametrize(
    ("written", "value"),
    [("0", 0), ("-7", -7), ("12.50", 12.5), ("1.28E8", 1.28e8), ("1.2E-4", 1.2e-4)]
    + [(text, text) for text in ("007", "nan", "inf", "1e5", "", "+1", "1.", "2025-01-12 16:40:00.000", "0x1", "١")],
)
def test_only_what_is_written_as_a_number_is_one(written, value):
    assert typed(written) == value
    assert type(typed(written)) is type(value)


@pytest.fixture
def aws_run(tmp_path, monkeypatch):
    """A stored run on AWS of two messages; gives a function that runs `stampede query` on it."""
    folder = tmp_path / "results" / "run-a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"target": "aws"}))
    sent = [{"cell": "c", "seq": seq, "message_id": f"m{seq}", "sent_at_ms": SENT_MS + seq} for seq in range(2)]
    (folder / "sent.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sent))
    (folder / "records.jsonl").write_text(json.dumps(RECORD) + "\n")
    outputs = {"region": "us-east-1", "function_name": "f", "log_group_name": "/aws/lambda/f"}
    (tmp_path / "outputs.json").write_text(json.dumps({name: {"value": value} for name, value in outputs.items()}))
    monkeypatch.setattr(cloudwatch_query, "POLL_S", 0.001)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it
    monkeypatch.chdir(tmp_path)

    def query(stub, *arguments, target="aws"):
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            return main(["query", "summary", "--outputs", "outputs.json", "--target", target, *arguments])

    return query


@pytest.fixture
def stored_events(aws_run, tmp_path):
    """The log events of the run's two messages, as `stampede drain` stored them; 3 and 5 seconds."""
    record = {"concurrency_limit": 5, "memory_size": 1024, "run_id": "run-a", "status": "ok", "warm_up": 0}
    messages = [record | {"download_time_seconds": 3 + 2 * seq, "message_id": f"m{seq}"} for seq in range(2)]
    events = [{"timestamp": SENT_MS, "message": json.dumps(message), "logStream": "s"} for message in messages]
    path = tmp_path / "results" / "run-a" / "log_events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


MADE_ANEW = (
    "MalformedQueryException: Query's end date and time is either before the log groups creation time or exceeds the"
    " log groups log retention settings ([0,79])"
)


@pytest.mark.parametrize(
    ("stub", "words"),
    [
        (FakeLogs([], [], errors={"StartQuery": ["ResourceNotFoundException"]}), "isn't in us-east-1"),
        (FakeLogs([], [], errors={"StartQuery": [MADE_ANEW]}), "created after the run, or its lines have expired"),
        (FakeLogs(["Complete"], [], arrived=0), "has no line of run run-a"),
    ],
    ids=["destroyed", "destroyed and made anew", "made anew under the time of the run"],
)
def test_a_run_whose_log_group_is_gone_is_answered_from_its_stored_events(aws_run, stored_events, capsys, stub, words):
    assert aws_run(stub, "--format", "json") == 0
    printed = capsys.readouterr()
    [row] = json.loads(printed.out)
    assert (row["count"], row["avg_s"]) == (2, 4)
    output = " ".join(printed.err.split())
    assert words in output and "using results/run-a/log_events.jsonl" in output
    assert "no record of" not in output


def test_a_run_whose_stack_is_destroyed_is_answered_from_its_stored_events(
    stored_events, capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr("stampede.emulator.stack.ROOT", tmp_path)
    assert main(["query", "summary", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert [row["count"] for row in json.loads(printed.out)] == [2]
    assert "no applied stack found" in printed.err and "using results" in printed.err


def test_a_destroyed_stack_without_stored_events_is_one_clear_line(aws_run, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("stampede.emulator.stack.ROOT", tmp_path)
    assert main(["query", "summary"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "no applied stack found" in printed.err and "run run-a has no stored log events" in printed.err


@pytest.mark.parametrize(
    "code",
    [
        "AccessDeniedException",
        "ThrottlingException",
        "LimitExceededException",
        "ExpiredTokenException",
        "MalformedQueryException",
    ],
)
def test_another_refusal_is_an_error_also_where_events_are_stored(aws_run, stored_events, capsys, naps, code):
    assert aws_run(FakeLogs([], [], errors={"StartQuery": [code] * 9})) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "using results" not in printed.err


def test_a_run_on_aws_is_not_asked_of_the_local_target(aws_run, stored_events, capsys):
    stub = FakeLogs([], [])
    assert aws_run(stub, target="local") == 2
    assert "--target: run run-a was on AWS" in capsys.readouterr().err
    assert stub.calls == []


def test_a_run_on_aws_is_asked_of_cloudwatch_within_its_own_time(aws_run, capsys):
    stub = FakeLogs(["Scheduled", "Complete"], [{"memory_size_mb": "1024", "count": "2"}], arrived=2)
    assert aws_run(stub, "--format", "json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [{"memory_size_mb": 1024, "count": 2}]
    assert "no record of" not in printed.err
    request = stub.requests("StartQuery")[0]
    assert request["logGroupName"] == "/aws/lambda/f"
    assert 'filter run_id = "run-a"' in request["queryString"]
    assert (request["startTime"], request["endTime"]) == (1_736_699_940, 1_736_700_070)


def test_records_that_have_not_arrived_are_reported(aws_run, capsys):
    assert aws_run(FakeLogs(["Complete"], [{"count": "1"}], arrived=1)) == 0
    assert "run run-a has no record of 1 of its 2 messages yet: CloudWatch may" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_failed_query_exits_1_with_nothing_on_stdout(aws_run, capsys):
    assert aws_run(FakeLogs(["Failed"], [])) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "status Failed" in printed.err


def test_too_many_rows_exit_2_with_nothing_on_stdout(aws_run, capsys):
    assert aws_run(FakeLogs(["Complete"], [{"n": "1"}] * 10_000, arrived=2)) == 2
    assert capsys.readouterr().out == ""


def test_ctrl_c_stops_the_query_on_the_service_and_says_so_in_one_line(aws_run, capsys):
    stub = FakeLogs(["Running"], [])
    stub.on_call("GetQueryResults", lambda: os.kill(os.getpid(), signal.SIGINT))
    assert aws_run(stub) == 130
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", STACK_LINE + "stampede query: interrupted\n")
    assert stub.requests("StopQuery") == [{"queryId": "q-1"}]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("LimitExceededException", "too many queries are running"),
        ("ThrottlingException", "try again in a minute"),
        ("ResourceNotFoundException", "/aws/lambda/f isn't in us-east-1; check --outputs"),
        ("MalformedQueryException", "in the words of the service"),
        ("UnrecognizedClientException", "AWS doesn't accept these credentials"),
        ("ExpiredTokenException", "AWS doesn't accept these credentials"),
        ("AccessDeniedException", "logs:StartQuery"),
    ],
)
def test_a_refusal_of_the_service_is_one_line_with_the_fix(aws_run, capsys, naps, code, words):
    assert aws_run(FakeLogs([], [], errors={"StartQuery": [code] * 9})) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(STACK_LINE + "stampede: running the query") and printed.err.count("\n") == 2
    assert words in printed.err


def test_without_credentials_nothing_is_asked(aws_run, capsys, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    stub = FakeLogs([], [])
    assert aws_run(stub) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n"), stub.calls) == ("", 2, [])
    assert "no AWS credentials found" in printed.err


def test_a_region_other_than_the_stacks_is_wrong_input(aws_run, capsys):
    assert aws_run(FakeLogs([], []), "--region", "us east 1") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "stampede: --region: the stack is in us-east-1, got 'us east 1'; leave it out\n"


def test_an_endpoint_that_does_not_answer_is_one_line(aws_run, capsys, naps):
    assert aws_run(FakeLogs([], [], silent=True)) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no answer in us-east-1" in printed.err


def test_a_query_that_is_refused_here_is_not_asked_of_the_service(aws_run, capsys, tmp_path):
    (tmp_path / "q.cwli").write_text("fields @message | pattern @message")
    stub = FakeLogs([], [])
    with_query = ["query", "q.cwli", "--outputs", "outputs.json", "--target", "aws"]
    assert main(with_query) == 2
    assert stub.calls == []
    assert "the command pattern is not supported" in capsys.readouterr().err
