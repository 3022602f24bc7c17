"""Hosts as processes of this machine on the embedded AWS: its queue, its log, its S3, and the role
of an instance."""

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
    """The id of an instance with the role."""
    iam, ec2 = client("iam", access), client("ec2", access)
    make_role(iam, "host", *MAY, service="ec2")
    iam.create_instance_profile(InstanceProfileName="host")
    iam.add_role_to_instance_profile(InstanceProfileName="host", RoleName="host")
    profile = {
        "ImageId": "ami-1",
        "InstanceType": "m5a.large",
        "IamInstanceProfile": {"Name": "host"},
    }
    return ec2.run_instances(MinCount=1, MaxCount=1, **profile)["Instances"][0]["InstanceId"]


def test_a_host_hands_its_slice_back_when_it_is_stopped_and_may_do_no_more_than_its_instance(
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
        objects = {
            "manifest/m/000000.csv": rows,
            "manifest/m/000001.csv": f"masters/a,{FORBIDDEN}\n",
        }
        for key, text in ({"masters/a": "x" * 1000} | objects).items():
            s3.put_object(Bucket=BUCKET, Key=key, Body=text.encode())
        logs.create_log_group(logGroupName=GROUP)
        queue = {
            "QueueUrl": sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "600"})[
                "QueueUrl"
            ]
        }
        outputs = {
            "concurrency_value": 1,
            "region": "us-east-1",
            "instance_ids": [instance(running.access)],
        }
        outputs["host_environment"] = ENVIRONMENT | {"QUEUE_URL": queue["QueueUrl"]}

        def start():
            return hosts.ensure(tmp_path / "state", outputs, running.access, follow_parent=True)

        def send(**order):
            order |= {
                "run_id": "r",
                "cell": "c",
                "parallel_limit": 4,
                "manifest": "manifest/m/",
                "slices": 1,
            }
            sqs.send_message(**queue, MessageBody=json.dumps(order))

        def messages():
            """How many the queue has, and how many are hidden."""
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            return [*sqs.get_queue_attributes(**queue, AttributeNames=names)["Attributes"].values()]

        def lines(seq, least):
            """What the log has of an order, records and lines of failed objects, when there are so
            many."""
            events = logs.filter_log_events(logGroupName=GROUP)["events"]
            of_order = [
                line for event in events if (line := json.loads(event["message"]))["seq"] == seq
            ]
            return of_order if len(of_order) >= least else None

        assert start() == start()
        send(seq=1, first_slice=0, calls_per_s=10)
        wait_for(
            lambda: s3.list_objects_v2(Bucket=BUCKET, Prefix="copies/").get("KeyCount", 0) >= 3
        )
        assert hosts.stop(tmp_path / "state") == 1
        assert messages() == ["1", "0"], (
            "the message is there for the next host at once: it wasn't killed"
        )
        [first] = lines(1, 1)
        assert first["error_type"] == "DeadlineExceeded" and 3 <= first["copied"] < OBJECTS

        start()
        second = wait_for(lambda: lines(1, 2))[1]
        assert (second["status"], second["attempt"], second["failed"]) == ("ok", 2, 0)
        assert second["planned"] == second["copied"] + second["already_there"] == OBJECTS
        assert second["already_there"] >= first["copied"]
        assert (
            second["message_id"] == first["message_id"]
            and second["sandbox_id"] != first["sandbox_id"]
        )

        send(seq=2, first_slice=1)
        failed, record = wait_for(lambda: lines(2, 2))
        assert (record["status"], record["planned"], record["failed"]) == ("ok", 1, 1)
        [forbidden] = failed["failed_objects"]
        assert (forbidden["destination"], forbidden["error_type"]) == (FORBIDDEN, "AccessDenied")
        wait_for(lambda: messages() == ["0", "0"])
