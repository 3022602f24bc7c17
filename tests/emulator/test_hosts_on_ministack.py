"""Hosts as processes of this machine on the embedded AWS: its queue, its log, its S3, and the role of an instance."""

import json
import platform
import time

import pytest

from stampede.emulator import hosts, ministack
from tests.emulator.test_download_on_ministack import client
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

BUCKET, GROUP, OBJECTS = "stampede-copies", "/stampede/copies", 40
FORBIDDEN = "copies/forbidden/1"
TRUST = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
PATIENCE_S = 60


def document(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.fixture(scope="module")
def stack(tmp_path_factory, transfer_program):
    """The outputs of a stack with one host, made by hand, and the clients of its queue and log."""
    state_dir = tmp_path_factory.mktemp("ministack-hosts")
    running = ministack.start(state_dir, follow_parent=True)
    try:
        yield state_dir, _made(running.access), running.access
    finally:
        hosts.stop(state_dir)
        ministack.stop(state_dir)


def _made(access):
    s3, sqs, iam = (client(service, access) for service in ("s3", "sqs", "iam"))
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="masters/a", Body=b"x" * 1000)
    rows = [f"masters/a,copies/{number:03},1000\n" for number in range(OBJECTS)]
    s3.put_object(Bucket=BUCKET, Key="manifest/m/000000.csv", Body="".join(rows).encode())
    s3.put_object(Bucket=BUCKET, Key="manifest/m/000001.csv", Body=f"masters/a,{FORBIDDEN}\n".encode())
    client("logs", access).create_log_group(logGroupName=GROUP)
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    may = document(
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": f"arn:aws:s3:::{BUCKET}/*"},
        {"Effect": "Deny", "Action": "s3:PutObject", "Resource": f"arn:aws:s3:::{BUCKET}/{FORBIDDEN}"},
        {"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
            "Resource": "arn:aws:sqs:us-east-1:000000000000:orders",
        },
    )
    iam.create_role(RoleName="host", AssumeRolePolicyDocument=document(TRUST))
    iam.put_role_policy(RoleName="host", PolicyName="host", PolicyDocument=may)
    iam.create_instance_profile(InstanceProfileName="host")
    iam.add_role_to_instance_profile(InstanceProfileName="host", RoleName="host")
    instances = client("ec2", access).run_instances(
        ImageId="ami-1", MinCount=1, MaxCount=1, InstanceType="m5a.large", IamInstanceProfile={"Name": "host"}
    )
    return {
        "concurrency_value": 1,
        "region": "us-east-1",
        "instance_ids": [instances["Instances"][0]["InstanceId"]],
        "host_environment": {
            "EXPERIMENT": "copy_host",
            "BUCKET_NAME": BUCKET,
            "DESTINATION_BUCKET_NAME": BUCKET,
            "DESTINATION_PREFIX": "copies/",
            "OBJECT_COUNT": str(OBJECTS),
            "KEY_ORDER": "straight",
            "CONCURRENCY_LIMIT": "1",
            "EXPERIMENT_TAG": "hosts",
            "QUEUE_URL": url,
            "LOG_GROUP_NAME": GROUP,
            "INSTANCE_TYPE": "m5a.large",
            "AWS_REGION": "us-east-1",
        },
    }


@pytest.fixture
def started(stack, transfer_program, tmp_path, monkeypatch):
    """Starts the host of the stack with the program that is built from this version."""
    state_dir, outputs, access = stack
    architecture = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    (tmp_path / architecture).mkdir()
    (tmp_path / architecture / "bootstrap").symlink_to(transfer_program)
    monkeypatch.setattr(hosts, "BUILD", tmp_path)
    return lambda: hosts.ensure(state_dir, outputs, access, follow_parent=True)


def send(stack, **order):
    _, outputs, access = stack
    body = {"run_id": "r", "cell": "c", "parallel_limit": 4, "manifest": "manifest/m/"} | order
    url = outputs["host_environment"]["QUEUE_URL"]
    client("sqs", access).send_message(QueueUrl=url, MessageBody=json.dumps(body))


def lines(stack, seq):
    """What the log has of the order `seq`: records, and lines of failed objects."""
    events = client("logs", stack[2]).filter_log_events(logGroupName=GROUP)["events"]
    parsed = [json.loads(event["message"]) for event in events]
    return [line for line in parsed if line["seq"] == seq]


def wait_for(happened):
    deadline = time.monotonic() + PATIENCE_S
    while not (result := happened()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def messages(stack):
    """How many messages the queue has, hidden ones too."""
    _, outputs, access = stack
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = outputs["host_environment"]["QUEUE_URL"]
    attributes = client("sqs", access).get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return [int(attributes[name]) for name in names]


def test_a_host_that_is_stopped_in_mid_slice_hands_the_message_back_and_the_next_one_does_what_is_left(stack, started):
    s3 = client("s3", stack[2])
    started()
    send(stack, seq=1, first_slice=0, slices=1, calls_per_s=10)
    wait_for(lambda: s3.list_objects_v2(Bucket=BUCKET, Prefix="copies/").get("KeyCount", 0) >= 3)
    assert hosts.stop(stack[0]) == 1
    assert messages(stack) == [1, 0], "the message is there for the next host at once: it wasn't killed"
    (first,) = lines(stack, 1)
    assert (first["status"], first["error_type"]) == ("error", "DeadlineExceeded")
    assert 3 <= first["copied"] < OBJECTS

    started()
    second = wait_for(lambda: lines(stack, 1)[1:])[0]
    assert (second["status"], second["attempt"], second["failed"]) == ("ok", 2, 0)
    assert second["planned"] == second["copied"] + second["already_there"] == OBJECTS
    assert second["already_there"] >= first["copied"]
    assert second["message_id"] == first["message_id"]
    assert (second["request_id"], second["experiment"], second["instance_type"]) == (None, "copy_host", "m5a.large")
    assert second["sandbox_id"] != first["sandbox_id"]
    wait_for(lambda: messages(stack) == [0, 0])


def test_a_host_has_the_permissions_of_the_instances_role_and_no_more(stack, started):
    started()
    send(stack, seq=2, first_slice=1, slices=1)
    failed, record = wait_for(lambda: lines(stack, 2)[:2] if len(lines(stack, 2)) > 1 else None)
    assert (record["status"], record["planned"], record["failed"]) == ("ok", 1, 1)
    (failed_object,) = failed["failed_objects"]
    assert (
        failed_object["destination"],
        failed_object["error_type"],
        failed_object["slice"],
        failed_object["line"],
    ) == (FORBIDDEN, "AccessDenied", 1, 1)
    wait_for(lambda: messages(stack) == [0, 0])
