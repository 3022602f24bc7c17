"""The download's functions as the embedded AWS's Lambda runs them, with the right to get the object and no other."""

import base64
import json
import time
import zlib
from pathlib import Path

import awscrt
import pytest

from stampede.emulator import ministack
from tests.emulator.lambda_on_ministack import (
    BODY,
    VARIABLES,
    allow,
    client,
    go_function,
    make_role,
    python_function,
    zipped,
)
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, LambdaSandbox, order, set_environment, sqs_record
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

# Their sink, and the requests that three ranges take where a record counts them.
METHODS = {
    "download_file": ("tmp", None),
    "stream": ("discard", 1),
    "ranges": ("memory", 3),
    "crt": ("tmp", None),
    "go_stream": ("discard", 1),
    "go_ranges": ("tmp", 3),
}
TAKING = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """A running emulator with the object in its bucket, and an empty one."""
    state_dir = tmp_path_factory.mktemp("ministack")
    running = ministack.start(state_dir, follow_parent=True)
    try:
        s3, bucket = client("s3", running.access), ENVIRONMENT["BUCKET_NAME"]
        s3.create_bucket(Bucket=bucket)
        for key, body in ((ENVIRONMENT["FILE_NAME"], BODY), ("empty.dat", b"")):
            s3.put_object(Bucket=bucket, Key=key, Body=body)
        yield running.access
    finally:
        ministack.stop(state_dir)


@pytest.fixture
def of_method(transfer_program):
    """What a function that downloads by a method is made of."""
    return lambda method: go_function(transfer_program) if method.startswith("go_") else python_function()


def crt_layer(lambda_client):
    """The ARN of a layer with the CRT client, which a runtime doesn't bring: the one that the tests run with."""
    packages = Path(awscrt.__file__).parents[1]
    files = [*packages.glob("awscrt/**/*.py"), *packages.glob("_awscrt*.so")]
    layer = zipped(*((file, f"python/{file.relative_to(packages)}") for file in files))
    return lambda_client.publish_layer_version(LayerName="crt", Content={"ZipFile": layer})["LayerVersionArn"]


@pytest.mark.parametrize("method", METHODS)
def test_a_good_message_downloads_the_object_and_a_bad_one_is_reported(access, of_method, method):
    lambda_client, (sink, requests), name = client("lambda", access), METHODS[method], f"stampede-{method}"
    variant = {"METHOD": method, "SINK": sink, "RANGE_PARALLEL": "2", "RANGE_PART_MB": "16"}
    lambda_client.create_function(
        FunctionName=name,
        Role=make_role(client("iam", access), name),
        Layers=[crt_layer(lambda_client)] if method == "crt" else [],
        Timeout=30,
        MemorySize=1024,
        Environment={"Variables": VARIABLES | variant},
        **of_method(method),
    )
    checksum = f"crc32:{zlib.crc32(BODY):08x}"
    good, bad = sqs_record(order(object_bytes=len(BODY), checksum=checksum), attempt=2), sqs_record("hello")
    for _ in range(2):  # the second over the connections of the first, where the server keeps them
        answer = lambda_client.invoke(
            FunctionName=name, LogType="Tail", Payload=json.dumps({"Records": [good, bad]}).encode()
        )
        log = base64.b64decode(answer["LogResult"]).decode()
        assert "FunctionError" not in answer, log
        assert json.load(answer["Payload"]) == {"batchItemFailures": [{"itemIdentifier": bad["messageId"]}]}
        records = [json.loads(line) for line in log.splitlines() if line.startswith('{"concurrency_limit": ')]
        assert [(record["status"], record["bytes"], record["attempt"]) for record in records] == [
            ("ok", len(BODY), 2),
            ("error", 0, 1),
        ], log
        assert all((record["method"], record["sink"]) == (method, sink) for record in records)
        assert requests in (None, records[0]["requests"])


@pytest.mark.parametrize("method", ["download_file", "stream", "ranges", "crt"])
def test_an_object_that_is_empty_or_isnt_there_is_told_apart(access, monkeypatch, tmp_path, method):
    set_environment(monkeypatch, tmp_path, **access.environment)
    monkeypatch.setenv("METHOD", method)
    # The CRT finds out that an object is empty by the ActualObjectSize in S3's 416, which MiniStack leaves out.
    keys = {"nothing.dat": "NoSuchKey"} | ({} if method == "crt" else {"empty.dat": None})
    for key, error_type in keys.items():
        monkeypatch.setenv("FILE_NAME", key)
        [record], failed = LambdaSandbox().invoke(order(object_bytes=0))
        assert (record.get("error_type"), record["bytes"]) == (error_type, 0), record
        assert failed == ([record["message_id"]] if error_type else [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("method", "body"), [("stream", order(object_bytes=1)), ("go_stream", "not an order")])
def test_a_failed_message_comes_back_after_seconds_until_it_is_a_dead_letter(access, of_method, method, body):
    """By a queue that would hide it for 360 s, and with the rights that Terraform gives the function."""
    sqs, functions, name = client("sqs", access), client("lambda", access), f"stampede-{method}-redelivery"

    def make_queue(name, **attributes):
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    letters_url, letters = make_queue(f"{name}-dead-letters")
    redrive = json.dumps({"deadLetterTargetArn": letters, "maxReceiveCount": 2})
    queue_url, queue = make_queue(name, VisibilityTimeout="360", RedrivePolicy=redrive)
    functions.create_function(
        FunctionName=name,
        Role=make_role(client("iam", access), name, "lambda", allow(TAKING, queue)),
        Timeout=60,
        MemorySize=1024,
        Environment={"Variables": VARIABLES | {"METHOD": method}},
        **of_method(method),
    )
    functions.create_event_source_mapping(
        FunctionName=name, EventSourceArn=queue, BatchSize=1, FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    give_up_s = time.monotonic() + 120
    while not sqs.receive_message(QueueUrl=letters_url, WaitTimeSeconds=1).get("Messages"):
        assert time.monotonic() < give_up_s, "no dead letter within 2 minutes"
    lines = client("logs", access).filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    first, second = (json.loads(row["message"]) for row in lines if row["message"].startswith('{"concurrency_limit"'))
    assert [(record["attempt"], record["status"]) for record in (first, second)] == [(1, "error"), (2, "error")]
    assert first["error_type"] == {"stream": "SizeMismatch", "go_stream": "WorkOrderError"}[method]
    assert 2 <= (second["started_at_ms"] - first["finished_at_ms"]) / 1000 < 120
