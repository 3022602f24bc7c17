"""The user's gestures by hand against the applied stack: flood, drain, query; and what goes wrong with them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import boto3
import pytest

from experiments.objects import MEBIBYTE
from loader.dataset import put_objects
from stampede.cli.verbs.query import QUERIES
from stampede.emulator import ministack
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.emulator.applied_stack import OBJECT_MB


@pytest.fixture(scope="module", autouse=True)
def applied(local_stack):
    """A sweep of other tests leaves other settings behind; from then on Terraform needn't be asked each time."""
    if targets.local_terraform(local_stack.access).outputs() != local_stack.target.outputs:
        local_stack.apply()
    with pytest.MonkeyPatch.context() as patch:
        terraform = SimpleNamespace(outputs=lambda: local_stack.target.outputs)
        patch.setattr(targets, "local_terraform", lambda access: terraform)
        yield


@pytest.fixture
def rows(local_stack):
    """A function that runs a verb, and gives the rows that it prints."""

    def run(verb, *arguments, status=0):
        done = local_stack.stampede(verb, "--format", "json", *arguments)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def flooded(rows):
    """A function that floods; gives the outcome and the run's folder."""

    def flood(stack, *arguments):
        [outcome] = rows("flood", "--target", "local", *arguments)
        return outcome, RunFolder(stack.work / "results" / outcome["run_id"])

    return flood


@pytest.fixture(scope="module")
def finished_run(local_stack):
    """The folder of one flood of the default size, drained."""
    for verb in ("flood", "drain"):
        assert local_stack.stampede(verb).returncode == 0
    return RunFolder.find(local_stack.work / "results", None)


def test_every_message_of_a_flood_is_sent_recorded_and_accounted_for(finished_run):
    [account] = finished_run.read_json("accounting.json")
    assert account["cell"] == "memory_size=2048,concurrency_value=3"
    assert account["sent"] == account["succeeded"] == 30
    assert account["duplicates"] == account["unaccounted"] == account["unexpected"] == 0
    records = list(finished_run.rows("records.jsonl"))
    assert {record["bytes"] for record in records} == {OBJECT_MB * MEBIBYTE}
    assert len({record["sandbox_id"] for record in records}) <= 3
    assert all(isinstance(record["cold_start"], int) for record in records)


def test_a_drain_of_a_run_from_before_the_stack_was_applied_changes_no_file_of_it(local_stack, finished_run):
    older = finished_run.path.with_name("older")
    shutil.copytree(finished_run.path, older)
    folder = RunFolder(older)
    folder.rewrite("sent.jsonl", [row | {"sent_at_ms": 1} for row in folder.rows("sent.jsonl")])
    before = {path: path.read_bytes() for path in older.iterdir() if path.is_file()}
    done = local_stack.stampede("drain", "--run", "older", "--format", "json")
    shutil.move(older, finished_run.path.parent.with_name("moved"))  # no longer the newest
    assert [row["sent"] for row in json.loads(done.stdout)] == [30]
    assert "the stack of run older is gone (the applied stack was created after its last message)" in done.stderr
    assert before == {older / path.name: path.read_bytes() for path in older.parent.with_name("moved").iterdir()}


def test_the_saved_queries_have_their_rows_for_a_finished_run(rows, finished_run, local_stack):
    [summary] = rows("query", "summary", "--run", finished_run.name)
    assert list(summary) == ["memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"]
    assert (summary["memory_size_mb"], summary["concurrency"], summary["count"]) == (2048, 3, 30)
    assert 0 < summary["min_s"] <= summary["p25_s"] <= summary["p75_s"] <= summary["max_s"]
    for name in ("speed", "overlap", "cold_starts", "reports"):
        assert rows("query", name, "--run", finished_run.name)
    assert rows("query", "errors", "--run", finished_run.name) == []
    published = (QUERIES / "download" / "published.cwli").read_text().replace("= 1024", "= 2048")
    edited = local_stack.work / "edited.cwli"
    edited.write_text(published.replace("publishedConcurrency = 1 ", "publishedConcurrency = 3 "))
    [row] = rows("query", str(edited), "--run", str(finished_run.path))
    assert row["count"] == 30
    # min and max of parsed text are what was logged: text where that ends in zeros, which no number prints.
    parsed = {name: float(row[name]) for name in ("min_s", "avg_s", "max_s")}
    assert parsed == pytest.approx({name: summary[name] for name in parsed})


def test_the_same_message_twice_is_one_success_and_one_duplicate(local_stack, flooded, rows):
    outcome, folder = flooded(local_stack, "--messages", "3")
    body = {"run_id": outcome["run_id"], "cell": outcome["cell"], "seq": 1, "object_bytes": OBJECT_MB * MEBIBYTE}
    sqs = local_stack.target.client("sqs")
    sqs.send_message(QueueUrl=local_stack.target["queue_url"], MessageBody=json.dumps(body))
    local_stack.wait_until_no_message_is_left()  # the drain waits only for what was sent by the flood
    [account] = rows("drain", "--run", folder.name)
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
    """Where the test object is; it is put back after a test has taken it away or replaced it."""
    yield {"Bucket": local_stack.target["bucket_name"], "Key": local_stack.target["object_key"]}
    put_objects(local_stack.target, local_stack.target.experiment.objects(local_stack.target))


