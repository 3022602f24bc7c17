"""The stack that the loader finds at an endpoint, with bucket, queues, log group and a stand-in for
functions.

Only MiniStack runs functions without containers, so here `work` receives the messages and logs the
records.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Collection

from stampede.stacks import target as targets
from stampede.stacks.target import Target
from tests.fakes.simulated_aws import record
from tests.localstack.starting import REGION, Endpoint

MAX_RECEIVE_COUNT = 5
# Long enough for the work on a message here, on a busy machine.
VISIBILITY_TIMEOUT_S = 60


def stack_at(endpoint: Endpoint, name: str, *, object_size_mb: int = 1) -> Target:
    """Make a new stack of the download experiment called `name`, by calls to the endpoint."""
    sqs, log_group = endpoint.client("sqs"), f"/aws/lambda/{name}"
    endpoint.client("s3").create_bucket(Bucket=name)
    endpoint.client("logs").create_log_group(logGroupName=log_group)
    letters_url = sqs.create_queue(QueueName=f"{name}-dead-letters")["QueueUrl"]
    redrive = {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{endpoint.account_id}:{name}-dead-letters",
        "maxReceiveCount": MAX_RECEIVE_COUNT,
    }
    attributes = {
        "VisibilityTimeout": str(VISIBILITY_TIMEOUT_S),
        "RedrivePolicy": json.dumps(redrive),
    }
    outputs = {
        "experiment": "download",
        "region": REGION,
        "account_id": endpoint.account_id,
        "bucket_name": name,
        "object_key": "data.bin",
        "object_size_mb": object_size_mb,
        "queue_name": name,
        "queue_url": sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"],
        "dead_letter_queue_url": letters_url,
        "log_group_name": log_group,
        "function_name": name,
        "memory_size": 1024,
        "concurrency_value": 5,
        "visibility_timeout_s": VISIBILITY_TIMEOUT_S,
        "max_receive_count": MAX_RECEIVE_COUNT,
    }
    return targets.local(outputs, endpoint.access)


def waiting(stack: Target, queue: str = "queue_url") -> tuple[int, int]:
    """The numbers of visible and of hidden messages of a queue."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = stack.client("sqs").get_queue_attributes(QueueUrl=stack[queue], AttributeNames=names)
    return int(answer["Attributes"][names[0]]), int(answer["Attributes"][names[1]])


def work(stack: Target, *, fails: Collection[int], twice: Collection[int]) -> Counter[str]:
    """Receive messages as functions do until none is left, and log a record for each delivery in
    one of two streams. Return the number of deliveries by message id.

    Messages with a number in `fails` fail at every delivery; those in `twice` are done twice.
    """
    sqs, queue = stack.client("sqs"), {"QueueUrl": stack["queue_url"]}
    deliveries: Counter[str] = Counter()
    lines: defaultdict[str, list[str]] = defaultdict(list)
    while messages := sqs.receive_message(**queue, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            order = json.loads(message["Body"])
            receipt = {"ReceiptHandle": message["ReceiptHandle"]}
            deliveries[message["MessageId"]] += 1
            status = "error" if order["seq"] in fails else "ok"
            # Log events differ by time, stream and text; a function's text has its start.
            lines["one" if order["seq"] % 2 else "two"] += [
                record(
                    order["seq"],
                    status,
                    order["cell"],
                    order["run_id"],
                    memory_size=stack["memory_size"],
                    started_at_ms=time.time_ns() / 1e6,
                )
                for _ in range(2 if order["seq"] in twice else 1)
            ]
            if status == "ok":
                sqs.delete_message(**queue, **receipt)
            else:
                sqs.change_message_visibility(**queue, **receipt, VisibilityTimeout=0)
    for stream, texts in lines.items():
        log(stack, stream, [(int(time.time() * 1000), text + "\n") for text in texts])
    return deliveries


def log(stack: Target, stream: str, events: list[tuple[int, str]]) -> None:
    """Write events (epoch ms, text) to a new log stream."""
    logs, group = stack.client("logs"), stack["log_group_name"]
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    rows = [{"timestamp": at_ms, "message": text} for at_ms, text in events]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=rows)
