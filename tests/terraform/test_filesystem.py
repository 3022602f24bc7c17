"""What the file system experiment would really put up, after infra/tests/filesystem.tftest.hcl has run."""

import json
import re
from typing import Any

import pytest

from tests.terraform.deployed import Resources, deployed, statements

BUCKET = "arn:aws:s3:::stampede-filesystem-123456789012-us-east-1"
FILES_BUCKET = "arn:aws:s3:::stampede-s3files-123456789012-us-east-1"
# Made up in filesystem.tftest.hcl.
EFS = "arn:aws:elasticfilesystem:us-east-1:123456789012"
EFS_ACCESS_POINT = f"{EFS}:access-point/fsap-0123456789abcdef0"
S3_FILES = "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef1"
S3_FILES_ACCESS_POINT = f"{S3_FILES}/access-point/fsap-0123456789abcdef1"

READ_THE_DATA = [
    {
        "Sid": "ReadTheData",
        "Effect": "Allow",
        "Action": "s3:GetObject",
        "Resource": [f"{BUCKET}/large/*", f"{BUCKET}/small/*"],
    },
    {
        "Sid": "ListTheData",
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": BUCKET,
        "Condition": {"StringLike": {"s3:prefix": ["large/*", "small/*"]}},
    },
]


def mount(service: str, resource: str, access_point: str, *actions: str) -> dict[str, Any]:
    return {
        "Sid": "Mount",
        "Effect": "Allow",
        "Action": [f"{service}:{action}" for action in actions],
        "Resource": resource,
        "Condition": {"StringEquals": {f"{service}:AccessPointArn": access_point}},
    }


