"""What Terraform would really put up: the values inside the modules, after infra/tests/download.tftest.hcl has run."""

import base64
import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.deployed import Resources, deployed, statements

ROOT = Path(__file__).resolve().parents[2]
TLS_ONLY = {"Bool": {"aws:SecureTransport": "false"}}
QUEUE_ARN = "arn:aws:sqs:us-east-1:123456789012:work"  # made up in download.tftest.hcl, like the log group's


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of download.tftest.hcl."""
    return deployed(infra, mocking, "download")


def _function(resources: Resources) -> dict[str, Any]:
    return resources["module.worker[0].aws_lambda_function.worker"]


def _trigger(resources: Resources) -> dict[str, Any]:
    return resources["module.worker[0].aws_lambda_event_source_mapping.queue[0]"]


def test_the_function_is_the_published_one(deployments):
    function = _function(deployments["defaults"])

    assert {
        name: function[name] for name in ("function_name", "description", "runtime", "handler", "architectures")
    } == {
        "function_name": "stampede-download",
        "description": "One timed S3 operation a message, one record a log line.",
        "runtime": "python3.12",
        "handler": "download.handler.handler",
        "architectures": ["x86_64"],
    }
    assert (function["timeout"], function["memory_size"]) == (60, 2048)
    assert function["ephemeral_storage"] == [{"size": 1200}]
    assert function["environment"] == [
        {
            "variables": {
                "CONCURRENCY_LIMIT": "1",
                "BUCKET_NAME": "stampede-download-123456789012-us-east-1",
                "FILE_NAME": "sample_large_file.dat",
                "EXPERIMENT_TAG": "experiment 01",
                "MEMORY_SIZE": "2048",
                "METHOD": "download_file",
                "SINK": "tmp",
                "RANGE_PARALLEL": "8",
                "RANGE_PART_MB": "16",
            }
        }
    ]


def test_printed_lines_reach_the_log_group_as_they_are(deployments):
    logging = _function(deployments["defaults"])["logging_config"][0]

    assert (logging["log_format"], logging["log_group"]) == ("Text", "/aws/lambda/stampede-download")


def test_one_function_at_a_time_is_reserved_and_the_trigger_has_the_smallest_cap(deployments):
    resources = deployments["defaults"]

    assert _function(resources)["reserved_concurrent_executions"] == 1
    assert _trigger(resources)["scaling_config"] == [{"maximum_concurrency": 2}]
    assert _trigger(resources)["provisioned_poller_config"] == []


def test_five_hundred_functions_are_reserved_and_the_trigger_is_capped_there(deployments):
    resources = deployments["five_hundred_with_the_crt"]
    function = _function(resources)

    assert function["reserved_concurrent_executions"] == 500
    assert _trigger(resources)["scaling_config"] == [{"maximum_concurrency": 500}]
    assert _trigger(resources)["provisioned_poller_config"] == []
    assert function["memory_size"] == 1024
    variables = function["environment"][0]["variables"]
    assert (variables["CONCURRENCY_LIMIT"], variables["MEMORY_SIZE"]) == ("500", "1024")
    assert variables["EXPERIMENT_TAG"] == "experiment 02"


def test_provisioned_pollers_take_the_place_of_the_cap(deployments):
    resources = deployments["provisioned_pollers_and_go_into_memory"]

    assert _function(resources)["reserved_concurrent_executions"] == 20000
    assert _trigger(resources)["scaling_config"] == []
    (pollers,) = _trigger(resources)["provisioned_poller_config"]
    assert (pollers["minimum_pollers"], pollers["maximum_pollers"]) == (200, 2000)


def test_every_message_is_one_invocation_and_fails_alone(deployments):
    for resources in deployments.values():
        trigger = _trigger(resources)
        assert trigger["batch_size"] == 1
        assert trigger["function_response_types"] == ["ReportBatchItemFailures"]
        assert trigger["event_source_arn"] == QUEUE_ARN


def test_the_role_may_read_one_object_take_from_one_queue_and_write_to_one_log_group(deployments):
    resources = deployments["defaults"]

    assert statements(resources["module.worker[0].aws_iam_role_policy.worker"]["policy"]) == [
        {
            "Sid": "ReadTheObject",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": "arn:aws:s3:::stampede-download-123456789012-us-east-1/sample_large_file.dat",
        },
        {
            "Sid": "TakeMessages",
            "Effect": "Allow",
            "Action": [
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ChangeMessageVisibility",
            ],
            "Resource": QUEUE_ARN,
        },
        {
            "Sid": "WriteLogs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": "arn:aws:logs:us-east-1:123456789012:log-group:made-up:*",
        },
    ]
    assert statements(resources["module.worker[0].aws_iam_role.worker"]["assume_role_policy"]) == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
        }
    ]


def test_the_role_has_no_other_policy(deployments):
    for resources in deployments.values():
        policies = [address for address in resources if ".aws_iam_" in address and "policy" in address]
        assert policies == ["module.worker[0].aws_iam_role_policy.worker"]


def test_the_bucket_is_private_encrypted_and_goes_with_its_content(deployments):
    resources = {
        address.removeprefix("module.bucket.aws_s3_bucket"): values
        for address, values in deployments["defaults"].items()
        if address.startswith("module.bucket.")
    }

    assert resources[".data"]["force_destroy"] is True
    access = resources["_public_access_block.data"]
    closed = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    assert [access[name] for name in closed] == [True] * 4
    assert resources["_ownership_controls.data"]["rule"] == [{"object_ownership": "BucketOwnerEnforced"}]
    (rule,) = resources["_server_side_encryption_configuration.data"]["rule"]
    assert rule["apply_server_side_encryption_by_default"][0]["sse_algorithm"] == "AES256"
    assert rule["blocked_encryption_types"] == ["SSE-C"]
    (rule,) = resources["_lifecycle_configuration.data"]["rule"]
    assert rule["status"] == "Enabled"
    assert rule["abort_incomplete_multipart_upload"] == [{"days_after_initiation": 1}]
    assert rule["expiration"] == []


def test_bucket_and_queues_refuse_everything_without_tls(deployments):
    resources = deployments["defaults"]
    (bucket,) = statements(resources["module.bucket.aws_s3_bucket_policy.tls_only"]["policy"])
    arn = "arn:aws:s3:::stampede-download-123456789012-us-east-1"
    assert (bucket["Effect"], bucket["Principal"], bucket["Action"]) == ("Deny", "*", "s3:*")
    assert bucket["Resource"] == [arn, f"{arn}/*"]
    assert bucket["Condition"] == TLS_ONLY

    for name, queue in (("work", "stampede-download"), ("dead_letters", "stampede-download-dead-letters")):
        (statement,) = statements(resources[f"module.queue.aws_sqs_queue.{name}"]["policy"])
        assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "sqs:*")
        assert statement["Resource"] == f"arn:aws:sqs:us-east-1:123456789012:{queue}"
        assert statement["Condition"] == TLS_ONLY


def test_a_message_that_fails_five_times_becomes_a_dead_letter_for_two_weeks(deployments):
    resources = deployments["defaults"]
    work = resources["module.queue.aws_sqs_queue.work"]
    dead_letters = resources["module.queue.aws_sqs_queue.dead_letters"]

    assert json.loads(resources["module.queue.aws_sqs_queue_redrive_policy.work"]["redrive_policy"]) == {
        "deadLetterTargetArn": dead_letters["arn"],
        "maxReceiveCount": 5,
    }
    assert json.loads(dead_letters["redrive_allow_policy"]) == {
        "redrivePermission": "byQueue",
        "sourceQueueArns": [f"arn:aws:sqs:us-east-1:123456789012:{work['name']}"],
    }
    assert dead_letters["message_retention_seconds"] == 14 * 24 * 3600
    assert work["sqs_managed_sse_enabled"] is True
    assert dead_letters["sqs_managed_sse_enabled"] is True


@pytest.mark.parametrize(
    "run", ["defaults", "five_hundred_with_the_crt", "provisioned_pollers_and_go_into_memory", "own_values"]
)
def test_a_message_stays_hidden_for_at_least_six_function_timeouts(deployments, run):
    resources = deployments[run]
    hidden_s = resources["module.queue.aws_sqs_queue.work"]["visibility_timeout_seconds"]

    assert hidden_s >= 6 * _function(resources)["timeout"]


def test_given_names_and_sizes_reach_every_resource(deployments):
    resources = deployments["own_values"]
    function = _function(resources)

    assert resources["module.bucket.aws_s3_bucket.data"]["bucket"] == "my.own-bucket"
    read = statements(resources["module.worker[0].aws_iam_role_policy.worker"]["policy"])[0]
    assert read["Resource"] == "arn:aws:s3:::my.own-bucket/data/big-file's_(1).bin"
    assert function["environment"][0]["variables"]["FILE_NAME"] == "data/big-file's_(1).bin"
    assert function["architectures"] == ["arm64"]
    assert function["ephemeral_storage"] == [{"size": 10240}]
    assert (function["timeout"], function["memory_size"]) == (900, 10240)
    assert function["reserved_concurrent_executions"] == 500
    assert _trigger(resources)["scaling_config"] == [{"maximum_concurrency": 100}]
    assert resources["module.queue.aws_sqs_queue.work"]["visibility_timeout_seconds"] == 43200
    assert resources["module.queue.aws_sqs_queue.work"]["name"] == "herd-download"
    assert resources["module.worker[0].aws_iam_role.worker"]["name"] == "herd-download-eu-west-1"
    group = resources["module.worker[0].aws_cloudwatch_log_group.worker"]
    assert (group["name"], group["retention_in_days"]) == ("/aws/lambda/herd-download", 30)


def test_log_lines_are_kept_for_a_week(deployments):
    group = deployments["defaults"]["module.worker[0].aws_cloudwatch_log_group.worker"]

    assert (group["name"], group["retention_in_days"]) == ("/aws/lambda/stampede-download", 7)


def test_no_access_log_is_written_and_none_of_its_queries_is_in_the_console_unless_asked_for(deployments):
    assert not [resource for resource in deployments["defaults"] if "access_log" in resource]


@pytest.mark.parametrize(
    ("name", "run", "stack", "buckets"),
    [
        ("download", "own_values", "herd-download", {"data": "my.own-bucket"}),
        ("copy", "many_functions_share_a_manifest", "stampede-copy", {"data": "", "copies": "-copies"}),
        ("copy_host", "three_small_hosts_on_arm", "herd-copy-host", {"data": "my.own-bucket"}),
        ("express", "downloads_in_the_buckets_zone", "stampede-express", {"data": ""}),
        ("filesystem", "efs", "stampede-filesystem", {"data": ""}),
    ],
)
def test_requests_for_the_data_are_logged_by_s3_into_a_group_of_their_own(infra, mocking, name, run, stack, buckets):
    resources = deployed(infra, mocking, name)[run]
    own = {address.removeprefix("module.access_log[0]."): values for address, values in resources.items()}
    arns = {}
    for what, end in buckets.items():
        bucket = end if "." in end else f"{stack}{end}-123456789012-us-east-1"
        arns[what] = f"arn:aws:s3:::{bucket}"

    sources = [values for address, values in own.items() if address.startswith("aws_cloudwatch_log_delivery_source.")]
    assert {(source["name"], source["log_type"], source["resource_arn"]) for source in sources} == {
        (f"{stack}-{what}", "S3_SERVER_ACCESS_LOGS", arn) for what, arn in arns.items()
    }
    deliveries = [values for address, values in own.items() if address.startswith("aws_cloudwatch_log_delivery.")]
    assert {delivery["delivery_source_name"] for delivery in deliveries} == {source["name"] for source in sources}
    assert {delivery["delivery_destination_arn"] for delivery in deliveries} == {
        own["aws_cloudwatch_log_delivery_destination.group"]["arn"]
    }
    group = own["aws_cloudwatch_log_group.access"]
    assert group["name"] == f"/aws/vendedlogs/s3/{stack}"
    query = own['aws_cloudwatch_query_definition.access_log["server_side"]']
    assert query["log_group_names"] == [group["name"]]
    assert query["query_string"] == (ROOT / "queries/access_log/server_side.cwli").read_text()


def test_only_the_delivery_service_on_behalf_of_this_account_may_write_access_logs(deployments):
    resources = deployments["own_values"]
    [statement] = statements(
        resources["module.access_log[0].aws_cloudwatch_log_resource_policy.delivery"]["policy_document"]
    )

    assert statement == {
        "Sid": "S3Delivers",
        "Effect": "Allow",
        "Principal": {"Service": "delivery.logs.amazonaws.com"},
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": "arn:aws:logs:us-east-1:123456789012:log-group:made-up:log-stream:*",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": "123456789012"},
            "ArnLike": {"aws:SourceArn": "arn:aws:logs:eu-west-1:123456789012:*"},
        },
    }
    assert resources["module.access_log[0].aws_cloudwatch_log_group.access"]["retention_in_days"] == 30


def test_every_saved_query_is_in_the_console_word_for_word(deployments, infra):
    folders = [infra.parent / "queries" / name for name in ("common", "download")]
    files = {path.stem: path for folder in folders for path in folder.glob("*.cwli")}
    assert {"sample", "errors"} <= set(files)

    saved = {
        values["name"]: values
        for address, values in deployments["defaults"].items()
        if address.startswith("aws_cloudwatch_query_definition.saved")
    }
    assert set(saved) == {f"stampede/download/{name}" for name in files}
    for name, path in files.items():
        assert saved[f"stampede/download/{name}"]["query_string"] == path.read_text()
        assert saved[f"stampede/download/{name}"]["log_group_names"] == ["/aws/lambda/stampede-download"]


def test_the_zip_holds_the_python_files_of_both_packages_and_nothing_else(deployments, infra):
    archive, functions = infra / ".build/download.zip", infra.parent / "functions"
    paths = [path for name in ("common", "download") for path in (functions / name).glob("*.py")]
    sources = {str(path.relative_to(functions)): path for path in paths}
    assert {"common/__init__.py", "common/record.py", "download/__init__.py", "download/handler.py"} <= set(sources)

    with zipfile.ZipFile(archive) as opened:
        assert sorted(opened.namelist()) == sorted(sources)
        for name, path in sources.items():
            assert opened.read(name) == path.read_bytes()
    assert _function(deployments["defaults"])["source_code_hash"] == _digest(archive)


def _digest(archive: Path) -> str:
    return base64.b64encode(hashlib.sha256(archive.read_bytes()).digest()).decode()


@pytest.mark.parametrize(
    ("run", "architecture"), [("provisioned_pollers_and_go_into_memory", "x86_64"), ("go_on_arm", "arm64")]
)
def test_a_go_method_is_the_program_built_for_its_processor(deployments, infra, run, architecture):
    function = _function(deployments[run])
    archive = infra / f".build/transfer-{architecture}.zip"

    with zipfile.ZipFile(archive) as opened:
        assert opened.read("bootstrap").decode() == f"built for {architecture}"
        assert opened.getinfo("bootstrap").external_attr >> 16 & 0o777 == 0o755
        assert opened.namelist() == ["bootstrap"]
    assert function["source_code_hash"] == _digest(archive)

    assert (function["runtime"], function["handler"]) == ("provided.al2023", "bootstrap")
    assert function["architectures"] == [architecture]
    assert function["layers"] in ([], None)


def test_the_download_method_reaches_the_function(deployments):
    variables = _function(deployments["provisioned_pollers_and_go_into_memory"])["environment"][0]["variables"]
    settings = {name: variables[name] for name in ("METHOD", "SINK", "RANGE_PARALLEL", "RANGE_PART_MB")}

    assert settings == {"METHOD": "go_ranges", "SINK": "memory", "RANGE_PARALLEL": "64", "RANGE_PART_MB": "64"}


def test_the_crt_comes_as_a_layer_of_the_python_function(deployments):
    resources = deployments["five_hundred_with_the_crt"]
    layer = resources["module.worker[0].aws_lambda_layer_version.packages[0]"]

    assert (layer["compatible_runtimes"], layer["compatible_architectures"]) == (["python3.12"], ["x86_64"])
    assert _function(resources)["layers"] == [layer["arn"]]
    assert _function(resources)["runtime"] == "python3.12"
    assert _function(resources)["environment"][0]["variables"]["SINK"] == "tmp"


def test_the_infrastructure_knows_nothing_of_emulators():
    files = [path for path in (ROOT / "infra").rglob("*.tf") if ".terraform" not in path.parts]
    assert len(files) > 10

    for path in files:
        code = re.sub(r"(?m)#.*$", "", path.read_text())
        assert not re.search(
            r"localhost|127\.0\.0\.1|ministack|localstack|\bendpoint(s|_url)?\s*[={]|emulator", code, re.IGNORECASE
        ), path