@pytest.mark.parametrize(
    ("change_object", "error_types"),
    [
        (lambda s3, where: s3.delete_object(**where), {"NoSuchKey", "AccessDenied"}),
        (lambda s3, where: s3.put_object(**where, Body=b"x" * 1000), {"SizeMismatch"}),
    ],
    ids=["gone", "shorter than announced"],
)
def test_a_bad_object_gives_an_error_record_a_delivery_and_dead_letters_before_the_queues_timeout_is_over_twice(
    local_stack, flooded, rows, two_deliveries, kept_object, change_object, error_types
):
    functions = local_stack.target.client("lambda")
    [trigger] = functions.list_event_source_mappings(FunctionName=local_stack.target["function_name"])[
        "EventSourceMappings"
    ]
    mapping = trigger["UUID"]
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        _, folder = flooded(local_stack, "--messages", "4")
        change_object(local_stack.target.client("s3"), kept_object)
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
    [account] = rows("drain", "--run", folder.name, "--deadline-s", "120", status=1)
    assert account["sent"] == account["dead_lettered"] == 4
    assert account["succeeded"] == account["failed"] == account["unaccounted"] == 0
    assert {letter["seq"] for letter in folder.rows("dead_letters.jsonl")} == {0, 1, 2, 3}
    assert Counter(record["attempt"] for record in folder.rows("records.jsonl")) == {1: 4, 2: 4}
    assert {row["type"] for row in rows("query", "errors", "--run", folder.name)} <= error_types
    assert rows("query", "summary", "--run", folder.name) == []


def test_a_flood_without_an_object_stops_before_it_sends_anything(local_stack, kept_object):
    local_stack.target.client("s3").delete_object(**kept_object)
    done = local_stack.stampede("flood")
    assert (done.returncode, done.stderr.strip().endswith("; `stampede dataset` uploads it")) == (2, True)


def test_a_body_that_is_no_work_order_disturbs_no_account(local_stack, flooded, two_deliveries):
    sqs = local_stack.target.client("sqs")
    sqs.send_message(QueueUrl=local_stack.target["queue_url"], MessageBody="no work order at all")
    _, folder = flooded(local_stack, "--messages", "3")
    local_stack.wait_until_no_message_is_left()
    done = local_stack.stampede("drain", "--run", folder.name, "--format", "json")
    [account] = json.loads(done.stdout)
    assert (done.returncode, account["sent"], account["succeeded"]) == (0, 3, 3)
    assert "no work order at all" not in (folder.path / "records.jsonl").read_text()


# The command line on a queue that nobody applied.
FLOOD_BY_CALLS = """
import json, sys
from pathlib import Path
from stampede.cli.command_line import main
from stampede.emulator import ministack, stack
from stampede.stacks import target as targets
outputs = json.loads(Path("outputs.json").read_text())
targets.resolve = lambda _: targets.local(outputs, ministack.running(stack.STATE_DIR).access)
sys.exit(main(["flood", "--messages", "500000", "--run", "killed"]))
"""


def test_an_emulator_killed_during_a_flood_ends_it_with_one_line_and_the_true_count(tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPEDE_STATE_DIR", str(tmp_path / "state"))
    emulator = ministack.start(tmp_path / "state", follow_parent=True)
    try:
        session = boto3.Session(**emulator.access.key, region_name="us-east-1")
        s3, sqs = (session.client(service, endpoint_url=emulator.endpoint_url) for service in ("s3", "sqs"))
        s3.create_bucket(Bucket="data")
        s3.put_object(Bucket="data", Key="k", Body=b"x")
        outputs = {"experiment": "download", "region": "us-east-1", "account_id": "000000000000", "queue_name": "q"}
        outputs |= {"bucket_name": "data", "object_key": "k", "object_size_mb": 1, "function_name": "f"}
        outputs |= {
            "memory_size": 1024,
            "concurrency_value": 1,
            "queue_url": sqs.create_queue(QueueName="q")["QueueUrl"],
        }
        (tmp_path / "outputs.json").write_text(json.dumps(outputs))
        command = [sys.executable, "-c", FLOOD_BY_CALLS]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        sent = tmp_path / "results" / "killed" / "sent.jsonl"
        deadline = time.monotonic() + 60
        while not sent.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(emulator.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    finally:
        ministack.stop(tmp_path / "state")
    assert (process.returncode, "Traceback" in errors) == (1, False)
    assert "messages not accepted" in errors.strip().splitlines()[-1]
    assert emulator.endpoint_url in errors
    confirmed = sum(1 for _ in RunFolder(tmp_path / "results" / "killed").rows("sent.jsonl"))
    assert f"sent {confirmed} messages, {500000 - confirmed} failed, in " in errors


def has_a_part(s3, bucket):
    uploads = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return any(
        s3.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts") for upload in uploads
    )


def test_an_interrupted_upload_leaves_no_parts_behind(local_stack, kept_object):
    process = local_stack.started("dataset", "--size-mb", "1500", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    s3, deadline = local_stack.target.client("s3"), time.monotonic() + 60
    while not has_a_part(s3, kept_object["Bucket"]):  # from then on the client knows of the upload, too
        assert time.monotonic() < deadline, "the upload had not begun"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in errors) == (130, False), errors
    assert not s3.list_multipart_uploads(Bucket=kept_object["Bucket"]).get("Uploads")