EFS_MOUNT = ("elasticfilesystem", f"{EFS}:file-system/fs-0123456789abcdef0", EFS_ACCESS_POINT)
S3_FILES_MOUNT = ("s3files", S3_FILES, S3_FILES_ACCESS_POINT)
READ_DIRECTLY = {
    "Sid": "ReadDirectly",
    "Effect": "Allow",
    "Action": ["s3:GetObject", "s3:GetObjectVersion"],
    "Resource": f"{FILES_BUCKET}/*",
}
ENVIRONMENTS = {
    "defaults": ("s3", "download_file", "", "keep"),
    "s3_in_vpc_beside_s3files": ("s3_in_vpc", "pool", "", "keep"),
    "efs": ("efs", "copy", "/mnt/data", "drop"),
    "s3files": ("s3files", "copy", "/mnt/data", "keep"),
}
OWN_STATEMENTS = {
    "defaults": READ_THE_DATA,
    "s3_in_vpc_beside_s3files": READ_THE_DATA,
    "efs": [mount(*EFS_MOUNT, "ClientMount")],
    "s3files": [mount(*S3_FILES_MOUNT, "ClientMount"), READ_DIRECTLY],
    "s3files_through_the_file_system": [mount(*S3_FILES_MOUNT, "ClientMount")],
}
IN_THE_NETWORK = ["JoinTheNetwork", "OnlyLambdaItself"]


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of filesystem.tftest.hcl."""
    return deployed(infra, mocking, "filesystem")


@pytest.fixture(scope="session")
def download(infra, mocking) -> Resources:
    """The download experiment with its defaults."""
    return deployed(infra, mocking, "download")["defaults"]


def _function(resources: Resources, module: str = "module.worker[0]") -> dict[str, Any]:
    return resources[f"{module}.aws_lambda_function.worker"]


def _may(resources: Resources, module: str = "module.worker[0]") -> list[dict]:
    return statements(resources[f"{module}.aws_iam_role_policy.worker"]["policy"])


def _of_type(resources: Resources, kind: str) -> dict[str, dict]:
    return {address: values for address, values in resources.items() if f".{kind}." in f".{address}"}


def _first_subnets(resources: Resources, count: int) -> list[str]:
    subnets = _of_type(resources, "aws_subnet").values()
    return [subnet["id"] for subnet in sorted(subnets, key=lambda subnet: subnet["availability_zone"])[:count]]


def _types(resources: Resources) -> set[str]:
    return {re.search(r"(?:^|\.)(aws_\w+)\.", address)[1] for address in resources if "aws_" in address}


def test_the_measured_function_is_the_published_one(deployments):
    function = _function(deployments["defaults"])

    names = ("function_name", "runtime", "handler", "architectures", "memory_size", "timeout")
    assert {name: function[name] for name in names} == {
        "function_name": "stampede-filesystem",
        "runtime": "python3.12",
        "handler": "filesystem.handler.handler",
        "architectures": ["arm64"],
        "memory_size": 2048,
        "timeout": 60,
    }
    assert function["ephemeral_storage"] == [{"size": 1228}]


@pytest.mark.parametrize("run", ENVIRONMENTS)
def test_the_function_gets_where_to_read_and_how(deployments, run):
    storage, read_method, mount_path, cache = ENVIRONMENTS[run]
    function = _function(deployments[run])

    assert function["environment"][0]["variables"] == {
        "CONCURRENCY_LIMIT": "1",
        "BUCKET_NAME": "stampede-filesystem-123456789012-us-east-1",
        "EXPERIMENT_TAG": "experiment 01",
        "MEMORY_SIZE": str(function["memory_size"]),
        "STORAGE": storage,
        "READ_METHOD": read_method,
        "MOUNT_PATH": mount_path,
        "CACHE": cache,
    }


def test_only_the_published_control_is_outside_the_network_and_only_file_systems_are_mounted(deployments):
    mounted = {"efs": EFS_ACCESS_POINT, "s3files": S3_FILES_ACCESS_POINT}
    for run in ENVIRONMENTS:
        resources = deployments[run]
        function, storage = _function(resources), ENVIRONMENTS[run][0]
        subnets = set(_first_subnets(resources, 3 if run == "efs" else 2))  # OpenTofu makes up one id for all
        group = resources["module.network[0].aws_security_group.inside"]["id"]
        networks = [
            (sorted(network["subnet_ids"]), network["security_group_ids"]) for network in function["vpc_config"]
        ]
        assert networks == ([] if storage == "s3" else [(sorted(subnets), [group])])
        mounts = [(mount["arn"], mount["local_mount_path"]) for mount in function["file_system_config"]]
        assert mounts == ([(mounted[storage], "/mnt/data")] if storage in mounted else [])


@pytest.mark.parametrize("run", OWN_STATEMENTS)
def test_the_function_may_read_what_it_measures_and_nothing_else(deployments, run):
    may = _may(deployments[run])
    own = OWN_STATEMENTS[run]

    assert may[: len(own)] == own
    # Outside the network, too: Lambda removes with it what a function left there.
    assert [statement["Sid"] for statement in may[len(own) :]] == ["TakeMessages", *IN_THE_NETWORK, "WriteLogs"]


def test_network_interfaces_are_made_by_lambda_and_never_by_the_functions_code(deployments):
    allowed, denied = (statement for statement in _may(deployments["efs"]) if statement["Sid"] in IN_THE_NETWORK)

    assert (allowed["Effect"], denied["Effect"]) == ("Allow", "Deny")
    assert allowed["Action"] == denied["Action"]
    assert {action.partition(":")[0] for action in allowed["Action"]} == {"ec2"}
    # Only requests of a function's code carry the key.
    assert denied["Condition"] == {"Null": {"lambda:SourceFunctionArn": "false"}}
    assert (denied["Resource"], "Condition" in allowed) == ("*", False)


@pytest.mark.parametrize(
    ("run", "name", "its_mount"), [("defaults", "efs", EFS_MOUNT), ("s3files", "s3files", S3_FILES_MOUNT)]
)
def test_what_fills_a_file_system_may_write_there_is_triggered_by_nothing_and_reserves_nothing(
    deployments, run, name, its_mount
):
    resources, module = deployments[run], f'module.placing["{name}"]'
    function = _function(resources, module)

    assert function["handler"] == "filesystem.seeding.handler"
    assert function["function_name"] == f"stampede-filesystem-placing-{name}"
    assert (function["timeout"], function["memory_size"]) == (900, 1769)
    assert function["reserved_concurrent_executions"] in (None, -1)
    assert [mount["arn"] for mount in function["file_system_config"]] == [its_mount[2]]
    assert len(function["vpc_config"]) == 1
    assert function["environment"][0]["variables"] == {
        "BUCKET_NAME": "stampede-filesystem-123456789012-us-east-1",
        "STORAGE": name,
        "MOUNT_PATH": "/mnt/data",
    }
    own = [*READ_THE_DATA, mount(*its_mount, "ClientMount", "ClientWrite")]
    may = _may(resources, module)
    assert may[:3] == own
    assert [statement["Sid"] for statement in may[3:]] == [*IN_THE_NETWORK, "WriteLogs"]
    assert list(_of_type(resources, "aws_lambda_event_source_mapping")) == [
        "module.worker[0].aws_lambda_event_source_mapping.queue[0]"
    ]


def test_the_network_has_private_subnets_one_a_zone_and_no_route_out_but_to_s3_and_sqs(deployments):
    resources = deployments["efs"]
    subnets = list(_of_type(resources, "aws_subnet").values())

    zones = [(subnet["availability_zone"], subnet["cidr_block"]) for subnet in subnets]
    assert zones == [("us-east-1a", "10.0.0.0/20"), ("us-east-1b", "10.0.16.0/20"), ("us-east-1c", "10.0.32.0/20")]
    assert not any(subnet["map_public_ip_on_launch"] for subnet in subnets)
    assert not _types(resources) & {"aws_nat_gateway", "aws_internet_gateway", "aws_route", "aws_eip"}
    endpoint, sqs = sorted(
        _of_type(resources, "aws_vpc_endpoint").values(), key=lambda endpoint: endpoint["service_name"]
    )
    assert (endpoint["vpc_endpoint_type"], endpoint["service_name"]) == ("Gateway", "com.amazonaws.us-east-1.s3")
    assert (sqs["vpc_endpoint_type"], sqs["service_name"]) == ("Interface", "com.amazonaws.us-east-1.sqs")
    assert (sqs["private_dns_enabled"], sqs["subnet_ids"]) == (True, _first_subnets(resources, 1))
    (table,) = _of_type(resources, "aws_route_table").values()
    assert endpoint["route_table_ids"] == [table["id"]]
    associations = _of_type(resources, "aws_route_table_association").values()
    assert {association["subnet_id"] for association in associations} == {subnet["id"] for subnet in subnets}
    assert {association["route_table_id"] for association in associations} == {table["id"]}


def test_every_subnet_stays_whatever_storage_and_subnet_count_are(deployments):
    """EC2 doesn't delete one that a function still uses, and Terraform deletes before it updates the function."""
    subnets = [_first_subnets(resources, 6) for resources in deployments.values()]
    assert len(subnets[0]) == 3
    assert subnets == [subnets[0]] * len(deployments)


