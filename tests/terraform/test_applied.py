"""Experiments on the embedded AWS with real Terraform: a user with only the documented policies
applies, sweeps and destroys a stack, which leaves nothing.

`make test` runs the experiment with the largest stack, `make test-slow` the others.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from stampede.emulator import stack
from stampede.runs.folder import RunFolder
from tests.emulator.applied_stack import left_behind
from tests.emulator.documented_policy import make_user
from tests.emulator.embedded_aws import client, embedded_aws, run, settings
from tests.terraform.conftest import pretend_built

OBJECTS, SLICES, FILES = 300, 6, 20
KEY_PLAN = {"object_count": OBJECTS, "object_bytes": 1000, "slice_rows": OBJECTS // SLICES}
VARIABLES = {
    "copy": {"concurrency_value": 3, "from_manifest": "true", **KEY_PLAN},
    "copy_host": {"concurrency_value": 2, **KEY_PLAN},
    "filesystem": {"large_file_mb": 1, "small_files": FILES, "timeout_s": 20},
}
SWEPT = {
    "copy": ["--set=parallel_limit=10"],
    "copy_host": ["--set=parallel_limit=10"],
    "filesystem": ["--set=storage=s3,efs", "--messages-per-concurrency=3"],
}
# With a manifest, functions get a message for each slice; each host gets one, for its share.
MESSAGES = {"copy": SLICES, "copy_host": 2}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("copy", "filesystem")]


@dataclass
class Applied:
    """An experiment's stack on an embedded AWS, and Terraform run by its user."""

    experiment: str
    work: Path
    client: Callable[[str], Any]
    terraform: Callable[..., Any]

    def change(self, command: str, *arguments: str) -> int:
        """Run a Terraform command with the experiment's variables; return its exit status."""
        values = {"experiment": self.experiment, **VARIABLES[self.experiment]}
        flags = [f"-var={name}={value}" for name, value in values.items()]
        done = self.terraform(command, "-input=false", "-no-color", *arguments, *flags)
        assert "Error:" not in done.stderr, done.stderr
        return done.returncode

    def outputs(self) -> dict[str, Any]:
        printed = json.loads(self.terraform("output", "-json").stdout)
        return {name: output["value"] for name, output in printed.items()}

    def left(self) -> dict[str, list]:
        """All that the stack could leave behind."""
        ec2, kms = self.client("ec2"), self.client("kms")
        reservations = ec2.describe_instances()["Reservations"]
        hosts = [host for reservation in reservations for host in reservation["Instances"]]
        key_ids = [key["KeyId"] for key in kms.list_keys()["Keys"]]
        keys = [kms.describe_key(KeyId=key_id)["KeyMetadata"] for key_id in key_ids]
        return left_behind(self.client) | {
            "hosts": [host for host in hosts if host["State"]["Name"] != "terminated"],
            "profiles": self.client("iam").list_instance_profiles()["InstanceProfiles"],
            "networks": [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]],
            "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
            "file systems": self.client("efs").describe_file_systems()["FileSystems"],
            "keys": [key for key in keys if key["KeyState"] != "PendingDeletion"],
        }


@pytest.fixture(scope="module", params=[*SLOW, "copy_host"])
def applied(request, terraform, tmp_path_factory) -> Iterator[Applied]:
    """A stack's folder where commands in `work` look for the local stack. Programs are one line, as
    the embedded AWS drops the tags of a multipart upload."""
    work = tmp_path_factory.mktemp(request.param)
    infra = stack.lay_out(work / "state" / "local")
    for architecture in ("x86_64", "arm64"):
        pretend_built(infra.parent / "functions", architecture)
    with embedded_aws(work / "state") as running:
        url = running.endpoint_url
        _, key = make_user(running.access, "permissions", f"permissions_{request.param}")
        account = {"AWS_ENDPOINT_URL": url, "HTTP_PROXY": url} | key
        as_user = partial(terraform, infra, **account)
        assert as_user("init", "-input=false").returncode == 0
        yield Applied(request.param, work, partial(client, access=running.access), as_user)


def test_it_is_applied_and_a_second_plan_is_empty(applied):
    assert applied.change("apply", "-auto-approve") == 0
    assert applied.change("plan", "-detailed-exitcode") == 0


def test_a_sweep_accounts_for_all_objects(applied):
    experiment, results = applied.experiment, applied.work / "results"
    values = settings(*[f"{name}={value}" for name, value in VARIABLES[experiment].items()])
    sweep = ["sweep", experiment, *SWEPT[experiment], *values, "--keep", "--format", "json"]
    if experiment != "filesystem":
        run(applied.work, "dataset", "--target", "local")
        _spoil(applied.client("s3"), applied.outputs())
    out, err = run(applied.work, *sweep)
    rows = [row for row in json.loads(out) if row["count"]]
    folder = RunFolder.find(results, None)
    page = (folder.path / "report.html").read_text()
    if experiment == "filesystem":
        # Cells that differ only in their work orders share an apply.
        assert err.count("round 3 of 3") == 2
        refuse_other_reads(rows, folder, page)
    else:
        refuse_other_copies(applied, rows, folder, page)


