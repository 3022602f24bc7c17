"""The file system experiment's stack on the embedded AWS, changed and taken down by hand: `make
test-slow`."""

import json
import re

import pytest

from tests.emulator.documented_policy import policy
from tests.terraform.applied import UNCHANGED, Stack, stack_to_apply

pytestmark = [pytest.mark.slow]

VARIABLES = {
    "experiment": "filesystem",
    "large_file_mb": 1,
    "small_files": 10,
    "ephemeral_storage_mb": 512,
    "timeout_s": 5,
}
BUCKET = "stampede-filesystem-000000000000-us-east-1"
# What the function is invoked with, tried with the role that it has.
PROBE = """
import os
import boto3

def handler(event, context):
    s3, bucket = boto3.client("s3"), os.environ["BUCKET_NAME"]
    def tried(call, **arguments):
        try:
            call(Bucket=bucket, **arguments)
            return "may"
        except Exception as error:
            return error.response["Error"]["Code"]
    path = os.path.join(os.environ["MOUNT_PATH"], "written")
    with open(path, "w") as file:
        file.write("x")
    return {
        "path": path,
        "list": [
            tried(s3.list_objects_v2, Prefix=prefix)
            for prefix in ("small/", "large/", "other/", "")
        ],
        "get": [
            tried(s3.get_object, Key=key)
            for key in ("small/00000.bin", "large/file.bin", "other/file.bin")
        ],
        "put": tried(s3.put_object, Key="small/00000.bin"),
    }
"""


@pytest.fixture(scope="module")
def applied(copy_of_the_tree, terraform, tmp_path_factory) -> Stack:
    """The stack with its defaults, its seeding function a probe, and the folder that stands in for
    the mount."""
    folder = copy_of_the_tree("filesystem", runs=True)
    (folder.parent / "functions/filesystem/seeding.py").write_text(PROBE)
    (folder.parent / "mount").mkdir()
    with stack_to_apply(folder, terraform, tmp_path_factory.mktemp("emulator"), VARIABLES) as stack:
        stack.apply()
        yield stack


def test_what_places_the_data_may_read_the_data_set_and_writes_to_the_folder_that_stands_in(
    applied,
):
    s3 = applied.client("s3")
    for key in ("small/00000.bin", "large/file.bin", "other/file.bin"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")

    name = json.loads(applied.run("output", "-json").stdout)["placing_function_name"]["value"]
    answer = json.load(applied.client("lambda").invoke(FunctionName=name)["Payload"])

    assert answer.pop("path").endswith("/mount/written")
    assert answer == {
        "list": ["may", "may", "AccessDenied", "AccessDenied"],
        "get": ["may", "may", "AccessDenied"],
        "put": "AccessDenied",
    }


@pytest.mark.parametrize("storage", ["efs", "s3"])
def test_from_storage_to_storage_only_the_function_and_its_policy_change(applied, storage):
    result = applied.terraform("apply", "-auto-approve", storage=storage)

    changed = set(re.findall(r"(?m)^(\S+): Modifications complete", result.stdout))
    assert changed == {
        "module.worker[0].aws_iam_role_policy.worker",
        "module.worker[0].aws_lambda_function.worker",
    }
    assert not re.findall(r"(?m)^\S+: (?:Creation|Destruction) complete", result.stdout)
    assert applied.plan(storage=storage) == UNCHANGED


def test_without_one_of_the_documented_actions_terraform_fails_and_names_it(applied):
    action = "elasticfilesystem:DescribeFileSystemPolicy"
    documented = policy("permissions_filesystem")
    less = json.dumps(documented).replace(f'"{action}"', '"elasticfilesystem:DescribeTags"')
    user = {"UserName": "runner", "PolicyName": "permissions_filesystem"}
    applied.iam.put_user_policy(**user, PolicyDocument=less)
    try:
        with pytest.raises(AssertionError, match=action):
            applied.plan()
    finally:
        applied.iam.put_user_policy(**user, PolicyDocument=json.dumps(documented))


def test_destroy_leaves_nothing(applied):
    def left():
        ec2, efs = applied.client("ec2"), applied.client("efs")
        networks = [network for network in ec2.describe_vpcs()["Vpcs"] if not network["IsDefault"]]
        return applied.left() | {
            "networks": networks,
            "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
            "file systems": efs.describe_file_systems()["FileSystems"],
        }

    assert all(left().values())
    assert applied.destroy().returncode == 0
    assert left() == {name: [] for name in left()}
