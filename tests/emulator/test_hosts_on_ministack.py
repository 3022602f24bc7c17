"""Hosts as local processes on the embedded AWS, with its queue, log, S3 and an instance's role."""

import json
import platform
import time

from stampede.emulator import hosts
from tests.emulator.embedded_aws import allow, client, embedded_aws, make_role
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

BUCKET, GROUP, OBJECTS = "stampede-copies", "/stampede/copies", 40
FORBIDDEN = "copies/forbidden/1"
MAY = (
    allow(["s3:GetObject", "s3:PutObject"], f"arn:aws:s3:::{BUCKET}/*"),
    allow("s3:PutObject", f"arn:aws:s3:::{BUCKET}/{FORBIDDEN}") | {"Effect": "Deny"},
    allow(["logs:CreateLogStream", "logs:PutLogEvents"], "*"),
    allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], "*"),
)
ENVIRONMENT = {
    "EXPERIMENT": "copy_host",
    "BUCKET_NAME": BUCKET,
    "DESTINATION_BUCKET_NAME": BUCKET,
    "DESTINATION_PREFIX": "copies/",
    "OBJECT_COUNT": str(OBJECTS),
    "KEY_ORDER": "straight",
    "CONCURRENCY_LIMIT": "1",
    "EXPERIMENT_TAG": "hosts",
    "LOG_GROUP_NAME": GROUP,
    "INSTANCE_TYPE": "m5a.large",
    "AWS_REGION": "us-east-1",
}


def wait_for(happened):
    deadline = time.monotonic() + 60
    while not (result := happened()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def instance(access):
    """Run an instance with the role; return its id."""
    iam, ec2 = client("iam", access), client("ec2", access)
    make_role(iam, "host", *MAY, service="ec2")
    iam.create_instance_profile(InstanceProfileName="host")
    iam.add_role_to_instance_profile(InstanceProfileName="host", RoleName="host")
    kind = {"ImageId": "ami-1", "InstanceType": "m5a.large", "MinCount": 1, "MaxCount": 1}
    started = ec2.run_instances(**kind, IamInstanceProfile={"Name": "host"})
    return started["Instances"][0]["InstanceId"]


def test_a_stopped_host_returns_its_slice_and_has_only_the_permissions_of_its_instance(
    tmp_path, transfer_program, monkeypatch
):
    place = tmp_path / platform.machine().replace("aarch64", "arm64")
    place.mkdir()
    (place / "bootstrap").symlink_to(transfer_program)
    monkeypatch.setattr(hosts, "BUILD", tmp_path)
    with embedded_aws(tmp_path / "state") as running:
        s3, sqs, logs = (client(service, running.access) for service in ("s3", "sqs", "logs"))
        s3.create_bucket(Bucket=BUCKET)
        rows = "".join(f"masters/a,copies/{number:03},1000\n" for number in range(OBJECTS))
        objects = {"masters/a": "x" * 1000, "manifest/m/000000.csv": rows}
        objects["manifest/m/000001.csv"] = f"masters/a,{FORBIDDEN}\n"
        for key, text in objects.items():
            s3.put_object(Bucket=BUCKET, Key=key, Body=text.encode())
        logs.create_log_group(logGroupName=GROUP)
        created = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "600"})
        queue = {"QueueUrl": created["QueueUrl"]}
        outputs = {"concurrency_value": 1, "region": "us-east-1"}
        outputs["instance_ids"] = [instance(running.access)]
        outputs["host_environment"] = ENVIRONMENT | {"QUEUE_URL": queue["QueueUrl"]}

        def start():
            return hosts.ensure(tmp_path / "state", outputs, running.access, follow_parent=True)

        def send(**order):
            order |= {"run_id": "r", "cell": "c", "parallel_limit": 4}
            order |= {"manifest": "manifest/m/", "slices": 1}
            sqs.send_message(**queue, MessageBody=json.dumps(order))

        def messages():
            """The counts of visible and hidden messages, as texts."""
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            return [*sqs.get_queue_attributes(**queue, AttributeNames=names)["Attributes"].values()]

        def lines(seq, least):
            """The log's lines of an order, records and failed objects, once there are `least`."""
            events = logs.filter_log_events(logGroupName=GROUP)["events"]
            parsed = [json.loads(event["message"]) for event in events]
            of_order = [line for line in parsed if line["seq"] == seq]
            return of_order if len(of_order) >= least else None

        def some_copies():
            listed = s3.list_objects_v2(Bucket=BUCKET, Prefix="copies/")
            return listed.get("KeyCount", 0) >= 3

        assert start() == start()
        send(seq=1, first_slice=0, calls_per_s=10)
        wait_for(some_copies)
        hosts.stop(tmp_path / "state")
        # It wasn't killed: the next host can receive the message at once.
        assert messages() == ["1", "0"]
        [first] = lines(1, 1)
        assert first["error_type"] == "DeadlineExceeded" and 3 <= first["copied"] < OBJECTS

        start()
        second = wait_for(lambda: lines(1, 2))[1]
        assert (second["status"], second["attempt"], second["failed"]) == ("ok", 2, 0)
        assert second["planned"] == second["copied"] + second["already_there"] == OBJECTS
        assert second["already_there"] >= first["copied"]
        assert second["message_id"] == first["message_id"]
        assert second["sandbox_id"] != first["sandbox_id"]

        send(seq=2, first_slice=1)
        failed, record = wait_for(lambda: lines(2, 2))
        assert (record["status"], record["planned"], record["failed"]) == ("ok", 1, 1)
        [forbidden] = failed["failed_objects"]
        assert (forbidden["destination"], forbidden["error_type"]) == (FORBIDDEN, "AccessDenied")
        wait_for(lambda: messages() == ["0", "0"])
