"""What the copy by functions would really put up, after infra/tests/copy.tftest.hcl has run."""

from typing import Any

import pytest

from tests.terraform.deployed import Resources, deployed, statements

SOURCE = "arn:aws:s3:::stampede-copy-123456789012-us-east-1"
COPIES = "arn:aws:s3:::stampede-copy-copies-123456789012-us-east-1"


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of copy.tftest.hcl."""
    return deployed(infra, mocking, "copy")


def _function(resources: Resources) -> dict[str, Any]:
    return resources["module.worker[0].aws_lambda_function.worker"]


def test_the_function_is_the_published_one_and_the_go_program(deployments):
    function = _function(deployments["defaults"])

    names = ("function_name", "runtime", "handler", "architectures", "memory_size", "timeout")
    assert {name: function[name] for name in (*names, "reserved_concurrent_executions", "vpc_config")} == {
        "function_name": "stampede-copy",
        "runtime": "provided.al2023",
        "handler": "bootstrap",
        "architectures": ["x86_64"],
        "memory_size": 512,
        "timeout": 900,
        "reserved_concurrent_executions": 1,
        "vpc_config": [],
    }
    assert function["filename"].endswith("/.build/transfer-x86_64.zip")


COMMON = {
    "EXPERIMENT": "copy",
    "BUCKET_NAME": SOURCE.rpartition(":")[2],
    "DESTINATION_BUCKET_NAME": COPIES.rpartition(":")[2],
    "DESTINATION_PREFIX": "",
    "EXPERIMENT_TAG": "experiment 01",
}


@pytest.mark.parametrize(
    ("run", "own"),
    [
        ("defaults", {"CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "512", "OBJECT_COUNT": "1000", "KEY_ORDER": "none"}),
        (
            "many_functions_share_a_manifest",
            {
                "CONCURRENCY_LIMIT": "500",
                "MEMORY_SIZE": "1769",
                "OBJECT_COUNT": "219120",
                "KEY_ORDER": "reversed_hash",
            },
        ),
    ],
)
def test_the_program_gets_what_to_copy_and_where_to(deployments, run, own):
    source = {"SOURCE_PREFIX": f"source/{own['OBJECT_COUNT']}/"}  # of another number of objects nothing is left there
    assert _function(deployments[run])["environment"][0]["variables"] == {**COMMON, **source, **own}


def test_many_functions_are_reserved_and_the_trigger_is_capped_there(deployments):
    resources = deployments["many_functions_share_a_manifest"]

    function = _function(resources)
    assert (function["reserved_concurrent_executions"], function["architectures"]) == (500, ["arm64"])
    assert (function["memory_size"], function["timeout"]) == (1769, 600)
    trigger = resources["module.worker[0].aws_lambda_event_source_mapping.queue[0]"]
    assert (trigger["batch_size"], trigger["scaling_config"]) == (1, [{"maximum_concurrency": 500}])


def test_the_role_may_read_the_source_write_the_copies_and_delete_nowhere_else(deployments):
    for resources in deployments.values():
        *own, messages, logs = statements(resources["module.worker[0].aws_iam_role_policy.worker"]["policy"])
        assert own == [
            {
                "Sid": "ListTheSource",
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": SOURCE,
                "Condition": {"StringLike": {"s3:prefix": ["masters/*", "manifest/*", "source/*"]}},
            },
            {
                "Sid": "ReadTheSource",
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"{SOURCE}/masters/*", f"{SOURCE}/manifest/*", f"{SOURCE}/source/*"],
            },
            {
                "Sid": "WriteTheCopies",
                "Effect": "Allow",
                "Action": ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"],
                "Resource": f"{COPIES}/*",
            },
            {
                "Sid": "DeleteNowhereElse",
                "Effect": "Deny",
                "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:DeleteBucket"],
                "NotResource": f"{COPIES}/*",
            },
            {"Sid": "ListTheCopies", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": COPIES},
        ]
        assert (messages["Sid"], logs["Sid"]) == ("TakeMessages", "WriteLogs")


def test_both_buckets_are_private_encrypted_by_s3_and_go_with_their_content(deployments):
    resources = deployments["defaults"]
    for module, arn in (("module.bucket", SOURCE), ("module.copies[0]", COPIES)):
        data = resources[f"{module}.aws_s3_bucket.data"]
        assert (f"arn:aws:s3:::{data['bucket']}", data["force_destroy"]) == (arn, True)
        access = resources[f"{module}.aws_s3_bucket_public_access_block.data"]
        assert (access["restrict_public_buckets"], access["block_public_policy"]) == (True, True)
        (rule,) = resources[f"{module}.aws_s3_bucket_server_side_encryption_configuration.data"]["rule"]
        assert rule["apply_server_side_encryption_by_default"][0]["sse_algorithm"] == "AES256"
        (policy,) = statements(resources[f"{module}.aws_s3_bucket_policy.tls_only"]["policy"])
        assert (policy["Effect"], policy["Resource"]) == ("Deny", [arn, f"{arn}/*"])


def test_there_is_no_network_no_key_and_no_host(deployments):
    modules = {
        address.partition(".aws_")[0].partition(".data")[0]
        for address in deployments["defaults"]
        if address.startswith("module.")
    }
    assert modules == {"module.bucket", "module.copies[0]", "module.queue", "module.worker[0]"}


def test_a_source_that_would_be_its_own_destination_is_refused_in_one_line(planned_wrong):
    name = COPIES.rpartition(":")[2]
    (message,) = planned_wrong("copy", f's3_bucket_name = "{name}"')
    assert message == (
        f's3_bucket_name = "{name}": must not be the bucket that is copied to and emptied; choose another name, or '
        "leave it out."
    )
