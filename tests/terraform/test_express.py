"""What the storage class experiment would really put up, after infra/tests/express.tftest.hcl has run."""

from typing import Any

import pytest

from tests.terraform.deployed import Resources, deployed, statements

STANDARD = "arn:aws:s3:::stampede-express-123456789012-us-east-1"
EXPRESS = "arn:aws:s3express:us-east-1:123456789012:bucket/stampede-express-123456789012--use1-az4--x-s3"
OWN = "arn:aws:s3express:us-east-1:123456789012:bucket/my-own--use1-az6--x-s3"


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of express.tftest.hcl."""
    return deployed(infra, mocking, "express")


def _function(resources: Resources, module: str = "module.worker[0]") -> dict[str, Any]:
    return resources[f"{module}.aws_lambda_function.worker"]


def _may(resources: Resources, module: str = "module.worker[0]") -> list[dict]:
    return statements(resources[f"{module}.aws_iam_role_policy.worker"]["policy"])


def _session(mode: str, bucket: str) -> dict[str, Any]:
    return {
        "Sid": f"{mode}Sessions",
        "Effect": "Allow",
        "Action": "s3express:CreateSession",
        "Resource": bucket,
        "Condition": {"StringEquals": {"s3express:SessionMode": mode}},
    }


def _on_standard(sid: str, action: str, bucket: str = STANDARD) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": f"{bucket}/data/*"}


def test_the_directory_bucket_is_in_one_zone_and_has_no_policy_that_could_open_it(deployments):
    module = "module.directory_bucket[0]"
    for run, arn, zone in (("defaults", EXPRESS, "use1-az4"), ("downloads_in_the_buckets_zone", OWN, "use1-az6")):
        bucket = deployments[run][f"{module}.aws_s3_directory_bucket.data"]
        assert (arn.endswith(f"/{bucket['bucket']}"), bucket["force_destroy"]) == (True, True)
        assert bucket["location"] == [{"name": zone, "type": "AvailabilityZone"}]
        assert bucket["data_redundancy"] == "SingleAvailabilityZone"
        assert [address for address in deployments[run] if address.startswith(module)] == [
            f"{module}.aws_s3_directory_bucket.data"
        ]


def test_the_function_is_the_go_program_and_gets_what_to_do_and_where(deployments):
    resources = deployments["downloads_in_the_buckets_zone"]
    function = _function(resources)

    names = ("runtime", "handler", "architectures", "memory_size", "timeout", "reserved_concurrent_executions")
    assert [function[name] for name in names] == ["provided.al2023", "bootstrap", ["arm64"], 2048, 900, 1]
    assert function["environment"][0]["variables"] == {
        "EXPERIMENT": "express",
        "OPERATION": "download",
        "BUCKET_NAME": STANDARD.rpartition(":")[2],
        "EXPRESS_BUCKET_NAME": "my-own--use1-az6--x-s3",
        "PLACEMENT": "same_zone",
        "CONCURRENCY_LIMIT": "1",
        "MEMORY_SIZE": "2048",
        "EXPERIMENT_TAG": "experiment 01",
    }


@pytest.mark.parametrize(
    ("run", "own"),
    [
        ("defaults", [_on_standard("WriteTheObjects", "s3:PutObject"), _session("ReadWrite", EXPRESS)]),
        (
            "downloads_in_the_buckets_zone",
            [_on_standard("ReadTheObjects", "s3:GetObject"), _session("ReadOnly", OWN)],
        ),
    ],
)
def test_the_function_may_do_what_is_measured_and_nothing_else(deployments, run, own):
    may = _may(deployments[run])

    assert may[: len(own)] == own
    common = ["TakeMessages", "JoinTheNetwork", "OnlyLambdaItself", "WriteLogs"]
    assert [statement["Sid"] for statement in may[len(own) :]] == common


def test_what_places_objects_may_write_both_classes_whatever_is_measured_and_is_triggered_by_nothing(deployments):
    resources, module = deployments["downloads_in_the_buckets_zone"], "module.placing_objects[0]"
    function = _function(resources, module)

    assert (function["timeout"], function["memory_size"], function["vpc_config"]) == (900, 1769, [])
    assert function["reserved_concurrent_executions"] in (None, -1)
    environment = function["environment"][0]["variables"]
    assert environment == _function(resources)["environment"][0]["variables"] | {
        "OPERATION": "upload",
        "PLACEMENT": "any_zone",
        "MEMORY_SIZE": "1769",
    }
    listing = {
        "Sid": "ListTheObjects",
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": STANDARD,
        "Condition": {"StringLike": {"s3:prefix": "data/*"}},
    }
    *own, logs = _may(resources, module)
    assert own == [listing, _on_standard("WriteTheObjects", "s3:PutObject"), _session("ReadWrite", OWN)]
    assert logs["Sid"] == "WriteLogs"
    assert not [address for address in resources if address.startswith(f"{module}.aws_lambda_event_source_mapping")]


def test_the_workgroup_holds_every_query_to_its_limit_and_its_results_expire(deployments):
    module = "module.athena[0]"
    for run, limit_mb in (("defaults", 20000), ("downloads_in_the_buckets_zone", 10)):
        workgroup = deployments[run][f"{module}.aws_athena_workgroup.this"]
        (settings,) = workgroup["configuration"]
        assert (workgroup["force_destroy"], settings["enforce_workgroup_configuration"]) == (True, True)
        assert settings["bytes_scanned_cutoff_per_query"] == limit_mb * 1024 * 1024
        assert settings["engine_version"][0]["selected_engine_version"] == "Athena engine version 3"
        (results,) = settings["result_configuration"]
        assert results["output_location"] == "s3://stampede-express-athena-123456789012-us-east-1/"
        assert results["encryption_configuration"][0]["encryption_option"] == "SSE_S3"
    lifecycle = deployments["defaults"][f"{module}.module.results.aws_s3_bucket_lifecycle_configuration.data"]
    assert [expiration["days"] for rule in lifecycle["rule"] for expiration in rule["expiration"]] == [1]


def test_each_class_has_a_table_whose_partitions_a_query_names(deployments):
    tables = {
        values["name"]: values
        for address, values in deployments["defaults"].items()
        if ".aws_glue_catalog_table." in address
    }

    buckets = {"standard": STANDARD.rpartition(":")[2], "express": EXPRESS.rpartition("/")[2]}
    assert tables.keys() == buckets.keys()
    for name, table in tables.items():
        (described,) = table["storage_descriptor"]
        assert (table["database_name"], described["location"]) == ("stampede_express", f"s3://{buckets[name]}/data/")
        (serde,) = described["ser_de_info"]
        assert serde["serialization_library"] == "org.openx.data.jsonserde.JsonSerDe"
        columns = [(column["name"], column["type"]) for column in described["columns"]]
        assert columns == [("object", "string"), ("value", "int"), ("pad", "string")]
        keys = [(key["name"], key["type"]) for key in table["partition_keys"]]
        assert keys == [("object_bytes", "string"), ("object_count", "string")]
        assert {name: value for name, value in table["parameters"].items() if "projection" in name} == {
            "projection.enabled": "true",
            "projection.object_bytes.type": "injected",
            "projection.object_count.type": "injected",
        }


def test_the_network_stays_whatever_the_placement_is(deployments):
    """Terraform destroys a network before it updates the function that leaves it, and EC2 doesn't let go of it then."""
    outside, inside = deployments["defaults"], deployments["downloads_in_the_buckets_zone"]
    network = {name: values["id"] for name, values in outside.items() if name.startswith("module.zone_network[0].aws_")}
    assert len(network) > 10
    assert {name: inside[name]["id"] for name in network} == network


