"""Single commands against the applied stack, flood, drain and query, and their failures."""

import json
import shutil
import signal
import subprocess
import time
from collections import Counter

import pytest

from experiments.objects import MEBIBYTE
from stampede.cli.verbs.query import QUERIES
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.emulator.applied_stack import OBJECT_MB

NO_ORDER = "no work order at all"


@pytest.fixture(scope="module", autouse=True)
def applied(local_stack):
    """The shared stack, but a message is dead-lettered after its second failure: that takes 2 + 4 s
    and not a minute."""
    if targets.local_terraform(local_stack.access).outputs() != local_stack.target.outputs:
        local_stack.apply()
    sqs, queue = local_stack.target.client("sqs"), {"QueueUrl": local_stack.target["queue_url"]}
    before = sqs.get_queue_attributes(**queue, AttributeNames=["RedrivePolicy"])["Attributes"]
    policy = json.loads(before["RedrivePolicy"]) | {"maxReceiveCount": 2}
    sqs.set_queue_attributes(**queue, Attributes={"RedrivePolicy": json.dumps(policy)})
    yield
    sqs.set_queue_attributes(**queue, Attributes=before)


@pytest.fixture
def rows(local_stack):
    """A function that runs a verb and returns the rows that it prints."""

    def run(verb, *arguments, status=0):
        done = local_stack.stampede(verb, "--format", "json", *arguments)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def send(local_stack):
    """A function that sends a message to the stack's queue."""
    sqs, url = local_stack.target.client("sqs"), local_stack.target["queue_url"]
    return lambda body: sqs.send_message(QueueUrl=url, MessageBody=body)


def test_every_message_of_a_flood_is_accounted_for_whatever_else_is_in_the_queue(
    local_stack, rows, send
):
    send(NO_ORDER)
    [outcome] = rows("flood", "--target", "local")
    folder = RunFolder(local_stack.work / "results" / outcome["run_id"])
    order = {"run_id": outcome["run_id"], "cell": outcome["cell"], "seq": 1}
    send(json.dumps(order | {"object_bytes": OBJECT_MB * MEBIBYTE}))
    # the drain waits only for messages of the flood
    local_stack.wait_until_no_message_is_left()
    [account] = rows("drain", "--run", folder.name)
    assert account["cell"] == "memory_size=2048,concurrency_value=3"
    assert account["sent"] == account["succeeded"] == 30
    assert (account["duplicates"], account["unaccounted"], account["unexpected"]) == (1, 0, 0)
    records = list(folder.rows("records.jsonl"))
    assert {record["bytes"] for record in records} == {OBJECT_MB * MEBIBYTE}
    assert len({record["sandbox_id"] for record in records}) <= 3
    assert NO_ORDER not in (folder.path / "records.jsonl").read_text()
    refuse_other_figures(rows, folder, local_stack.work / "edited.cwli")
    refuse_a_change_by_a_later_stack(local_stack, folder)


def refuse_other_figures(rows, folder, edited):
    """Each saved query has rows, and an edited one has the same figures."""
    [summary] = rows("query", "summary", "--run", folder.name)
    # with the duplicate
    assert (summary["memory_size_mb"], summary["concurrency"], summary["count"]) == (2048, 3, 31)
    for name in ("speed", "overlap", "cold_starts", "reports"):
        assert rows("query", name, "--run", folder.name)
    published = (QUERIES / "download" / "published.cwli").read_text().replace("= 1024", "= 2048")
    edited.write_text(published.replace("publishedConcurrency = 1 ", "publishedConcurrency = 3 "))
    [row] = rows("query", str(edited), "--run", str(folder.path))
    # a parsed figure is text as it was logged, perhaps with zeros at its end
    assert float(row["max_s"]) == pytest.approx(summary["max_s"])


def refuse_a_change_by_a_later_stack(local_stack, folder):
    """A drain changes no file of a run that is older than the stack."""
    older = RunFolder(shutil.copytree(folder.path, folder.path.with_name("older")))
    older.rewrite("sent.jsonl", [row | {"sent_at_ms": 1} for row in older.rows("sent.jsonl")])
    before = {path: path.read_bytes() for path in older.path.iterdir() if path.is_file()}
    done = local_stack.stampede("drain", "--run", "older", "--format", "json")
    assert [row["sent"] for row in json.loads(done.stdout)] == [30]
    why = "the applied stack was created after its last message"
    assert f"the stack of run older is gone ({why})" in done.stderr
    assert before == {path: path.read_bytes() for path in older.path.iterdir()}


def test_without_its_object_a_flood_ends_in_dead_letters_and_the_next_flood_sends_nothing(
    local_stack, rows
):
    target = local_stack.target
    functions, s3 = target.client("lambda"), target.client("s3")
    triggers = functions.list_event_source_mappings(FunctionName=target["function_name"])
    [trigger] = triggers["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=trigger["UUID"], Enabled=False)
    [outcome] = rows("flood", "--messages", "4")
    s3.delete_object(Bucket=target["bucket_name"], Key=target["object_key"])
    functions.update_event_source_mapping(UUID=trigger["UUID"], Enabled=True)
    # The deadline is less than two visibility timeouts.
    [account] = rows("drain", "--run", outcome["run_id"], "--deadline-s", "120", status=1)
    assert account["sent"] == account["dead_lettered"] == 4
    assert account["succeeded"] == account["failed"] == account["unaccounted"] == 0
    folder = RunFolder(local_stack.work / "results" / outcome["run_id"])
    assert {letter["seq"] for letter in folder.rows("dead_letters.jsonl")} == {0, 1, 2, 3}
    assert Counter(record["attempt"] for record in folder.rows("records.jsonl")) == {1: 4, 2: 4}
    errors = {row["type"] for row in rows("query", "errors", "--run", folder.name)}
    assert errors <= {"NoSuchKey", "AccessDenied"}
    assert rows("query", "summary", "--run", folder.name) == []
    refused = local_stack.stampede("flood")
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("; `stampede dataset` uploads it")
    assert local_stack.stampede("dataset").returncode == 0


def has_a_part(s3, bucket):
    uploads = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return any(
        s3.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts")
        for upload in uploads
    )


def test_an_interrupted_upload_leaves_no_parts(local_stack):
    process = local_stack.started(
        "dataset", "--size-mb", "1500", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    s3, bucket = local_stack.target.client("s3"), local_stack.target["bucket_name"]
    deadline = time.monotonic() + 60
    while not has_a_part(s3, bucket):  # with a part, the client knows of the upload, too
        assert time.monotonic() < deadline, "the upload hasn't begun"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in errors) == (130, False), errors
    assert not s3.list_multipart_uploads(Bucket=bucket).get("Uploads")
