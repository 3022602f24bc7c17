"""The copy experiments on the embedded AWS, by real Terraform: up with the documented policies alone, and down."""

import json

import pytest
from botocore.exceptions import ClientError

from tests.terraform.applied import UNCHANGED, Stack, applied_stack


@pytest.fixture(scope="module", params=["copy", "copy_host"])
def applied(request, copy_of_the_tree, terraform, tmp_path_factory) -> Stack:
    """The stack with its defaults, on an embedded AWS of its own."""
    folder = copy_of_the_tree(request.param)
    with applied_stack(folder, terraform, tmp_path_factory.mktemp("emulator"), {"experiment": request.param}) as stack:
        yield stack


def test_a_second_plan_is_empty(applied):
    assert applied.plan() == UNCHANGED


def test_the_role_deletes_copies_and_nothing_else(applied):
    outputs = {name: one["value"] for name, one in json.loads(applied.run("output", "-json").stdout).items()}
    source, destination = outputs["bucket_name"], outputs["destination_bucket_name"]
    copy = f"{outputs['destination_prefix']}2015/01/01/00/1.mp4"
    everyone = applied.client("s3")
    everyone.create_bucket(Bucket="someone-elses")
    keys = [(source, "masters/x/1"), (source, "manifest/x/000000.csv"), (source, "other"), ("someone-elses", copy)]
    for bucket, key in keys:
        everyone.put_object(Bucket=bucket, Key=key, Body=b"x")

    s3 = _with_the_policy_of(applied, f"stampede-{outputs['experiment'].replace('_', '-')}-us-east-1")
    s3.copy_object(Bucket=destination, Key=copy, CopySource={"Bucket": source, "Key": "masters/x/1"})
    assert s3.head_object(Bucket=destination, Key=copy)["ContentLength"] == 1
    s3.get_object(Bucket=source, Key="manifest/x/000000.csv")
    s3.list_objects_v2(Bucket=source, Prefix="masters/")
    s3.list_objects_v2(Bucket=destination, Prefix=outputs["destination_prefix"])
    s3.delete_object(Bucket=destination, Key=copy)
    for bucket, key in keys:
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.delete_object(Bucket=bucket, Key=key)
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.put_object(Bucket=bucket, Key=key, Body=b"y")
    for refused in ({"Bucket": source}, {"Bucket": source, "Prefix": "other"}, {"Bucket": "someone-elses"}):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.list_objects_v2(**refused)
    everyone.delete_object(Bucket="someone-elses", Key=copy)
    everyone.delete_bucket(Bucket="someone-elses")


def _with_the_policy_of(applied: Stack, role: str):
    """A client of S3 for a user with the role's policy: only Lambda itself may assume a function's role."""
    (name,) = applied.iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = applied.iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    applied.iam.create_user(UserName="program")
    applied.iam.put_user_policy(UserName="program", PolicyName=name, PolicyDocument=json.dumps(document))
    key = applied.iam.create_access_key(UserName="program")["AccessKey"]
    return applied.client("s3", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])


def test_destroy_leaves_nothing_although_the_buckets_are_full(applied):
    def left():
        ec2, kms = applied.client("ec2"), applied.client("kms")
        states = [
            one["State"]["Name"] for group in ec2.describe_instances()["Reservations"] for one in group["Instances"]
        ]
        keys = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
        return applied.left() | {
            "hosts": [state for state in states if state != "terminated"],
            "profiles": applied.client("iam").list_instance_profiles()["InstanceProfiles"],
            "networks": [one for one in ec2.describe_vpcs()["Vpcs"] if not one["IsDefault"]],
            "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
            "keys": [one for one in keys if one["KeyState"] != "PendingDeletion"],
        }

    functions = {"functions", "triggers"}
    hosts = {"hosts", "profiles", "networks", "endpoints", "keys"}
    expected = hosts if applied.variables["experiment"] == "copy_host" else functions
    assert {name for name, found in left().items() if found} == expected | {"queues", "buckets", "log groups", "roles"}
    for bucket in applied.client("s3").list_buckets()["Buckets"]:
        applied.client("s3").put_object(Bucket=bucket["Name"], Key="copies/left", Body=b"x")

    assert applied.destroy().returncode == 0
    assert left() == {name: [] for name in left()}
