"""The download function against the S3 of the embedded AWS: imported here, and as a zip that its Lambda runs."""

import base64
import io
import json
import random
import time
import zipfile
import zlib
from pathlib import Path

import awscrt
import boto3
import pytest
from botocore.config import Config

from stampede.emulator import ministack
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, LambdaSandbox, order, set_environment, sqs_record

FUNCTIONS = Path(__file__).parents[2] / "functions"
OBJECT_BYTES = 16 * 2**20 + 1
ROLE_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
ROLE_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{ENVIRONMENT['BUCKET_NAME']}/*"}
    ],
}


def client(service, access):
    return boto3.Session().client(
        service,
        endpoint_url=access.endpoint_url,
        region_name="us-east-1",
        **access.key,
        config=Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=40),
    )


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """A running emulator with the object in its bucket."""
    state_dir = tmp_path_factory.mktemp("ministack")
    running = ministack.start(state_dir, follow_parent=True)
    try:
        s3 = client("s3", running.access)
        s3.create_bucket(Bucket=ENVIRONMENT["BUCKET_NAME"])
        s3.put_object(
            Bucket=ENVIRONMENT["BUCKET_NAME"],
            Key=ENVIRONMENT["FILE_NAME"],
            Body=random.Random(1).randbytes(OBJECT_BYTES),
        )
        yield running.access
    finally:
        ministack.stop(state_dir)


@pytest.fixture
def sandbox_folder(access, monkeypatch, tmp_path):
    """The environment of a sandbox that points at the emulator; its temporary folder."""
    set_environment(monkeypatch, tmp_path, **access.environment)
    return tmp_path


def test_the_handler_downloads_a_real_object(sandbox_folder):
    [record], failed = LambdaSandbox().invoke(order(object_bytes=OBJECT_BYTES))
    assert failed == []
    assert (record["status"], record["bytes"]) == ("ok", OBJECT_BYTES)
    assert list(sandbox_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "sink"),
    [(method, sink) for method in ("stream", "ranges") for sink in ("discard", "memory", "tmp")] + [("crt", "tmp")],
)
def test_every_method_downloads_the_same_bytes_into_every_sink(sandbox_folder, monkeypatch, method, sink):
    monkeypatch.setenv("METHOD", method)
    monkeypatch.setenv("SINK", sink)
    function = LambdaSandbox()
    checksum = f"crc32:{zlib.crc32(random.Random(1).randbytes(OBJECT_BYTES)):08x}"
    for _ in range(2):  # the second over the connections of the first, where the server keeps them
        [record], failed = function.invoke(order(object_bytes=OBJECT_BYTES, checksum=checksum))
        assert (failed, record["status"], record["method"], record["sink"]) == ([], "ok", method, sink), record
        # 16 MiB and a byte are two ranges.
        assert (record["requests"], record["retries"]) == (1 if method == "stream" else 2, 0)
    assert list(sandbox_folder.iterdir()) == []


@pytest.mark.parametrize("method", ["stream", "ranges", "crt"])
def test_every_method_reports_an_object_that_is_not_there(sandbox_folder, monkeypatch, method):
    monkeypatch.setenv("METHOD", method)
    monkeypatch.setenv("FILE_NAME", "nothing.dat")
    [record], _ = LambdaSandbox().invoke(order())
    assert (record["status"], record["error_type"], record["retries"]) == ("error", "NoSuchKey", 0)


# Without crt: it finds out that an object is empty by the ActualObjectSize in S3's 416, which MiniStack leaves out.
@pytest.mark.parametrize("method", ["stream", "ranges"])
def test_every_method_downloads_an_empty_object(sandbox_folder, access, monkeypatch, method):
    client("s3", access).put_object(Bucket=ENVIRONMENT["BUCKET_NAME"], Key="empty.dat", Body=b"")
    monkeypatch.setenv("METHOD", method)
    monkeypatch.setenv("FILE_NAME", "empty.dat")
    [record], _ = LambdaSandbox().invoke(order(object_bytes=0))
    assert (record["status"], record["bytes"]) == ("ok", 0), record


def test_the_handler_reports_an_object_that_is_not_there(sandbox_folder, monkeypatch):
    monkeypatch.setenv("FILE_NAME", "nothing.dat")
    [record], failed = LambdaSandbox().invoke(order())
    assert (record["status"], record["error_type"]) == ("error", "NoSuchKey")
    assert failed == [record["message_id"]]


def crt_layer(lambda_client):
    """The ARN of a layer with the CRT client, which a runtime doesn't bring: the one that the tests run with."""
    packages, zipped = Path(awscrt.__file__).parents[1], io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in [*packages.glob("awscrt/**/*.py"), *packages.glob("_awscrt*.so")]:
            archive.write(file, f"python/{file.relative_to(packages)}")
    made = lambda_client.publish_layer_version(LayerName="crt", Content={"ZipFile": zipped.getvalue()})
    return made["LayerVersionArn"]


