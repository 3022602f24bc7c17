"""A bucket and an object that somebody has put into the embedded AWS by hand, downloaded by a sweep as a user types it:
held to what the object was when the run began, and left as it was."""

import json
import os
import subprocess

import boto3
import pytest

from stampede.emulator import ministack
from stampede.runs.folder import RunFolder
from tests.commands import ROOT
from tests.emulator.applied_stack import STAMPEDE

BUCKET, KEY, BODY = "my-bucket", "models/v3 (final).bin", os.urandom(3_000_000)
SWEEP = ["sweep", "download", "--set", "memory_size=1024", "--set", "concurrency_value=1,2", "--set", "timeout_s=20"]
# What a stack could have set, by the operation that reads it.
SETTINGS = ("policy", "tagging", "notification_configuration", "versioning", "encryption", "lifecycle_configuration")
SETTINGS += ("ownership_controls", "acl", "logging")


class Own:
    """An embedded AWS that runs already, with a bucket of the user's own, and a shell beside it."""

    def __init__(self, work):
        self.work = work
        self.environment = os.environ | {"STAMPEDE_STATE_DIR": str(work / "state"), "PYTHONPATH": str(ROOT)}
        assert self.run("emulator", "start").returncode == 0
        self.access = ministack.running(work / "state").access
        self.s3 = self.client("s3")
        self.s3.create_bucket(Bucket=BUCKET)
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self.s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": [{"Key": "owner", "Value": "me"}]})
        self.s3.put_object(Bucket=BUCKET, Key=KEY, Body=BODY)

    def client(self, service, region=ministack.REGION):
        return boto3.client(service, region_name=region, endpoint_url=self.access.endpoint_url, **self.access.key)

    def run(self, *arguments):
        command = [*STAMPEDE, *arguments]
        return subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=500)

    def begin(self, *arguments):
        return subprocess.Popen(
            [*STAMPEDE, *arguments], cwd=self.work, env=self.environment, stderr=subprocess.PIPE, text=True
        )

    def seen(self):
        """Everything of the bucket that something may have changed."""
        settings = {}
        for name in SETTINGS:
            try:
                settings[name] = getattr(self.s3, f"get_bucket_{name}")(Bucket=BUCKET)
            except self.s3.exceptions.ClientError as error:
                settings[name] = error.response["Error"]["Code"]
            if isinstance(settings[name], dict):
                settings[name].pop("ResponseMetadata")
        versions = self.s3.list_object_versions(Bucket=BUCKET)
        return settings, versions["Versions"], versions.get("DeleteMarkers"), self.s3.list_buckets()["Buckets"]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    work = tmp_path_factory.mktemp("own")
    try:
        yield Own(work)
    finally:
        ministack.stop(work / "state")


def test_a_sweep_holds_it_to_its_etag_says_which_it_was_and_leaves_it_as_it_was(own):
    url = f"s3://{BUCKET}/{KEY}"
    before, etag = own.seen(), own.s3.head_object(Bucket=BUCKET, Key=KEY)["ETag"]
    with own.begin(*SWEEP, "--set", f"object={url}") as process:
        for line in process.stderr:
            if line.startswith("run "):
                folder = RunFolder(own.work / "results" / line.split()[1].rstrip(":"))
            if line.startswith("cell 2 of 2"):  # which is applied now
                break
        assert own.seen() == before
        own.s3.put_object(Bucket=BUCKET, Key=KEY, Body=os.urandom(len(BODY)))
        said = process.stderr.read()
    assert "the sweep ends with" in said, said
    first, second = folder.read_json("accounting.json")
    assert first["sent"] == first["succeeded"] > 0 == second["succeeded"]
    failed = [record for record in folder.rows("records.jsonl") if record["cell"] == second["cell"]]
    assert failed and {record["error_type"] for record in failed} == {"ObjectChanged"}

    refused = own.run(*SWEEP[:2], "--resume", folder.run_id)
    assert refused.returncode == 2 and refused.stderr.splitlines()[-1].endswith("put that one back, or start a new run")
    own.s3.put_object(Bucket=BUCKET, Key=KEY, Body=BODY)  # the same bytes have the same ETag
    before = own.seen()
    resumed = own.run(*SWEEP[:2], "--resume", folder.run_id)
    assert resumed.returncode == 0, resumed.stderr
    assert [account["succeeded"] for account in folder.read_json("accounting.json")] == [20, 10]
    assert folder.read_json("run.json")["object"] == {"url": url, "bytes": len(BODY), "etag": etag}
    page = (folder.path / "report.html").read_text()
    assert url in page and etag.strip('"') in page
    assert own.seen() == before
    assert own.client("sqs").list_queues().get("QueueUrls", []) == []
    assert own.run("emulator", "status").returncode == 0, "the user's own emulator was stopped"


def test_the_doctor_reads_it_and_says_how_large_it_is(own):
    options = ["--set", f"object=s3://{BUCKET}/{KEY}", "--set", "concurrency_value=1", "--format", "json"]
    findings = {row["check"]: row for row in json.loads(own.run("doctor", "download", *options).stdout)["checks"]}
    assert findings["object"]["status"] == "ok" and "2.861 MiB, ETag " in findings["object"]["found"]


def test_a_bucket_of_another_region_is_refused_with_its_region_and_the_price(own):
    elsewhere = own.client("s3", "eu-west-1")
    elsewhere.create_bucket(Bucket="far", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    elsewhere.put_object(Bucket="far", Key="k", Body=b"x" * 2**20)
    done = own.run(*SWEEP, "--set", "object=s3://far/k")
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and "is in eu-west-1" in line and "USD for the 30 MiB of this plan; " in line
    assert own.run(*SWEEP, "--set", "object=s3://far/k", "--set", "region=eu-west-1", "--dry-run").returncode == 0


@pytest.mark.parametrize(("key", "words"), [("nothing", "no object"), ("empty", "is empty"), ("kept", "KMS key")])
def test_what_no_function_could_download_is_refused_before_anything_is_applied(own, key, words):
    kms_key = own.client("kms").create_key()["KeyMetadata"]["Arn"]
    own.s3.put_object(Bucket=BUCKET, Key="empty")
    own.s3.put_object(Bucket=BUCKET, Key="kept", Body=b"x", ServerSideEncryption="aws:kms", SSEKMSKeyId=kms_key)
    done = own.run(*SWEEP, "--set", f"object=s3://{BUCKET}/{key}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and words in done.stderr
