"""What the loader does to S3, SQS and CloudWatch Logs is the same at every endpoint: by the command line."""

import hashlib
import itertools
import json
import secrets
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, part, part_count
from loader.dataset import put_objects
from loader.log_events import MOST_EVENTS_IN_A_PAGE, LogEvents
from stampede.cli.command_line import main
from stampede.experiment import DataObject
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.fakes import applied
from tests.localstack.stacks import MAX_RECEIVE_COUNT, Stack, Worker, stack_at

# A part of 16 MiB and a smaller one.
OBJECT_MB = 17
SMALL_BYTES = LEAST_MULTIPART_BYTES - 1
MESSAGES = 95
RESULTS = Path("results")  # of the folder that each test has


@pytest.fixture
def stack(endpoint) -> Stack:
    """New resources at the endpoint."""
    return stack_at(endpoint, f"stampede-{secrets.token_hex(4)}", object_size_mb=OBJECT_MB)


@pytest.fixture
def stampede(stack, tmp_path, monkeypatch, capsys):
    """The command line in this process, whose AWS configuration is the endpoint; gives status, stdout and stderr."""
    for name, value in stack.endpoint.access.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    applied.apply(monkeypatch, tmp_path, stack.outputs)

    def run(verb: str, *arguments: str) -> SimpleNamespace:
        status = main([verb, "--target", "aws", *arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(status=status, out=printed.out, err=" ".join(printed.err.split()))

    return run


@pytest.fixture
def with_data(stack):
    """The stack's object is there, of whatever content."""
    stack.client("s3").put_object(Bucket=stack["bucket_name"], Key=stack["object_key"], Body=b"x")


def content(seed: int) -> str:
    """The digest of what `stampede dataset` puts."""
    size_bytes, digest = OBJECT_MB * MEBIBYTE, hashlib.sha256()
    for index in range(part_count(size_bytes)):
        digest.update(part(seed, index, size_bytes))
    return digest.hexdigest()


def test_the_dataset_goes_in_parts_and_is_put_again_only_where_it_is_another(stack, stampede):
    s3, where = stack.client("s3"), {"Bucket": stack["bucket_name"], "Key": stack["object_key"]}
    first = stampede("dataset")
    assert (first.status, first.out) == (0, f"s3://{where['Bucket']}/{where['Key']}\n")
    stored = s3.get_object(**where)
    assert hashlib.sha256(stored["Body"].read()).hexdigest() == content(seed=1)
    assert stored["ETag"].endswith('-2"')
    assert "no object is missing" in stampede("dataset").err
    assert "uploading" in stampede("dataset", "--seed", "2").err
    assert s3.head_object(**where)["ETag"] != stored["ETag"]


def test_an_upload_that_a_killed_run_left_is_aborted_and_that_of_another_key_is_not(stack, stampede):
    s3, bucket = stack.client("s3"), stack["bucket_name"]
    for key in (stack["object_key"], stack["object_key"] + ".other"):
        upload = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"left")
    assert stampede("dataset").status == 0
    left = [upload["Key"] for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])]
    assert left == [stack["object_key"] + ".other"]


def test_copies_are_made_in_s3_and_are_there_for_the_next_run(stack):
    target = targets.local(stack.outputs | {"experiment": "copy"}, stack.endpoint.access)
    source = DataObject("source", SMALL_BYTES)
    objects = [source, *(DataObject(f"copy/{number}", SMALL_BYTES, copy_of=source.key) for number in range(3))]
    assert put_objects(target, objects) == len(objects)
    assert put_objects(target, objects) == 0
    s3, bucket = stack.client("s3"), stack["bucket_name"]
    heads = [s3.head_object(Bucket=bucket, Key=small.key) for small in objects]
    assert {head["ETag"] for head in heads} == {f'"{hashlib.md5(part(1, 0, SMALL_BYTES)).hexdigest()}"'}


def test_every_message_that_a_flood_confirms_is_in_the_queue_once(stack, stampede, with_data):
    done = stampede("flood", "--messages", str(MESSAGES), "--run", "r", "--format", "json")
    assert (done.status, json.loads(done.out)[0]["sent"]) == (0, MESSAGES), done.err
    sent = {row["message_id"]: row["seq"] for row in RunFolder(RESULTS / "r").rows("sent.jsonl")}
    assert stack.waiting() == (MESSAGES, 0)
    delivered = Worker(stack).work()
    assert sorted(sent.values()) == list(range(MESSAGES))
    assert delivered == dict.fromkeys(sent, 1)


def test_a_dry_run_of_a_flood_sends_nothing(stack, stampede, with_data):
    done = stampede("flood", "--dry-run")
    assert (done.status, set(json.loads(done.out))) == (0, {"run_id", "cell", "seq", "object_bytes"})
    assert stack.waiting() == (0, 0)


def test_a_drain_accounts_for_successes_duplicates_and_dead_letters_and_leaves_the_letters_to_be_read(
    stack, stampede, with_data
):
    failing, twice = {3, 30}, {7}
    assert stampede("flood", "--messages", "40", "--run", "r").status == 0
    delivered = Worker(stack).work(fails=failing, twice=twice)
    done = stampede("drain", "--run", "r", "--format", "json", "--deadline-s", "60")
    assert done.status == 0, done.err
    [account] = json.loads(done.out)
    expected = {"sent": 40, "succeeded": 38, "duplicates": 1, "dead_lettered": 2}
    expected |= {"failed": 0, "unaccounted": 0, "unexpected": 0}
    assert {name: account[name] for name in expected} == expected
    assert sorted(delivered.values()) == [1] * 38 + [MAX_RECEIVE_COUNT] * 2
    letters = list(RunFolder(RESULTS / "r").rows("dead_letters.jsonl"))
    assert {letter["seq"] for letter in letters} == failing
    assert {letter["message_id"] for letter in letters} <= set(delivered)  # the queue for dead letters keeps the ids
    assert (stack.waiting(), stack.waiting("dead_letter_queue_url")) == ((0, 0), (2, 0))


def test_log_events_of_several_pages_and_streams_come_once_each_in_the_order_of_time(stack):
    logs, group, count = stack.client("logs"), stack["log_group_name"], MOST_EVENTS_IN_A_PAGE + 500
    now_ms = int(time.time() * 1000)
    events = [{"timestamp": now_ms - count + index, "message": str(index)} for index in range(count)]
    for stream, own in (("one", events[::2]), ("two", events[1::2])):
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=own)
    collected = LogEvents(logs, group, now_ms - count)
    pages = list(collected.fetch())
    assert [len(page) for page in pages if page] == [MOST_EVENTS_IN_A_PAGE, 500]
    assert [event["message"] for event in itertools.chain(*pages)] == [event["message"] for event in events]
    late = {"timestamp": now_ms - count // 2, "message": "late"}
    logs.put_log_events(logGroupName=group, logStreamName="one", logEvents=[late])
    assert [event["message"] for event in itertools.chain(*collected.fetch())] == ["late"]
