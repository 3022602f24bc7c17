"""The Go program as the embedded AWS's Lambda runs it (`provided.al2023`), against its S3."""

import base64
import functools
import io
import json
import platform
import random
import zipfile
import zlib

import pytest

from stampede.emulator import ministack
from tests.emulator.test_download_on_ministack import (
    assert_redelivered_soon,
    client,
    make_role,
    records_of_a_message_that_fails,
)
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, order, sqs_record
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

# Three ranges of 16 MiB, the last one short.
BODY = random.Random(2).randbytes(34 * 2**20)
ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """A running emulator with the object in its bucket."""
    state_dir = tmp_path_factory.mktemp("ministack-go")
    running = ministack.start(state_dir, follow_parent=True)
    try:
        s3 = client("s3", running.access)
        s3.create_bucket(Bucket=ENVIRONMENT["BUCKET_NAME"])
        s3.put_object(Bucket=ENVIRONMENT["BUCKET_NAME"], Key=ENVIRONMENT["FILE_NAME"], Body=BODY)
        yield running.access
    finally:
        ministack.stop(state_dir)


@pytest.fixture(scope="module")
def role(access):
    """The ARN of a role that may get objects of the bucket and do nothing else."""
    return make_role(client("iam", access), "stampede-transfer")


@pytest.mark.parametrize(("method", "sink"), [("go_ranges", "tmp"), ("go_stream", "discard")])
def test_the_emulators_lambda_runs_the_program_with_the_right_to_get_the_object_only(
    access, role, transfer_program, method, sink
):
    lambda_client = client("lambda", access)
    variant = {"METHOD": method, "SINK": sink, "RANGE_PARALLEL": "2", "RANGE_PART_MB": "16"}
    lambda_client.create_function(
        FunctionName=f"stampede-{method}",
        Runtime="provided.al2023",
        Handler="bootstrap",
        Architectures=[ARCHITECTURE],
        Role=role,
        Code={"ZipFile": zipped(transfer_program)},
        Timeout=30,
        MemorySize=1024,
        Environment={"Variables": {k: v for k, v in ENVIRONMENT.items() if not k.startswith("AWS_")} | variant},
    )
    checksum = f"crc32:{zlib.crc32(BODY):08x}"
    good, bad = sqs_record(order(object_bytes=len(BODY), checksum=checksum), attempt=2), sqs_record("hello")
    answer = lambda_client.invoke(
        FunctionName=f"stampede-{method}", LogType="Tail", Payload=json.dumps({"Records": [good, bad]})
    )
    log = base64.b64decode(answer["LogResult"]).decode()
    assert "FunctionError" not in answer, log
    assert json.load(answer["Payload"]) == {"batchItemFailures": [{"itemIdentifier": bad["messageId"]}]}
    records = [json.loads(line) for line in log.splitlines() if line.startswith('{"concurrency_limit": ')]
    assert [(record["status"], record["bytes"], record["method"], record["sink"]) for record in records] == [
        ("ok", len(BODY), method, sink),
        ("error", 0, method, sink),
    ], log
    assert records[0]["requests"] == {"go_ranges": 3, "go_stream": 1}[method]


def test_a_failed_message_comes_back_after_seconds_until_it_is_a_dead_letter(access, transfer_program):
    records = records_of_a_message_that_fails(
        access,
        name="stampede-go-redelivery",
        body="not an order",
        runtime={
            "Runtime": "provided.al2023",
            "Handler": "bootstrap",
            "Architectures": [ARCHITECTURE],
            "Code": {"ZipFile": zipped(transfer_program)},
        },
        variables={"METHOD": "go_stream"},
    )
    assert_redelivered_soon(records, "WorkOrderError")


@functools.cache
def zipped(program):
    """Return a zip as Terraform makes it, the program, executable, at its root; but packed loosely, which is faster."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(program, "bootstrap")
    return made.getvalue()
