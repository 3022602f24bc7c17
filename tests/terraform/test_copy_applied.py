"""The copy experiments on the embedded AWS, with real Terraform: up with the documented policies
alone, swept, down.

`make test` has the hosts, `make test-slow` the functions.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.terraform.applied import UNCHANGED, Stack, stack_to_apply
from tests.terraform.conftest import ROOT
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

BUILD = Path("functions/transfer/build")
OBJECTS, SLICES = 300, 6
KEY_PLAN = {"object_count": OBJECTS, "object_bytes": 1000, "slice_rows": OBJECTS // SLICES}
# With the functions' manifest a slice is a message; a host has one, for its share of them.
VARIABLES = {
    "copy": {"concurrency_value": 3, "from_manifest": "true"},
    "copy_host": {"concurrency_value": 2},
}
MESSAGES = {"copy": SLICES, "copy_host": 2}


@pytest.fixture(scope="module")
def clone(tmp_path_factory, transfer_program) -> Path:
    """A copy of the repository in which the Go program is built: a script that runs it, which is
    put in one request.

    The embedded AWS drops the tags of an object that is put in parts.
    """
    tree = tmp_path_factory.mktemp("clone")
    for name in ("experiments", "functions", "infra", "loader", "queries", "stampede"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", ".*", "build")
        )
    for architecture in ("x86_64", "arm64"):
        program = tree / BUILD / architecture / "bootstrap"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {transfer_program} "$@"\n')
        program.chmod(0o755)
    return tree


# `make test` has the one with more in its stack; functions it sweeps with the download.
@pytest.fixture(scope="module", params=[pytest.param("copy", marks=pytest.mark.slow), "copy_host"])
def applied(request, clone, copy_of_the_tree, terraform, tmp_path_factory) -> Iterator[Stack]:
    """The stack of several workers that share a manifest, on an embedded AWS of its own."""
    folder = copy_of_the_tree(request.param, runs=True)
    shutil.copytree(clone / BUILD, folder.parent / BUILD, dirs_exist_ok=True)
    variables = {"experiment": request.param, **VARIABLES[request.param], **KEY_PLAN}
    with stack_to_apply(folder, terraform, tmp_path_factory.mktemp("emulator"), variables) as stack:
        stack.apply()
        yield stack


def test_a_second_plan_is_empty(applied):
    assert applied.plan() == UNCHANGED


def test_a_sweep_of_a_manifest_accounts_for_every_object_and_names_those_that_failed(
    applied, clone
):
    experiment, s3 = applied.variables["experiment"], applied.client("s3")
    placed = applied.stampede(clone, "dataset", "--target", "local")
    assert placed.returncode == 0, placed.stderr[-3000:]
    outputs = applied.outputs()
    source, destination = outputs["bucket_name"], outputs["destination_bucket_name"]
    _spoil_two_rows(s3, source)

    settings = [
        f"--set={name}={value}" for name, value in applied.variables.items() if name != "experiment"
    ]
    into = ("--results-dir", experiment, "--format", "json")
    swept = applied.stampede(
        clone, "sweep", experiment, "--keep", "--set=parallel_limit=10", *settings, *into
    )

    assert swept.returncode == 0, swept.stderr[-3000:]
    [row] = [cell for cell in json.loads(swept.stdout) if cell["count"]]
    assert (row["count"], row["copied"], row["failed"]) == (MESSAGES[experiment], OBJECTS - 2, 2)
    [folder] = (clone / experiment).iterdir()
    [account] = json.loads((folder / "accounting.json").read_text())
    counts = {
        "planned": OBJECTS,
        "copied": OBJECTS - 2,
        "already_there": 0,
        "failed": 2,
        "listed": 2,
    }
    assert account["objects"] == counts | {"unaccounted": 0, "unknown": 0, "owing": 0}
    # which empties the destination first
    assert account["sent"] == account["succeeded"] == MESSAGES[experiment] + 1
    failed = [
        json.loads(line) for line in (folder / "failed_objects.jsonl").read_text().splitlines()
    ]
    assert sorted(
        (failure["slice"], failure["line"], failure["source"], failure["error_type"])
        for failure in failed
    ) == [
        (1, 2, "nonsense", "MalformedRow"),
        (1, 3, "masters/missing", "NoSuchKey"),
    ]
    page = (folder / "report.html").read_text()
    assert "MalformedRow" in page and "masters/missing" in page
    there = s3.list_objects_v2(Bucket=destination, Prefix=outputs["destination_prefix"])
    assert there["KeyCount"] == OBJECTS - 2


def _spoil_two_rows(s3, bucket: str) -> None:
    """Make a row of the manifest's second slice malformed, and let the next one name a source that
    isn't there."""
    [key] = [
        entry["Key"]
        for entry in s3.list_objects_v2(Bucket=bucket, Prefix="manifest/")["Contents"]
        if entry["Key"].endswith("/000001.csv")
    ]
    rows = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode().splitlines()
    rows[1:3] = ["nonsense", "masters/missing," + rows[2].split(",")[1]]
    s3.put_object(Bucket=bucket, Key=key, Body="\n".join([*rows, ""]).encode())


