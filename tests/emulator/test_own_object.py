"""A bucket and an object that somebody has put into the embedded AWS by hand, downloaded by a sweep
as a user types it: held to what the object was when the run began, and left as it was."""

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
# What a stack could have set, by the operation that reads it.
SETTINGS = (
    "policy",
    "tagging",
    "notification_configuration",
    "versioning",
    "encryption",
    "lifecycle_configuration",
)
SETTINGS += ("ownership_controls", "acl", "logging")


@pytest.fixture
def access(tmp_path):
    """That of an embedded AWS that the user has started, with a bucket of his own; Terraform finds
    its provider running, which saves most of its time."""
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
    """All of the bucket that something may have changed."""
    seen = {}
    for name in SETTINGS:
        try:
            seen[name] = getattr(s3, f"get_bucket_{name}")(Bucket=BUCKET) | {
                "ResponseMetadata": None
            }
        except s3.exceptions.ClientError as error:
            seen[name] = error.response["Error"]["Code"]
    versions = s3.list_object_versions(Bucket=BUCKET)
    return seen, versions["Versions"], versions.get("DeleteMarkers")


def test_a_sweep_holds_it_to_its_etag_says_which_it_was_and_leaves_it_as_it_was(access, tmp_path):
    s3 = client("s3", access)
    before, etag = everything(s3), s3.head_object(Bucket=BUCKET, Key=KEY)["ETag"]
    refused_beside_another_region(access, tmp_path)
    asked = [*settings(f"object={URL}", "concurrency_value=1"), "--format", "json"]
    checks = {
        row["check"]: row
        for row in json.loads(run(tmp_path, "doctor", "download", *asked)[0])["checks"]
    }
    assert checks["object"]["status"] == "ok" and "2.861 MiB, ETag " in checks["object"]["found"]

    # The stack is kept when the sweep ends, so that the resumed one needn't wait for its queues.
    with begin(
        tmp_path, *SWEEP, *settings(f"object={URL}"), "--keep", stderr=subprocess.PIPE
    ) as process:
        for line in process.stderr:
            if line.startswith("run "):
                folder = RunFolder(tmp_path / "results" / line.split()[1].rstrip(":"))
            if line.startswith("cell 2 of 2"):  # which is applied now
                break
        assert everything(s3) == before
        s3.put_object(Bucket=BUCKET, Key=KEY, Body=os.urandom(len(BODY)))
        said = process.stderr.read()
    assert "the sweep ends with" in said, said
    first, second = folder.read_json("accounting.json")
    assert first["sent"] == first["succeeded"] > 0 == second["succeeded"]
    failed = {
        row["error_type"] for row in folder.rows("records.jsonl") if row["cell"] == second["cell"]
    }
    assert failed == {"ObjectChanged"}

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
    """An object of another region is refused with that and the price, and one that isn't there."""
    elsewhere = client("s3", access, "eu-west-1")
    elsewhere.create_bucket(
        Bucket="far", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    elsewhere.put_object(Bucket="far", Key="k", Body=b"x" * 2**20)
    far = settings("object=s3://far/k")
    [line] = run(work, *SWEEP, *far, status=2)[1].splitlines()
    assert "is in eu-west-1" in line and "USD for the 30 MiB of this plan; " in line
    run(work, *SWEEP, *far, *settings("region=eu-west-1"), "--dry-run")