def test_functions_reach_s3_sqs_and_mount_targets_and_nobody_else_reaches_those(deployments):
    resources = deployments["efs"]
    rules = {
        (
            rule["security_group_id"],
            rule["referenced_security_group_id"] or rule["prefix_list_id"],
            rule["ip_protocol"],
            (rule["from_port"], rule["to_port"]),
        )
        for kind in ("egress", "ingress")
        for rule in _of_type(resources, f"aws_vpc_security_group_{kind}_rule").values()
    }
    functions = resources["module.network[0].aws_security_group.inside"]["id"]
    mount_targets = resources["module.mount_targets[0].aws_security_group.this"]["id"]
    sqs = resources["module.sqs_endpoint[0].aws_security_group.endpoints"]["id"]
    https, nfs = ("tcp", (443, 443)), ("tcp", (2049, 2049))
    assert rules == {
        (functions, resources["module.network[0].aws_vpc_endpoint.s3"]["prefix_list_id"], *https),
        (functions, sqs, *https),
        (sqs, functions, *https),
        (functions, mount_targets, *nfs),
        (mount_targets, functions, *nfs),
    }


@pytest.mark.parametrize(("run", "buckets"), [("efs", [BUCKET]), ("s3files", [BUCKET, FILES_BUCKET])])
def test_only_the_experiments_buckets_can_be_read_from_the_network(deployments, run, buckets):
    endpoint = deployments[run]["module.network[0].aws_vpc_endpoint.s3"]
    (statement,) = statements(endpoint["policy"])

    assert statement["Action"] == ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"]
    assert statement["Resource"] == [arn for bucket in buckets for arn in (bucket, f"{bucket}/*")]


