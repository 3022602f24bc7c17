"""The download's functions as the embedded AWS's Lambda runs them, with the right to get the object and no other."""

import base64
import io
import json
import platform
import random
import time
import zipfile
import zlib
from pathlib import Path

import awscrt
import pytest

from tests.commands import ROOT
from tests.emulator.embedded_aws import allow, client, embedded_aws, make_role
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, LambdaSandbox, order, set_environment, sqs_record
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

# Three ranges of 16 MiB, the last one short.
BODY = random.Random(2).randbytes(34 * 2**20)
ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
VARIABLES = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("AWS_")}
GETTING = allow("s3:GetObject", f"arn:aws:s3:::{ENVIRONMENT['BUCKET_NAME']}/*")
TAKING = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
# Their sink, and the requests that three ranges take where a record counts them.
METHODS = {
    "download_file": ("tmp", None),
    "stream": ("discard", 1),
    "ranges": ("memory", 3),
    "crt": ("tmp", None),
    "go_stream": ("discard", 1),
    "go_ranges": ("tmp", 3),
}


def zipped(files):
    """The zip of these files, by the names that they have in it, packed loosely."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, file in files.items():
            archive.write(file, name)
    return made.getvalue()


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """That of an emulator with the object in its bucket, and an empty one."""
    with embedded_aws(tmp_path_factory.mktemp("ministack")) as running:
        s3, bucket = client("s3", running.access), ENVIRONMENT["BUCKET_NAME"]
        s3.create_bucket(Bucket=bucket)
        for key, body in ((ENVIRONMENT["FILE_NAME"], BODY), ("empty.dat", b"")):
            s3.put_object(Bucket=bucket, Key=key, Body=body)
        yield running.access


@pytest.fixture
def make(access, transfer_program):
    """Makes a function of what Terraform takes for a method, with a role of its own; returns its name."""

    def make_function(name, method, statements=(), layers=(), **variables):
        packages = [path for folder in ("common", "download") for path in (ROOT / "functions" / folder).glob("*.py")]
        files = {str(path.relative_to(ROOT / "functions")): path for path in packages}
        runs = {"Runtime": "python3.12", "Handler": "download.handler.handler"}
        if method.startswith("go_"):
            files = {"bootstrap": transfer_program}
            runs = {"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": [ARCHITECTURE]}
        client("lambda", access).create_function(
            FunctionName=name,
            Role=make_role(client("iam", access), name, GETTING, *statements),
            Code={"ZipFile": zipped(files)},
            Layers=layers,
            Timeout=60,
            MemorySize=1024,
            Environment={"Variables": VARIABLES | {"METHOD": method} | variables},
            **runs,
        )
        return name

    return make_function


def crt_layer(functions):
    """The ARN of a layer with the CRT client, which a runtime doesn't bring: the one that the tests run with."""
    packages = Path(awscrt.__file__).parents[1]
    files = [*packages.glob("awscrt/**/*.py"), *packages.glob("_awscrt*.so")]
    layer = zipped({f"python/{file.relative_to(packages)}": file for file in files})
    return functions.publish_layer_version(LayerName="crt", Content={"ZipFile": layer})["LayerVersionArn"]


@pytest.mark.parametrize("method", METHODS)
def test_a_good_message_downloads_the_object_and_a_bad_one_is_reported(access, make, method):
    functions, (sink, requests) = client("lambda", access), METHODS[method]
    layers = [crt_layer(functions)] if method == "crt" else []
    name = make(f"stampede-{method}", method, layers=layers, SINK=sink, RANGE_PARALLEL="2", RANGE_PART_MB="16")
    checksum = f"crc32:{zlib.crc32(BODY):08x}"
    good, bad = sqs_record(order(object_bytes=len(BODY), checksum=checksum), attempt=2), sqs_record("hello")
    event = json.dumps({"Records": [good, bad]}).encode()
    for _ in range(2):  # the second over the connections of the first, where the server keeps them
        answer = functions.invoke(FunctionName=name, LogType="Tail", Payload=event)
        log = base64.b64decode(answer["LogResult"]).decode()
        assert json.load(answer["Payload"]) == {"batchItemFailures": [{"itemIdentifier": bad["messageId"]}]}, log
        records = [json.loads(line) for line in log.splitlines() if line.startswith('{"concurrency_limit": ')]
        outcomes = [(record["status"], record["bytes"], record["attempt"]) for record in records]
        assert outcomes == [("ok", len(BODY), 2), ("error", 0, 1)], log
        assert all((record["method"], record["sink"]) == (method, sink) for record in records)
        assert requests in (None, records[0]["requests"])


@pytest.mark.parametrize("method", ["download_file", "stream", "ranges", "crt"])
def test_an_object_that_is_empty_or_isnt_there_is_told_apart(access, monkeypatch, tmp_path, method):
    set_environment(monkeypatch, tmp_path, **access.environment, METHOD=method)
    # The CRT finds out that an object is empty by the ActualObjectSize in S3's 416, which MiniStack leaves out.
    keys = {"nothing.dat": "NoSuchKey"} | ({} if method == "crt" else {"empty.dat": None})
    for key, error_type in keys.items():
        monkeypatch.setenv("FILE_NAME", key)
        [record], failed = LambdaSandbox().invoke(order(object_bytes=0))
        assert (record.get("error_type"), record["bytes"]) == (error_type, 0), record
        assert failed == ([record["message_id"]] if error_type else [])
    assert list(tmp_path.iterdir()) == []


def test_a_message_that_the_go_program_failed_comes_back_after_seconds_until_it_is_a_dead_letter(access, make):
    """By a queue that would hide it for 360 s, and with the rights that Terraform gives the function."""
    sqs = client("sqs", access)

    def make_queue(name, **attributes):
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    letters_url, letters = make_queue("letters")
    redrive = json.dumps({"deadLetterTargetArn": letters, "maxReceiveCount": 2})
    url, queue = make_queue("orders", VisibilityTimeout="360", RedrivePolicy=redrive)
    name = make("stampede-redelivery", "go_stream", [allow(TAKING, queue)])
    client("lambda", access).create_event_source_mapping(
        FunctionName=name, EventSourceArn=queue, BatchSize=1, FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    sqs.send_message(QueueUrl=url, MessageBody="not an order")
    give_up_s = time.monotonic() + 120
    while not sqs.receive_message(QueueUrl=letters_url, WaitTimeSeconds=1).get("Messages"):
        assert time.monotonic() < give_up_s, "no dead letter within 2 minutes"
    lines = client("logs", access).filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    first, second = (json.loads(row["message"]) for row in lines if row["message"].startswith('{"concurrency_limit"'))
    assert [(record["attempt"], record["error_type"]) for record in (first, second)] == [
        (1, "WorkOrderError"),
        (2, "WorkOrderError"),
    ]
    assert 2 <= (second["started_at_ms"] - first["finished_at_ms"]) / 1000 < 120