@pytest.mark.parametrize("method", ["download_file", "stream", "ranges", "crt"])
def test_the_zipped_function_runs_in_the_emulators_lambda_with_the_right_to_get_the_object_only(access, method):
    lambda_client = client("lambda", access)
    name = f"stampede-{method}"
    lambda_client.create_function(
        FunctionName=name,
        Runtime="python3.12",
        Handler="download.handler.handler",
        Role=make_role(client("iam", access), name),
        Code={"ZipFile": zipped_function()},
        Layers=[crt_layer(lambda_client)] if method == "crt" else [],
        Timeout=30,
        MemorySize=1024,
        Environment={
            "Variables": {k: v for k, v in ENVIRONMENT.items() if not k.startswith("AWS_")} | {"METHOD": method}
        },
    )
    good, bad = sqs_record(order(object_bytes=OBJECT_BYTES), attempt=2), sqs_record("hello")
    answer = lambda_client.invoke(FunctionName=name, LogType="Tail", Payload=json.dumps({"Records": [good, bad]}))
    log = base64.b64decode(answer["LogResult"]).decode()
    assert "FunctionError" not in answer, log
    assert json.load(answer["Payload"]) == {"batchItemFailures": [{"itemIdentifier": bad["messageId"]}]}
    records = [json.loads(line) for line in log.splitlines() if line.startswith('{"concurrency_limit": ')]
    assert [(record["status"], record["bytes"], record["attempt"], record["method"]) for record in records] == [
        ("ok", OBJECT_BYTES, 2, method),
        ("error", 0, 1, method),
    ]


def test_a_failed_message_comes_back_after_seconds_until_it_is_a_dead_letter(access):
    records = records_of_a_message_that_fails(
        access,
        name="stampede-redelivery",
        body=order(object_bytes=1),
        runtime={
            "Runtime": "python3.12",
            "Handler": "download.handler.handler",
            "Code": {"ZipFile": zipped_function()},
        },
        variables={"METHOD": "stream"},
    )
    assert_redelivered_soon(records, "SizeMismatch")


def records_of_a_message_that_fails(access, *, name, body, runtime, variables):
    """Deliver one message by a queue that hides it for 360 s, until it is dead-lettered after its second delivery.

    The function's role has the rights that Terraform gives it. Returns the records; fails after 2 minutes without any.
    """
    sqs, functions = client("sqs", access), client("lambda", access)
    dead_letters_url = sqs.create_queue(QueueName=f"{name}-dead-letters")["QueueUrl"]
    redrive = {"deadLetterTargetArn": queue_arn(sqs, dead_letters_url), "maxReceiveCount": 2}
    attributes = {"VisibilityTimeout": "360", "RedrivePolicy": json.dumps(redrive)}
    queue_url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    source_arn = queue_arn(sqs, queue_url)
    functions.create_function(
        FunctionName=name,
        Role=make_role(client("iam", access), name, may_take_from=source_arn),
        Timeout=60,
        MemorySize=1024,
        Environment={"Variables": {k: v for k, v in ENVIRONMENT.items() if not k.startswith("AWS_")} | variables},
        **runtime,
    )
    functions.create_event_source_mapping(
        FunctionName=name, EventSourceArn=source_arn, BatchSize=1, FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    give_up_s = time.monotonic() + 120
    while not sqs.receive_message(QueueUrl=dead_letters_url, WaitTimeSeconds=1).get("Messages"):
        assert time.monotonic() < give_up_s, "no dead letter within 2 minutes"
    lines = client("logs", access).filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    return [json.loads(line["message"]) for line in lines if line["message"].startswith('{"concurrency_limit": ')]


def assert_redelivered_soon(records, error_type):
    """The second delivery came after the first one's 2 s, and not after the queue's 360 s."""
    assert [(record["attempt"], record["error_type"]) for record in records] == [(1, error_type), (2, error_type)]
    assert 2 <= (records[1]["started_at_ms"] - records[0]["finished_at_ms"]) / 1000 < 120


def queue_arn(sqs, url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def make_role(iam, name, may_take_from=None):
    """Create the function's role, with the right to get the object and to take from a queue, and return its ARN."""
    actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
    taking = {"Effect": "Allow", "Action": actions, "Resource": may_take_from}
    policy = ROLE_POLICY | {"Statement": [*ROLE_POLICY["Statement"], *([taking] if may_take_from else [])]}
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(ROLE_TRUST))
    iam.put_role_policy(RoleName=name, PolicyName="worker", PolicyDocument=json.dumps(policy))
    return role["Role"]["Arn"]


def zipped_function():
    """Return the zip that Terraform makes too: the package of what is common, and the download's own."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for folder in ("common", "download"):
            for path in sorted((FUNCTIONS / folder).glob("*.py")):
                archive.write(path, f"{folder}/{path.name}")
    return zipped.getvalue()
