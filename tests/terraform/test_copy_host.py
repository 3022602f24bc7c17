"""What the copy by hosts would really put up, after infra/tests/copy_host.tftest.hcl has run."""

import hashlib
import re
import subprocess

import pytest

from tests.terraform.deployed import Resources, deployed, first_run_anew, statements

BUCKET = "arn:aws:s3:::stampede-copy-host-123456789012-us-east-1"
KEY = "arn:aws:kms:us-east-1:123456789012:key/made-up"  # made up in copy_host.tftest.hcl, like other ARNs
PROGRAM_SHA256 = hashlib.sha256(b"built for x86_64").hexdigest()  # the stand-in that conftest.py puts there


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of copy_host.tftest.hcl."""
    return deployed(infra, mocking, "copy_host")


def _hosts(resources: Resources) -> list[dict]:
    return [values for address, values in resources.items() if ".aws_instance." in address]


def _only(resources: Resources, kind: str) -> dict:
    (matching,) = [values for address, values in resources.items() if f".{kind}." in address]
    return matching


def test_the_host_is_the_published_one_closed_and_encrypted(deployments):
    resources = deployments["defaults"]
    (host,) = _hosts(resources)

    assert host["instance_type"] == "m5a.8xlarge"
    (metadata,) = host["metadata_options"]
    names = ("http_endpoint", "http_tokens", "http_put_response_hop_limit")
    assert [metadata[name] for name in names] == ["enabled", "required", 1]
    (disk,) = host["root_block_device"]
    assert (disk["encrypted"], disk["volume_type"]) == (True, "gp3")
    assert host["key_name"] in (None, "") or not host["key_name"].startswith("stampede")
    assert host["associate_public_ip_address"] is False
    assert host["user_data_replace_on_change"] is True
    assert host["subnet_id"] == resources['module.host_network[0].aws_subnet.private["us-east-1b"]']["id"]
    assert host["vpc_security_group_ids"] == [resources["module.host_network[0].aws_security_group.inside"]["id"]]
    assert host["iam_instance_profile"] == "stampede-copy-host-us-east-1"
    assert host["ami"] == resources["module.host[0].data.aws_ami.linux"]["id"]


@pytest.mark.parametrize(("run", "processor"), [("defaults", "x86_64"), ("three_small_hosts_on_arm", "arm64")])
def test_hosts_run_the_newest_amazon_linux_2023_for_their_processor(deployments, run, processor):
    image = deployments[run]["module.host[0].data.aws_ami.linux"]

    assert (image["owners"], image["most_recent"]) == (["amazon"], True)
    assert {rule["name"]: rule["values"] for rule in image["filter"]} == {
        "name": [f"al2023-ami-2023.*-{processor}"],
        "architecture": [processor],
    }


def test_n_is_the_number_of_hosts_and_given_names_reach_every_resource(deployments):
    resources = deployments["three_small_hosts_on_arm"]

    assert [(host["instance_type"], host["tags"]["Name"]) for host in _hosts(resources)] == [
        ("m7g.4xlarge", f"herd-copy-host-{number}") for number in range(3)
    ]
    assert _only(resources, "aws_iam_instance_profile")["name"] == "herd-copy-host-eu-west-1"
    group = resources["module.host[0].aws_cloudwatch_log_group.host"]
    assert (group["name"], group["retention_in_days"]) == ("/stampede/herd-copy-host", 30)
    assert resources["module.queue.aws_sqs_queue.work"]["name"] == "herd-copy-host"


def test_a_fresh_host_fetches_this_program_and_runs_it_as_a_service_with_its_environment(deployments):
    resources = deployments["defaults"]
    script = _hosts(resources)[0]["user_data"]

    program = _only(resources, "aws_s3_object")
    assert program["key"] == f"program/{PROGRAM_SHA256}/transfer"
    assert program["source"].endswith("functions/transfer/build/x86_64/bootstrap")
    bucket = BUCKET.rpartition(":")[2]
    fetch = f"aws s3 cp --region us-east-1 --only-show-errors s3://{bucket}/{program['key']} /usr/local/bin/transfer"
    assert fetch in script
    assert f'echo "{PROGRAM_SHA256}  /usr/local/bin/transfer" | sha256sum --check' in script

    written = re.search(r"(?s)transfer\.env <<'EOF'\n(.*?)EOF\n", script)[1]
    environment = dict(re.findall(r'(?m)^(\w+)="(.*)"$', written))
    assert len(environment) == len(written.splitlines()) == 13
    assert environment["EXPERIMENT_TAG"] == "experiment 01"
    assert environment["DESTINATION_PREFIX"] == "copies/"
    assert environment["QUEUE_URL"] == "https://sqs.us-east-1.amazonaws.com/123456789012/work"

    service = re.search(r"(?s)transfer\.service <<'EOF'\n(.*?)EOF\n", script)[1].splitlines()
    assert {
        "ExecStart=/usr/local/bin/transfer work",
        "EnvironmentFile=/etc/stampede/transfer.env",
        "DynamicUser=yes",
        "Restart=always",
        "LimitNOFILE=1048576",
    } <= set(service)
    assert script.rstrip().endswith("systemctl enable --now transfer.service")


def test_the_start_script_is_one_that_bash_reads(deployments):
    script = _hosts(deployments["defaults"])[0]["user_data"]
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_hosts_may_copy_take_messages_log_and_be_reached_by_session_manager_and_nothing_else(deployments):
    resources = deployments["defaults"]
    (trust,) = statements(_only(resources, "aws_iam_role")["assume_role_policy"])
    assert trust["Principal"] == {"Service": "ec2.amazonaws.com"}

    assert statements(_only(resources, "aws_iam_role_policy")["policy"]) == [
        {
            "Sid": "ListTheSource",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": BUCKET,
            "Condition": {"StringLike": {"s3:prefix": ["masters/*", "manifest/*", "copies/*"]}},
        },
        {
            "Sid": "ReadTheSource",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": [f"{BUCKET}/masters/*", f"{BUCKET}/manifest/*"],
        },
        {
            "Sid": "WriteTheCopies",
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"],
            "Resource": f"{BUCKET}/copies/*",
        },
        {
            "Sid": "DeleteNowhereElse",
            "Effect": "Deny",
            "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:DeleteBucket"],
            "NotResource": f"{BUCKET}/copies/*",
        },
        {
            "Sid": "FetchTheProgram",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": f"{BUCKET}/program/*",
        },
        {
            "Sid": "UseTheBucketsKey",
            "Effect": "Allow",
            "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
            "Resource": KEY,
        },
        {
            "Sid": "TakeMessages",
            "Effect": "Allow",
            "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
            "Resource": "arn:aws:sqs:us-east-1:123456789012:work",
        },
        {
            "Sid": "WriteLogs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": "arn:aws:logs:us-east-1:123456789012:log-group:made-up:*",
        },
        {
            "Sid": "BeReachedBySessionManager",
            "Effect": "Allow",
            "Action": [
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            "Resource": "*",
        },
    ]


def test_the_hosts_reach_s3_and_four_services_and_nobody_reaches_the_hosts(deployments):
    resources = deployments["defaults"]
    hosts = resources["module.host_network[0].aws_security_group.inside"]["id"]
    closed = resources["module.endpoints[0].aws_security_group.endpoints"]["id"]
    gateway = resources["module.host_network[0].aws_vpc_endpoint.s3"]

    rules = {
        address.rpartition(".")[2]: (
            rule["security_group_id"],
            rule["referenced_security_group_id"] or rule["prefix_list_id"],
            (rule["ip_protocol"], rule["from_port"], rule["to_port"]),
        )
        for address, rule in resources.items()
        if "_rule." in address and ".aws_vpc_security_group_" in address
    }
    https = ("tcp", 443, 443)
    assert rules == {
        "to_s3": (hosts, gateway["prefix_list_id"], https),
        "to_endpoints": (hosts, closed, https),
        "from_inside": (closed, hosts, https),
    }
    interfaces = [values for address, values in resources.items() if ".aws_vpc_endpoint.service[" in address]
    assert {interface["service_name"] for interface in interfaces} == {
        f"com.amazonaws.us-east-1.{service}" for service in ("sqs", "logs", "ssm", "ssmmessages")
    }
    assert all(
        interface["private_dns_enabled"] and interface["security_group_ids"] == [closed] for interface in interfaces
    )
    assert resources["module.host_network[0].aws_vpc.this"]["enable_dns_hostnames"] is True


def test_the_gateway_lets_hosts_copy_inside_their_bucket_alone(deployments):
    (statement,) = statements(deployments["defaults"]["module.host_network[0].aws_vpc_endpoint.s3"]["policy"])

    assert statement["Action"] == ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"]
    assert statement["Resource"] == [BUCKET, f"{BUCKET}/*"]


def test_the_hosts_are_in_a_zone_that_has_the_instance_type_and_the_endpoints_in_the_first(deployments):
    resources = deployments["defaults"]

    subnets = {name: resources[f'module.host_network[0].aws_subnet.private["us-east-1{name}"]']["id"] for name in "ab"}
    hosts = [values for address, values in resources.items() if ".aws_instance." in address]
    assert {host["subnet_id"] for host in hosts} == {subnets["b"]}  # the first zone has none: copy_host.tftest
    endpoints = [values for address, values in resources.items() if ".aws_vpc_endpoint.service" in address]
    assert [endpoint["subnet_ids"] for endpoint in endpoints] == [[subnets["a"]]] * 4
    offered = resources["data.aws_ec2_instance_type_offerings.of_hosts[0]"]
    assert offered["location_type"] == "availability-zone"
    assert [(filter_rule["name"], filter_rule["values"]) for filter_rule in offered["filter"]] == [
        ("instance-type", ["m5a.8xlarge"])
    ]


@pytest.mark.parametrize(("run", "bucket_key"), [("defaults", True), ("three_small_hosts_on_arm", False)])
def test_the_bucket_is_encrypted_by_a_key_of_its_own_with_or_without_a_bucket_key(deployments, run, bucket_key):
    encryption = deployments[run]["module.bucket.aws_s3_bucket_server_side_encryption_configuration.data"]

    (rule,) = encryption["rule"]
    assert (rule["bucket_key_enabled"], rule["blocked_encryption_types"]) == (bucket_key, ["SSE-C"])
    (by_default,) = rule["apply_server_side_encryption_by_default"]
    assert by_default == {"sse_algorithm": "aws:kms", "kms_master_key_id": KEY}


def test_the_key_turns_goes_after_a_week_and_is_for_this_bucket_through_s3(deployments):
    key = deployments["defaults"]["module.key[0].aws_kms_key.this"]

    assert (key["enable_key_rotation"], key["deletion_window_in_days"]) == (True, 7)
    managed, used, *deployers = statements(key["policy"])
    account = {"AWS": "arn:aws:iam::123456789012:root"}
    assert (managed["Principal"], used["Principal"]) == (account, account)
    assert not {"kms:*", "kms:Decrypt", "kms:GenerateDataKey", "kms:Encrypt", "kms:CreateGrant"} & set(
        managed["Action"]
    )
    assert used["Action"] == ["kms:GenerateDataKey", "kms:Decrypt"]
    through_s3 = {
        "StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"},
        "StringLike": {"kms:EncryptionContext:aws:s3:arn": [BUCKET, f"{BUCKET}/*"]},
    }
    assert used["Condition"] == through_s3
    roles = ["arn:aws:iam::123456789012:role/deployer", "arn:aws:iam::123456789012:role/*/deployer"]
    deployer = {"ArnLike": {"aws:PrincipalArn": roles}}
    assert [(statement["Action"], statement["Condition"]) for statement in deployers] == [
        (managed["Action"], deployer),
        (used["Action"], deployer | through_s3),
    ]


def test_there_is_no_function_and_saved_queries_also_those_of_copy_are_bound_to_the_hosts_log_group(deployments, infra):
    resources = deployments["defaults"]

    assert not [address for address in resources if "aws_lambda" in address]
    saved = [values for address, values in resources.items() if address.startswith("aws_cloudwatch_query_definition.")]
    folders = [infra.parent / "queries" / name for name in ("common", "copy", "copy_host")]
    texts = {path.stem: path.read_text() for folder in folders for path in folder.glob("*.cwli")}
    assert {query["name"]: query["query_string"] for query in saved} == {
        f"stampede/copy_host/{name}": text for name, text in texts.items()
    }
    assert {tuple(query["log_group_names"]) for query in saved} == {("/stampede/stampede-copy-host",)}


def test_a_host_is_another_one_with_another_program(infra, mocking, deployments):
    program = infra.parent / "functions/transfer/build/x86_64/bootstrap"
    before, kept = _hosts(deployments["defaults"])[0]["user_data"], program.read_bytes()
    program.write_text("another build")
    try:
        after = _hosts(first_run_anew(infra, mocking, "copy_host"))[0]["user_data"]
    finally:
        program.write_bytes(kept)

    assert before.replace(PROGRAM_SHA256, hashlib.sha256(b"another build").hexdigest()) == after != before


def test_an_instance_type_that_the_region_does_not_have_is_refused_in_one_line(planned_wrong):
    target = "data.aws_ec2_instance_type_offerings.of_hosts"
    none = f"  override_data {{\n    target = {target}\n    values = {{ locations = [] }}\n  }}\n"
    assert 'instance_type = "m5a.8xlarge": must be one that us-east-1 has; choose another type or region.' in (
        planned_wrong("copy_host", "concurrency_value = 1", none)
    )
