"""The loader's effects on S3, SQS and CloudWatch Logs are the same at every endpoint."""

import hashlib
import itertools
import json
import secrets
import socket
import time
import urllib.parse
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, part, part_count
from loader.log_events import MOST_EVENTS_IN_A_PAGE, LogEvents
from stampede.cli.command_line import main
from stampede.finding import OK, PROBLEM
from stampede.runs.folder import RunFolder
from tests.fakes import applied
from tests.localstack import starting
from tests.localstack.stacks import MAX_RECEIVE_COUNT, log, stack_at, waiting, work

OBJECT_MB = 17  # a part of 16 MiB and a smaller one
SMALL_BYTES = LEAST_MULTIPART_BYTES - 1
RESULTS = Path("results")  # in each test's own folder


@pytest.fixture
def stack(endpoint):
    """A new stack at the endpoint."""
    return stack_at(endpoint, f"stampede-{secrets.token_hex(4)}", object_size_mb=OBJECT_MB)


@pytest.fixture
def stampede(endpoint, stack, tmp_path, monkeypatch, capsys):
    """A function that runs a command in this process, configured for the endpoint, and returns
    status, stdout and stderr."""
    for name, value in endpoint.access.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    applied.apply(monkeypatch, tmp_path, stack.outputs)

    def run(verb: str, *arguments: str) -> SimpleNamespace:
        status = main([verb, "--target", "aws", *arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(status=status, out=printed.out, err=" ".join(printed.err.split()))

    return run


def test_the_dataset_is_uploaded_in_parts_and_again_only_if_it_differs(endpoint, stack, stampede):
    s3, bucket, key = endpoint.client("s3"), stack["bucket_name"], stack["object_key"]
    for name in (key, f"{key}.other"):  # uploads that a killed run left
        upload = s3.create_multipart_upload(Bucket=bucket, Key=name)["UploadId"]
        s3.upload_part(Bucket=bucket, Key=name, UploadId=upload, PartNumber=1, Body=b"left")
    first = stampede("dataset")
    assert (first.status, first.out) == (0, f"s3://{bucket}/{key}\n")
    stored = s3.get_object(Bucket=bucket, Key=key)
    content = hashlib.sha256()
    for index in range(part_count(OBJECT_MB * MEBIBYTE)):
        content.update(part(1, index, OBJECT_MB * MEBIBYTE))
    assert hashlib.sha256(stored["Body"].read()).hexdigest() == content.hexdigest()
    assert stored["ETag"].endswith('-2"')
    uploads = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    assert [upload["Key"] for upload in uploads] == [f"{key}.other"]
    assert "no object is missing" in stampede("dataset").err
    assert "uploading" in stampede("dataset", "--seed", "2").err
    assert s3.head_object(Bucket=bucket, Key=key)["ETag"] != stored["ETag"]


def test_every_message_of_a_flood_is_queued_once_and_a_drain_accounts_for_all_of_them(
    stack, stampede
):
    stack.client("s3").put_object(Bucket=stack["bucket_name"], Key=stack["object_key"], Body=b"x")
    dry = stampede("flood", "--dry-run")
    keys = {"run_id", "cell", "seq", "object_bytes", "warm_up"}
    assert (dry.status, set(json.loads(dry.out))) == (0, keys)
    assert waiting(stack) == (0, 0)
    done = stampede("flood", "--messages", "40", "--run", "r", "--format", "json")
    assert (done.status, json.loads(done.out)[0]["sent"]) == (0, 40), done.err
    sent = {row["message_id"]: row["seq"] for row in RunFolder(RESULTS / "r").rows("sent.jsonl")}
    assert (waiting(stack), sorted(sent.values())) == ((40, 0), list(range(40)))
    failing = {3, 30}
    delivered = work(stack, fails=failing, twice={7})
    attempts = {id_: MAX_RECEIVE_COUNT if seq in failing else 1 for id_, seq in sent.items()}
    assert delivered == attempts
    done = stampede("drain", "--run", "r", "--format", "json", "--deadline-s", "60")
    assert done.status == 0, done.err
    [account] = json.loads(done.out)
    expected = {"sent": 40, "succeeded": 38, "duplicates": 1, "dead_lettered": 2}
    expected |= {"failed": 0, "unaccounted": 0, "unexpected": 0}
    assert account | expected == account
    letters = list(RunFolder(RESULTS / "r").rows("dead_letters.jsonl"))
    assert {letter["seq"] for letter in letters} == failing
    # the dead-letter queue keeps the ids
    assert {letter["message_id"] for letter in letters} <= set(delivered)
    # dead letters stay for others to read
    assert (waiting(stack), waiting(stack, "dead_letter_queue_url")) == ((0, 0), (2, 0))


def test_log_events_of_several_pages_and_streams_come_once_each_and_in_order(stack):
    logs, group, count = stack.client("logs"), stack["log_group_name"], MOST_EVENTS_IN_A_PAGE + 500
    now_ms = int(time.time() * 1000)
    events = [(now_ms - count + index, str(index)) for index in range(count)]
    for stream, own in (("one", events[::2]), ("two", events[1::2])):
        log(stack, stream, own)
    collected = LogEvents(logs, group, now_ms - count)
    pages = list(collected.fetch())
    assert [len(page) for page in pages if page] == [MOST_EVENTS_IN_A_PAGE, 500]
    fetched = [event["message"] for event in itertools.chain(*pages)]
    assert fetched == [text for _, text in events]
    log(stack, "late", [(now_ms - count // 2, "late")])
    assert [event["message"] for event in itertools.chain(*collected.fetch())] == ["late"]


@pytest.mark.skipif(starting.PYTHON is None, reason="tests/unit/planning shows it faster")
def test_the_doctor_reports_the_endpoint_its_account_and_its_services(endpoint, stampede):
    done = stampede("doctor", "express", "--format", "json")
    findings = {finding["check"]: finding for finding in json.loads(done.out)["checks"]}
    text = f"an endpoint at {endpoint.url}, which isn't AWS"
    assert findings["endpoint"]["found"].startswith(text)
    assert endpoint.account_id in findings["credentials"]["found"]
    assert {findings[service]["status"] for service in ("S3", "SQS", "Logs", "IAM")} == {OK}
    # LocalStack's free edition lacks Athena.
    is_localstack = endpoint.name == "localstack"
    assert (findings["Athena"]["status"] == PROBLEM) == is_localstack == (done.status == 1)


def test_an_emulator_listens_on_loopback_alone(endpoint):
    with socket.socket(type=socket.SOCK_DGRAM) as any_route:
        any_route.connect(("192.0.2.1", 9))  # sends nothing
        address = any_route.getsockname()[0]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, urllib.parse.urlsplit(endpoint.url).port), 5)
