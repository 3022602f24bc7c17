"""The user's gestures by hand against the applied stack: flood, drain, query; and what goes wrong with them."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter

import boto3
import pytest

from experiments.objects import MEBIBYTE
from loader.dataset import put_objects
from stampede.cli.verbs.query import QUERIES
from stampede.emulator import ministack
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.emulator.applied_stack import OBJECT_MB, STAMPEDE


def rows(done, status=0):
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def flood(stack, *arguments):
    flags = ("--target", "local", "--outputs", str(stack.outputs_file), "--format", "json")
    return stack.stampede("flood", *flags, *arguments)


def drain(stack, run_id, *arguments):
    flags = ("--target", "local", "--outputs", str(stack.outputs_file), "--format", "json")
    return stack.stampede("drain", *flags, "--run", run_id, *arguments)


def query(stack, run_id, name, *arguments):
    return rows(stack.stampede("query", name, "--run", run_id, "--format", "json", *arguments))


def flooded(stack, *arguments):
    [outcome] = rows(flood(stack, *arguments))
    return outcome


@pytest.fixture(scope="module", autouse=True)
def as_the_outputs_file_says(local_stack):
    """A sweep of other tests leaves other settings behind."""
    if targets.local_terraform(local_stack.access).outputs() != local_stack.target.outputs:
        local_stack.apply()


@pytest.fixture(scope="module")
def finished_run(local_stack):
    """One flood of the default size, drained."""
    outcome = flooded(local_stack)
    [account] = rows(drain(local_stack, outcome["run_id"]))
    return outcome, account


def test_a_flood_sends_ten_messages_for_each_unit_of_concurrency(finished_run):
    outcome, _ = finished_run
    assert (outcome["sent"], outcome["failed"]) == (30, 0)
    assert outcome["cell"] == "memory_size=2048,concurrency_value=3"


def test_every_message_sent_is_accounted_for(finished_run):
    _, account = finished_run
    assert account["sent"] == account["succeeded"] == 30
    assert account["duplicates"] == account["unaccounted"] == account["unexpected"] == 0


def test_a_drain_of_a_run_from_before_the_stack_was_applied_changes_no_file_of_it(local_stack, finished_run):
    outcome, account = finished_run
    older = local_stack.work / "results" / "older"
    shutil.copytree(older.with_name(outcome["run_id"]), older)
    folder = RunFolder(older)
    folder.rewrite("sent.jsonl", [row | {"sent_at_ms": 1} for row in folder.rows("sent.jsonl")])
    before = {path: path.read_bytes() for path in older.iterdir() if path.is_file()}
    done = drain(local_stack, "older")
    assert rows(done) == [account]
    assert "the stack of run older is gone (the applied stack was created after its last message)" in done.stderr
    assert {path: path.read_bytes() for path in older.iterdir() if path.is_file()} == before


def test_the_summary_counts_the_messages_sent_in_the_published_columns(local_stack, finished_run):
    [row] = query(local_stack, finished_run[0]["run_id"], "summary")
    assert list(row) == ["memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"]
    assert (row["memory_size_mb"], row["concurrency"], row["count"]) == (2048, 3, 30)
    assert 0 < row["min_s"] <= row["p25_s"] <= row["p75_s"] <= row["max_s"]


def test_the_published_query_text_parses_the_records(local_stack, finished_run):
    text = (QUERIES / "download" / "published.cwli").read_text()
    edited = local_stack.work / "edited.cwli"
    replaced = text.replace("publishedConcurrency = 1 ", "publishedConcurrency = 3 ").replace("= 1024", "= 2048")
    edited.write_text(replaced)
    [row] = query(local_stack, finished_run[0]["run_id"], str(edited))
    [summary] = query(local_stack, finished_run[0]["run_id"], "summary")
    assert row["count"] == 30
    # min and max of parsed text are what was logged: text where that ends in zeros, which no number prints.
    assert {name: float(row[name]) for name in ("min_s", "avg_s", "max_s")} == pytest.approx(
        {name: summary[name] for name in ("min_s", "avg_s", "max_s")}
    )


@pytest.mark.parametrize("name", ["speed", "overlap", "cold_starts", "reports"])
def test_every_saved_query_has_rows_for_a_finished_run(local_stack, finished_run, name):
    assert query(local_stack, finished_run[0]["run_id"], name)


def test_a_run_without_errors_has_no_rows_of_errors(local_stack, finished_run):
    assert query(local_stack, finished_run[0]["run_id"], "errors") == []


def test_records_carry_the_bytes_and_the_three_sandboxes_that_ran_at_once(local_stack, finished_run):
    folder = RunFolder(local_stack.work / "results" / finished_run[0]["run_id"])
    records = list(folder.rows("records.jsonl"))
    assert {record["bytes"] for record in records} == {OBJECT_MB * MEBIBYTE}
    assert len({record["sandbox_id"] for record in records}) <= 3
    assert all(isinstance(record["cold_start"], int) for record in records)


def test_the_same_message_twice_is_one_success_and_one_duplicate(local_stack):
    outcome = flooded(local_stack, "--messages", "3")
    body = {"run_id": outcome["run_id"], "cell": outcome["cell"], "seq": 1, "object_bytes": OBJECT_MB * MEBIBYTE}
    sqs = local_stack.target.client("sqs")
    sqs.send_message(QueueUrl=local_stack.target["queue_url"], MessageBody=json.dumps(body))
    local_stack.wait_until_no_message_is_left()  # the drain waits only for what was sent by the flood
    [account] = rows(drain(local_stack, outcome["run_id"]))
    assert (account["sent"], account["succeeded"], account["duplicates"]) == (3, 3, 1)


@pytest.fixture
def two_deliveries(local_stack):
    """A message is dead-lettered after its second failure: 2 + 4 s instead of the minute that five take."""
    sqs, url = local_stack.target.client("sqs"), local_stack.target["queue_url"]
    before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    sqs.set_queue_attributes(
        QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(json.loads(before) | {"maxReceiveCount": 2})}
    )
    yield
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": before})


@pytest.fixture
def kept_object(local_stack):
    """The test object, put back after a test has taken it away or replaced it."""
    yield
    put_objects(local_stack.target, local_stack.target.experiment.objects(local_stack.target))


def flooded_before_the_functions_run(stack, change_object, *arguments):
    """Flood with the trigger off, change the object that the messages announce, and let the functions go."""
    functions = stack.target.client("lambda")
    [trigger] = functions.list_event_source_mappings(FunctionName=stack.target["function_name"])["EventSourceMappings"]
    mapping = trigger["UUID"]
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        outcome = flooded(stack, *arguments)
        change_object(
            stack.target.client("s3"), {"Bucket": stack.target["bucket_name"], "Key": stack.target["object_key"]}
        )
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
    return outcome


@pytest.mark.parametrize(
    ("change_object", "error_types"),
    [
        (lambda s3, where: s3.delete_object(**where), {"NoSuchKey", "AccessDenied"}),
        (lambda s3, where: s3.put_object(**where, Body=b"x" * 1000), {"SizeMismatch"}),
    ],
    ids=["gone", "shorter than announced"],
)
def test_a_bad_object_gives_an_error_record_a_delivery_and_dead_letters_before_the_queues_timeout_is_over_twice(
    local_stack, two_deliveries, kept_object, change_object, error_types
):
    outcome = flooded_before_the_functions_run(local_stack, change_object, "--messages", "4")
    [account] = rows(drain(local_stack, outcome["run_id"], "--deadline-s", "120"), status=1)
    assert account["sent"] == account["dead_lettered"] == 4
    assert account["succeeded"] == account["failed"] == account["unaccounted"] == 0
    folder = RunFolder(local_stack.work / "results" / outcome["run_id"])
    assert {letter["seq"] for letter in folder.rows("dead_letters.jsonl")} == {0, 1, 2, 3}
    assert Counter(record["attempt"] for record in folder.rows("records.jsonl")) == {1: 4, 2: 4}
    errors = query(local_stack, outcome["run_id"], "errors")
    assert {row["type"] for row in errors} <= error_types
    assert query(local_stack, outcome["run_id"], "summary") == []


def test_a_flood_without_an_object_stops_before_it_sends_anything(local_stack, kept_object):
    local_stack.target.client("s3").delete_object(
        Bucket=local_stack.target["bucket_name"], Key=local_stack.target["object_key"]
    )
    done = flood(local_stack)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].endswith("; `stampede dataset` uploads it")


def test_a_body_that_is_no_work_order_becomes_an_error_record_and_a_dead_letter(local_stack, two_deliveries):
    sqs = local_stack.target.client("sqs")
    sqs.send_message(QueueUrl=local_stack.target["queue_url"], MessageBody="no work order at all")
    outcome = flooded(local_stack, "--messages", "3")
    local_stack.wait_until_no_message_is_left()
    done = drain(local_stack, outcome["run_id"])
    [account] = rows(done)
    assert (account["sent"], account["succeeded"]) == (3, 3)
    assert "error records of this time belong to no message of a run" in done.stderr


def test_an_emulator_killed_during_a_flood_ends_it_with_one_line_and_the_true_count(tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPEDE_STATE_DIR", str(tmp_path / "state"))
    emulator = ministack.start(tmp_path / "state", follow_parent=True)
    try:
        session = boto3.Session(**emulator.access.key, region_name="us-east-1")
        session.client("s3", endpoint_url=emulator.endpoint_url).create_bucket(Bucket="data")
        session.client("s3", endpoint_url=emulator.endpoint_url).put_object(Bucket="data", Key="k", Body=b"x")
        sqs = session.client("sqs", endpoint_url=emulator.endpoint_url)
        outputs = {
            "experiment": "download",
            "region": "us-east-1",
            "account_id": "000000000000",
            "bucket_name": "data",
            "object_key": "k",
            "object_size_mb": 1,
            "queue_name": "q",
            "queue_url": sqs.create_queue(QueueName="q")["QueueUrl"],
            "function_name": "f",
            "memory_size": 1024,
            "concurrency_value": 1,
        }
        (tmp_path / "o.json").write_text(json.dumps({name: {"value": value} for name, value in outputs.items()}))
        flags = ("--target", "local", "--outputs", "o.json", "--messages", "500000", "--run", "killed")
        process = subprocess.Popen([*STAMPEDE, "flood", *flags], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        sent = tmp_path / "results" / "killed" / "sent.jsonl"
        deadline = time.monotonic() + 60
        while not sent.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(emulator.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    finally:
        ministack.stop(tmp_path / "state")
    assert process.returncode == 1
    assert "Traceback" not in errors
    assert "messages were not accepted" in errors.strip().splitlines()[-1]
    assert emulator.endpoint_url in errors
    confirmed = sum(1 for _ in RunFolder(tmp_path / "results" / "killed").rows("sent.jsonl"))
    assert f"sent {confirmed} messages, {500000 - confirmed} failed, in " in errors


def has_a_part(s3, bucket):
    uploads = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return any(
        s3.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts") for upload in uploads
    )


def test_an_interrupted_upload_leaves_no_parts_behind(local_stack, kept_object):
    flags = ("--target", "local", "--outputs", str(local_stack.outputs_file), "--size-mb", "1500")
    process = local_stack.started("dataset", *flags, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    s3, bucket = local_stack.target.client("s3"), local_stack.target["bucket_name"]
    deadline = time.monotonic() + 60
    while not has_a_part(s3, bucket):  # from then on the client knows of the upload, too
        assert time.monotonic() < deadline, "the upload had not begun"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not s3.list_multipart_uploads(Bucket=bucket).get("Uploads")
