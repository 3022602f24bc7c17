"""Sweeps of a user's own object in the embedded AWS: a run insists on the object's first state, and
leaves the bucket unchanged."""

import json
import os
import subprocess

import pytest

from stampede.emulator import ministack, stack
from stampede.runs.folder import RunFolder
from stampede.stacks.terraform import Terraform
from tests.emulator.applied_stack import finding
from tests.emulator.embedded_aws import begin, client, run, settings
from tests.running_provider import running_provider

BUCKET, KEY, BODY = "my-bucket", "models/v3 (final).bin", os.urandom(3_000_000)
URL = f"s3://{BUCKET}/{KEY}"
SWEEP = [
    "sweep",
    "download",
    *settings("memory_size=1024", "concurrency_value=1,2", "timeout_s=20", "method=go_stream"),
]
# Settings of a bucket that a stack could change, by the operation that reads them.
SETTINGS = ("policy", "tagging", "notification_configuration", "versioning", "encryption")
SETTINGS += ("lifecycle_configuration", "ownership_controls", "acl", "logging")


@pytest.fixture
def access(tmp_path):
    """Access to an embedded AWS that the user started, with the user's bucket. A running provider
    saves Terraform most of its time."""
    run(tmp_path, "emulator", "start")
    try:
        access = ministack.running(tmp_path / "state").access
        infra, environment = stack.lay_out(tmp_path / "state/local"), stack.environment(access)
        Terraform(infra, environment, tmp_path / "terraform.log").init()
        s3 = client("s3", access)
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": [{"Key": "owner", "Value": "me"}]})
        s3.put_object(Bucket=BUCKET, Key=KEY, Body=BODY)
        with running_provider(infra, environment) as provider, finding(provider):
            yield access
    finally:
        ministack.stop(tmp_path / "state")


def everything(s3):
    """The bucket's settings and the versions of its objects."""
    seen = {}
    for name in SETTINGS:
        try:
            read = getattr(s3, f"get_bucket_{name}")
            seen[name] = read(Bucket=BUCKET) | {"ResponseMetadata": None}
        except s3.exceptions.ClientError as error:
            seen[name] = error.response["Error"]["Code"]
    versions = s3.list_object_versions(Bucket=BUCKET)
    return seen, versions["Versions"], versions.get("DeleteMarkers")


def test_a_sweep_insists_on_the_etag_reports_it_and_leaves_the_object_unchanged(access, tmp_path):
    s3 = client("s3", access)
    before, etag = everything(s3), s3.head_object(Bucket=BUCKET, Key=KEY)["ETag"]
    refused_beside_another_region(access, tmp_path)
    asked = [*settings(f"object={URL}", "concurrency_value=1"), "--format", "json"]
    doctor = json.loads(run(tmp_path, "doctor", "download", *asked)[0])
    checks = {row["check"]: row for row in doctor["checks"]}
    assert checks["object"]["status"] == "ok" and "2.861 MiB, ETag " in checks["object"]["found"]

    # --keep: the resumed sweep needn't wait for its queues.
    command = [*SWEEP, *settings(f"object={URL}"), "--keep"]
    with begin(tmp_path, *command, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if line.startswith("run "):
                folder = RunFolder(tmp_path / "results" / line.split()[1].rstrip(":"))
            if line.startswith("cell 2 of 2"):  # it is applied now
                break
        assert everything(s3) == before
        s3.put_object(Bucket=BUCKET, Key=KEY, Body=os.urandom(len(BODY)))
        said = process.stderr.read()
    assert "the sweep ends with" in said, said
    first, second = folder.read_json("accounting.json")
    assert first["sent"] == first["succeeded"] > 0 == second["succeeded"]
    records = [row for row in folder.rows("records.jsonl") if row["cell"] == second["cell"]]
    assert {row["error_type"] for row in records} == {"ObjectChanged"}

    resume = [*SWEEP[:2], "--resume", folder.run_id]
    assert "put that one back" in run(tmp_path, *resume, status=2)[1]
    replaced = s3.list_object_versions(Bucket=BUCKET)["Versions"][0]["VersionId"]
    s3.delete_object(Bucket=BUCKET, Key=KEY, VersionId=replaced)
    run(tmp_path, *resume)
    assert [account["succeeded"] for account in folder.read_json("accounting.json")] == [20, 10]
    assert folder.read_json("run.json")["object"] == {"url": URL, "bytes": len(BODY), "etag": etag}
    page = (folder.path / "report.html").read_text()
    assert URL in page and etag.strip('"') in page
    assert everything(s3) == before
    assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["far", BUCKET]
    assert client("sqs", access).list_queues().get("QueueUrls", []) == [], "the stack stays"


def refused_beside_another_region(access, work):
    """A sweep refuses an object in another region, and says where it is and what it would cost."""
    elsewhere, where = client("s3", access, "eu-west-1"), {"LocationConstraint": "eu-west-1"}
    elsewhere.create_bucket(Bucket="far", CreateBucketConfiguration=where)
    elsewhere.put_object(Bucket="far", Key="k", Body=b"x" * 2**20)
    far = settings("object=s3://far/k")
    [line] = run(work, *SWEEP, *far, status=2)[1].splitlines()
    assert "is in eu-west-1" in line and "USD for the 30 MiB of this plan; " in line
    run(work, *SWEEP, *far, *settings("region=eu-west-1"), "--dry-run")