@pytest.mark.parametrize(("run", "mode"), [("defaults", "elastic"), ("efs", "bursting")])
def test_the_file_system_is_encrypted_and_reached_over_tls_from_every_subnet_that_is_used(deployments, run, mode):
    resources, module = deployments[run], "module.file_system[0]"
    file_system = resources[f"{module}.aws_efs_file_system.this"]

    assert (file_system["encrypted"], file_system["throughput_mode"]) == (True, mode)
    (statement,) = statements(resources[f"{module}.aws_efs_file_system_policy.tls_only"]["policy"])
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", {"AWS": "*"}, "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    point = resources[f"{module}.aws_efs_access_point.data"]
    assert (point["posix_user"][0]["uid"], point["root_directory"][0]["path"]) == (1000, "/data")
    targets = _of_type(resources, "aws_efs_mount_target").values()
    assert sorted(target["subnet_id"] for target in targets) == sorted(
        _first_subnets(resources, 3 if run == "efs" else 2)
    )
    group = resources["module.mount_targets[0].aws_security_group.this"]["id"]
    assert all(target["security_groups"] == [group] for target in targets)


def test_an_experiment_that_is_not_up_has_no_resources(deployments, download):
    filesystems_own = {
        "aws_availability_zones",
        "aws_vpc",
        "aws_subnet",
        "aws_route_table",
        "aws_route_table_association",
        "aws_vpc_endpoint",
        "aws_security_group",
        "aws_vpc_security_group_egress_rule",
        "aws_vpc_security_group_ingress_rule",
        "aws_efs_file_system",
        "aws_efs_file_system_policy",
        "aws_efs_access_point",
        "aws_efs_mount_target",
    }

    assert _types(deployments["defaults"]) - _types(download) == filesystems_own
    assert {address.partition(".aws_")[0].partition(".data")[0] for address in download if "module" in address} == {
        "module.bucket",
        "module.queue",
        "module.worker[0]",
    }
    assert _types(deployments["s3files"]) - _types(deployments["defaults"]) == {
        "aws_cloudformation_stack",
        "aws_s3_bucket_versioning",
    }


def test_s3_files_stands_over_a_versioned_bucket_of_its_own_with_a_mount_target_in_every_subnet(deployments):
    resources, module = deployments["s3_in_vpc_beside_s3files"], "module.s3_files[0]"
    bucket = resources[f"{module}.module.bucket.aws_s3_bucket.data"]["bucket"]
    assert FILES_BUCKET.endswith(f":{bucket}")
    versioning = resources[f"{module}.module.bucket.aws_s3_bucket_versioning.data[0]"]
    assert versioning["versioning_configuration"][0]["status"] == "Enabled"
    assert not [address for address in resources if address.startswith("module.bucket.aws_s3_bucket_versioning")]

    stack = resources[f"{module}.aws_cloudformation_stack.file_system"]
    assert stack["parameters"] == {
        "BucketArn": FILES_BUCKET,
        "RoleArn": "arn:aws:iam::123456789012:role/made-up",
        "Name": "stampede-filesystem-s3files",
    }
    targets = [
        values for address, values in _of_type(resources, "aws_cloudformation_stack").items() if "mount" in address
    ]
    assert sorted(target["parameters"]["SubnetId"] for target in targets) == sorted(_first_subnets(resources, 2))
    group = resources["module.mount_targets[0].aws_security_group.this"]["id"]
    assert {target["parameters"]["SecurityGroupId"] for target in targets} == {group}
    assert {target["parameters"]["FileSystemId"] for target in targets} == {"fs-0123456789abcdef1"}


def test_the_role_of_s3_files_is_for_the_service_and_for_its_bucket(deployments):
    resources, module = deployments["s3files"], "module.s3_files[0]"
    (trust,) = statements(resources[f"{module}.aws_iam_role.synchronisation"]["assume_role_policy"])
    assert trust["Principal"] == {"Service": "elasticfilesystem.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnLike": {"aws:SourceArn": "arn:aws:s3files:us-east-1:123456789012:file-system/*"},
    }
    may = statements(resources[f"{module}.aws_iam_role_policy.synchronisation"]["policy"])
    on_s3 = {statement["Resource"] for statement in may if json.dumps(statement["Action"]).startswith('["s3:')}
    assert on_s3 == {FILES_BUCKET, f"{FILES_BUCKET}/*"}


def test_more_subnets_than_the_region_has_zones_are_refused_in_one_line(planned_wrong):
    assert planned_wrong("filesystem", "subnet_count = 4") == [
        "subnet_count = 4: must be at most 3, the zones of us-east-1 that can be used; there is one subnet a zone."
    ]