def _spoil(s3: Any, outputs: dict[str, Any]) -> None:
    """Make a row of the manifest's second slice malformed, and the next row name a missing source.
    Put an earlier run's copy at the destination, and another object next to the sources."""
    source, destination = outputs["bucket_name"], outputs["destination_bucket_name"]
    listed = s3.list_objects_v2(Bucket=source, Prefix="manifest/")["Contents"]
    [key] = [entry["Key"] for entry in listed if entry["Key"].endswith("/000001.csv")]
    rows = s3.get_object(Bucket=source, Key=key)["Body"].read().decode().splitlines()
    rows[1:3] = ["nonsense", "masters/missing," + rows[2].split(",")[1]]
    s3.put_object(Bucket=source, Key=key, Body="\n".join([*rows, ""]).encode())
    s3.put_object(Bucket=destination, Key=f"{outputs['destination_prefix']}left", Body=b"x")
    s3.put_object(Bucket=source, Key="another", Body=b"x")


def refuse_other_copies(applied, rows, folder, page):
    messages, outputs = MESSAGES[applied.experiment], applied.outputs()
    [row], [account] = rows, folder.read_json("accounting.json")
    assert (row["count"], row["copied"], row["failed"]) == (messages, OBJECTS - 2, 2)
    counts = {"planned": OBJECTS, "copied": OBJECTS - 2, "failed": 2, "listed": 2}
    nothing = dict.fromkeys(("already_there", "unaccounted", "unknown", "owing"), 0)
    assert account["objects"] == counts | nothing
    # One more message empties the destination.
    assert account["sent"] == account["succeeded"] == messages + 1
    names = ("slice", "line", "source", "error_type")
    failures = folder.rows("failed_objects.jsonl")
    failed = [tuple(failure[name] for name in names) for failure in failures]
    malformed, missing = (1, 2, "nonsense", "MalformedRow"), (1, 3, "masters/missing", "NoSuchKey")
    assert sorted(failed) == [malformed, missing]
    assert "MalformedRow" in page and "masters/missing" in page
    s3, prefix = applied.client("s3"), outputs["destination_prefix"]
    copies = s3.list_objects_v2(Bucket=outputs["destination_bucket_name"], Prefix=prefix)
    assert copies["KeyCount"] == OBJECTS - 2, "the earlier copy is gone"
    assert s3.head_object(Bucket=outputs["bucket_name"], Key="another")


def refuse_other_reads(rows, folder, page):
    reads, names = {"first": 1, "repeat": 2}, ("storage", "dataset", "read")
    sets = {"large": (1, 2**20), "small": (FILES, 2 * 550_000)}
    assert {tuple(row[name] for name in names): row["count"] for row in rows} == {
        (*place, read): count
        for place in itertools.product(("s3", "efs"), sets)
        for read, count in reads.items()
    }
    methods = {(row["storage"], row["method"], "folder" in row["source"]) for row in rows}
    assert methods == {("s3", "download_file", False), ("efs", "copy", True)}
    records = list(folder.rows("records.jsonl"))
    moved = {(record["dataset"], record["files"], record["bytes"]) for record in records}
    assert moved == {(name, *what) for name, what in sets.items()}
    listed = {record["storage"] for record in records if record["listing_seconds"] is not None}
    assert (listed, {record["read_order"] for record in records}) == ({"s3"}, {1, 2, 3})
    assert "stood in for efs" in page and 'id="warnings"' not in page
    assert "AWS, published" in (folder.path / "table.md").read_text()


def test_its_role_may_change_only_objects_that_it_makes(applied):
    """Tested as a user with the role's policy: only Lambda may assume a function's role."""
    iam, s3 = applied.client("iam"), applied.client("s3")
    source = applied.outputs()["bucket_name"]
    role = f"stampede-{applied.experiment.replace('_', '-')}-us-east-1"
    [name] = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    iam.create_user(UserName="program")
    iam.put_user_policy(UserName="program", PolicyName=name, PolicyDocument=json.dumps(document))
    key = iam.create_access_key(UserName="program")["AccessKey"]
    own_key = {"aws_access_key_id": key["AccessKeyId"]}
    own_key["aws_secret_access_key"] = key["SecretAccessKey"]
    program = boto3.client("s3", "us-east-1", endpoint_url=s3.meta.endpoint_url, **own_key)
    s3.create_bucket(Bucket="someone-elses")
    for bucket in (source, "someone-elses"):
        for kept in ("another", "masters/x/1", "manifest/x/000000.csv", "small/00000.bin"):
            s3.put_object(Bucket=bucket, Key=kept, Body=b"x")
            for change in (program.delete_object, partial(program.put_object, Body=b"y")):
                with pytest.raises(ClientError, match="AccessDenied"):
                    change(Bucket=bucket, Key=kept)
            s3.delete_object(Bucket=bucket, Key=kept)
        with pytest.raises(ClientError, match="AccessDenied"):
            program.list_objects_v2(Bucket=bucket, Prefix="another")
    s3.delete_bucket(Bucket="someone-elses")


def test_destroy_leaves_nothing_although_the_buckets_are_full(applied):
    s3, sqs = applied.client("s3"), applied.client("sqs")
    assert all(left_behind(applied.client)[name] for name in ("queues", "log groups", "roles"))
    for bucket in s3.list_buckets()["Buckets"]:
        s3.put_object(Bucket=bucket["Name"], Key="copies/left", Body=b"x")
    # The provider would wait minutes for each queue that it deletes.
    for url in sqs.list_queues()["QueueUrls"]:
        sqs.delete_queue(QueueUrl=url)
    assert applied.change("destroy", "-auto-approve", "-refresh=false") == 0
    assert not any(applied.left().values())