def test_in_the_buckets_zone_the_function_reaches_both_buckets_and_nothing_else(deployments):
    resources, module = deployments["downloads_in_the_buckets_zone"], "module.zone_network[0]"

    (zone_filter,) = resources["data.aws_availability_zones.of_express[0]"]["filter"]
    assert (zone_filter["name"], zone_filter["values"]) == ("zone-id", ["use1-az6"])
    subnet = resources[f'{module}.aws_subnet.private["us-east-1c"]']
    assert subnet["availability_zone"] == "us-east-1c"
    group = resources[f"{module}.aws_security_group.inside"]
    (network,) = _function(resources)["vpc_config"]
    assert (network["subnet_ids"], network["security_group_ids"]) == ([subnet["id"]], [group["id"]])

    allowed = {}
    for name in ("s3", "s3express[0]"):
        endpoint = resources[f"{module}.aws_vpc_endpoint.{name}"]
        rule = resources[f"{module}.aws_vpc_security_group_egress_rule.to_{name}"]
        assert (endpoint["vpc_endpoint_type"], rule["prefix_list_id"]) == ("Gateway", endpoint["prefix_list_id"])
        assert (rule["security_group_id"], rule["from_port"], rule["to_port"]) == (group["id"], 443, 443)
        (statement,) = statements(endpoint["policy"])
        allowed[endpoint["service_name"]] = (statement["Action"], statement["Resource"])
    assert allowed == {
        "com.amazonaws.us-east-1.s3": (["s3:GetObject", "s3:PutObject"], [STANDARD, f"{STANDARD}/*"]),
        "com.amazonaws.us-east-1.s3express": ("s3express:CreateSession", [OWN]),
    }
    assert not _function(deployments["defaults"])["vpc_config"]
