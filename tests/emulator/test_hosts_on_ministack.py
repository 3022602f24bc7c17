"""Hosts as processes of this machine on the embedded AWS: its queue, its log, its S3, and the role of an instance."""

import json
import time

import pytest

from stampede.emulator import hosts, ministack
from tests.emulator.lambda_on_ministack import ARCHITECTURE, allow, client, make_role
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

BUCKET, GROUP, OBJECTS = "stampede-copies", "/stampede/copies", 40
FORBIDDEN = "copies/forbidden/1"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
MAY = (
    allow(["s3:GetObject", "s3:PutObject"], f"arn:aws:s3:::{BUCKET}/*"),
    allow("s3:PutObject", f"arn:aws:s3:::{BUCKET}/{FORBIDDEN}") | {"Effect": "Deny"},
    allow(["logs:CreateLogStream", "logs:PutLogEvents"], "*"),
    allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], QUEUE),
)
PATIENCE_S = 60


class Stack:
    """A stack with one host, made by hand, whose program is the one built from this version."""

    def __init__(self, state_dir, access):
        self.state_dir, self.access = state_dir, access
        self.s3, self.sqs, self.logs, iam, ec2 = (
            client(service, access) for service in ("s3", "sqs", "logs", "iam", "ec2")
        )
        self.s3.create_bucket(Bucket=BUCKET)
        rows = "".join(f"masters/a,copies/{number:03},1000\n" for number in range(OBJECTS))
        slices = {"manifest/m/000000.csv": rows, "manifest/m/000001.csv": f"masters/a,{FORBIDDEN}\n"}
        for key, text in {"masters/a": "x" * 1000, **slices}.items():
            self.s3.put_object(Bucket=BUCKET, Key=key, Body=text.encode())
        self.logs.create_log_group(logGroupName=GROUP)
        self.queue = self.sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        make_role(iam, "host", "ec2", *MAY)
        iam.create_instance_profile(InstanceProfileName="host")
        iam.add_role_to_instance_profile(InstanceProfileName="host", RoleName="host")
        [instance] = ec2.run_instances(
            ImageId="ami-1", MinCount=1, MaxCount=1, InstanceType="m5a.large", IamInstanceProfile={"Name": "host"}
        )["Instances"]
        environment = {
            "EXPERIMENT": "copy_host",
            "BUCKET_NAME": BUCKET,
            "DESTINATION_BUCKET_NAME": BUCKET,
            "DESTINATION_PREFIX": "copies/",
            "OBJECT_COUNT": str(OBJECTS),
            "KEY_ORDER": "straight",
            "CONCURRENCY_LIMIT": "1",
            "EXPERIMENT_TAG": "hosts",
            "QUEUE_URL": self.queue,
            "LOG_GROUP_NAME": GROUP,
            "INSTANCE_TYPE": "m5a.large",
            "AWS_REGION": "us-east-1",
        }
        self.outputs = {"concurrency_value": 1, "region": "us-east-1", "instance_ids": [instance["InstanceId"]]}
        self.outputs["host_environment"] = environment

    def start(self):
        return hosts.ensure(self.state_dir, self.outputs, self.access, follow_parent=True)

    def send(self, **order):
        body = {"run_id": "r", "cell": "c", "parallel_limit": 4, "manifest": "manifest/m/", "slices": 1} | order
        self.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps(body))

    def messages(self):
        """How many the queue has, and how many are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=names)["Attributes"]
        return [int(attributes[name]) for name in names]

    def lines(self, seq, least):
        """What the log has of the order `seq`, records and lines of failed objects, when there are so many."""
        events = self.logs.filter_log_events(logGroupName=GROUP)["events"]
        lines = [line for event in events if (line := json.loads(event["message"]))["seq"] == seq]
        return lines if len(lines) >= least else None


@pytest.fixture
def stack(tmp_path, transfer_program, monkeypatch):
    (tmp_path / ARCHITECTURE).mkdir()
    (tmp_path / ARCHITECTURE / "bootstrap").symlink_to(transfer_program)
    monkeypatch.setattr(hosts, "BUILD", tmp_path)
    running = ministack.start(tmp_path / "state", follow_parent=True)
    try:
        yield Stack(tmp_path / "state", running.access)
    finally:
        hosts.stop(tmp_path / "state")
        ministack.stop(tmp_path / "state")


def wait_for(happened):
    deadline = time.monotonic() + PATIENCE_S
    while not (result := happened()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def test_a_host_hands_its_slice_back_when_it_is_stopped_and_may_do_no_more_than_its_instance(stack):
    stack.start()
    stack.send(seq=1, first_slice=0, calls_per_s=10)
    wait_for(lambda: stack.s3.list_objects_v2(Bucket=BUCKET, Prefix="copies/").get("KeyCount", 0) >= 3)
    assert hosts.stop(stack.state_dir) == 1
    assert stack.messages() == [1, 0], "the message is there for the next host at once: it wasn't killed"
    [first] = stack.lines(1, 1)
    assert (first["status"], first["error_type"]) == ("error", "DeadlineExceeded")
    assert 3 <= first["copied"] < OBJECTS

    stack.start()
    _, second = wait_for(lambda: stack.lines(1, 2))
    assert (second["status"], second["attempt"], second["failed"]) == ("ok", 2, 0)
    assert second["planned"] == second["copied"] + second["already_there"] == OBJECTS
    assert second["already_there"] >= first["copied"]
    assert second["message_id"] == first["message_id"] and second["sandbox_id"] != first["sandbox_id"]
    assert (second["request_id"], second["experiment"], second["instance_type"]) == (None, "copy_host", "m5a.large")

    stack.send(seq=2, first_slice=1)
    failed, record = wait_for(lambda: stack.lines(2, 2))
    assert (record["status"], record["planned"], record["failed"]) == ("ok", 1, 1)
    [forbidden] = failed["failed_objects"]
    assert (forbidden["destination"], forbidden["error_type"]) == (FORBIDDEN, "AccessDenied")
    assert (forbidden["slice"], forbidden["line"]) == (1, 1)
    wait_for(lambda: stack.messages() == [0, 0])