def test_the_role_deletes_copies_and_nothing_else(applied):
    outputs = applied.outputs()
    source, destination = outputs["bucket_name"], outputs["destination_bucket_name"]
    copy = f"{outputs['destination_prefix']}2015/01/01/00/1.mp4"
    everyone = applied.client("s3")
    everyone.create_bucket(Bucket="someone-elses")
    keys = [
        (source, "masters/x/1"),
        (source, "manifest/x/000000.csv"),
        (source, "other"),
        ("someone-elses", copy),
    ]
    for bucket, key in keys:
        everyone.put_object(Bucket=bucket, Key=key, Body=b"x")

    s3 = _with_the_policy_of(
        applied, f"stampede-{outputs['experiment'].replace('_', '-')}-us-east-1"
    )
    s3.copy_object(
        Bucket=destination, Key=copy, CopySource={"Bucket": source, "Key": "masters/x/1"}
    )
    s3.delete_object(Bucket=destination, Key=copy)
    for bucket, key in keys:
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.delete_object(Bucket=bucket, Key=key)
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.put_object(Bucket=bucket, Key=key, Body=b"y")
    for refused in (
        {"Bucket": source},
        {"Bucket": source, "Prefix": "other"},
        {"Bucket": "someone-elses"},
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.list_objects_v2(**refused)
    everyone.delete_object(Bucket="someone-elses", Key=copy)
    everyone.delete_bucket(Bucket="someone-elses")


def _with_the_policy_of(applied: Stack, role: str):
    """A client of S3 for a user with the role's policy: only Lambda itself may assume a function's
    role."""
    (name,) = applied.iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = applied.iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    applied.iam.create_user(UserName="program")
    applied.iam.put_user_policy(
        UserName="program", PolicyName=name, PolicyDocument=json.dumps(document)
    )
    key = applied.iam.create_access_key(UserName="program")["AccessKey"]
    return applied.client(
        "s3", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]
    )


def test_destroy_leaves_nothing_although_the_buckets_are_full(applied):
    def left():
        ec2, kms = applied.client("ec2"), applied.client("kms")
        states = [
            host["State"]["Name"]
            for group in ec2.describe_instances()["Reservations"]
            for host in group["Instances"]
        ]
        keys = [
            kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"] for key in kms.list_keys()["Keys"]
        ]
        return applied.left() | {
            "hosts": [state for state in states if state != "terminated"],
            "profiles": applied.client("iam").list_instance_profiles()["InstanceProfiles"],
            "networks": [
                network for network in ec2.describe_vpcs()["Vpcs"] if not network["IsDefault"]
            ],
            "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
            "keys": [key for key in keys if key["KeyState"] != "PendingDeletion"],
        }

    assert {name for name, remains in left().items() if remains} > {
        "queues",
        "buckets",
        "log groups",
        "roles",
    }
    for bucket in applied.client("s3").list_buckets()["Buckets"]:
        applied.client("s3").put_object(Bucket=bucket["Name"], Key="copies/left", Body=b"x")

    assert applied.destroy().returncode == 0
    assert left() == {name: [] for name in left()}
