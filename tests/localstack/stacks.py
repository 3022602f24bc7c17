"""What the loader finds at an endpoint: bucket, queues and log group, and somebody in the
functions' place.

No emulator but MiniStack runs functions without containers, so a `Worker` takes the messages here
and logs the records.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.simulated_aws import record
from tests.localstack.starting import REGION, Endpoint

MAX_RECEIVE_COUNT = 5
# Long enough for whatever is done with a message here, and a busy machine.
VISIBILITY_TIMEOUT_S = 60


@dataclass(frozen=True)
class Stack:
    """The outputs of a stack of the download experiment, made by calls, at an endpoint."""

    endpoint: Endpoint
    outputs: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.outputs[name]

    def client(self, service: str) -> Any:
        """A client of the stack's endpoint."""
        return self.endpoint.client(service)

    def waiting(self, queue: str = "queue_url") -> tuple[int, int]:
        """How many messages of a queue are to be had, and how many are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.client("sqs").get_queue_attributes(
            QueueUrl=self[queue], AttributeNames=names
        )["Attributes"]
        return int(attributes[names[0]]), int(attributes[names[1]])


def stack_at(endpoint: Endpoint, name: str, *, object_size_mb: int = 1) -> Stack:
    """Make the resources called `name`, which is new at the endpoint."""
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
    return Stack(endpoint, outputs)


@dataclass
class Worker:
    """Takes messages as functions do, and logs a record for each delivery, in turn to two log
    streams."""

    stack: Stack
    streams: tuple[str, str] = ("one", "two")
    lines: dict[str, list] = field(default_factory=dict)

    def work(self, *, fails: Collection[int] = (), twice: Collection[int] = ()) -> dict[str, int]:
        """Take whatever is there until nothing comes, and return how often each message was
        delivered, by its id.

        The messages of the numbers in `fails` fail at every delivery, those in `twice` are done
        twice.
        """
        sqs, deliveries = self.stack.client("sqs"), {}
        while messages := self._receive(sqs):
            for message in messages:
                order = json.loads(message["Body"])
                is_ok = order["seq"] not in fails
                for _ in range(2 if order["seq"] in twice else 1):
                    self._log(order, "ok" if is_ok else "error")
                deliveries[message["MessageId"]] = deliveries.get(message["MessageId"], 0) + 1
                self._settle(sqs, message["ReceiptHandle"], is_ok=is_ok)
        self._write()
        return deliveries

    def _receive(self, sqs: Any) -> list[dict[str, Any]]:
        answer = sqs.receive_message(QueueUrl=self.stack["queue_url"], MaxNumberOfMessages=10)
        return answer.get("Messages", [])

    def _settle(self, sqs: Any, handle: str, *, is_ok: bool) -> None:
        where = {"QueueUrl": self.stack["queue_url"], "ReceiptHandle": handle}
        sqs.delete_message(**where) if is_ok else sqs.change_message_visibility(
            **where, VisibilityTimeout=0
        )

    def _log(self, order: dict[str, Any], status: str) -> None:
        stream = self.streams[order["seq"] % 2]
        text = record(
            order["seq"],
            status,
            order["cell"],
            order["run_id"],
            memory_size=self.stack["memory_size"],
        )
        # Records are told apart by time, stream and text: a function's say when it began.
        self.lines.setdefault(stream, []).append(
            text[:-1] + f', "started_at_ms": {time.time_ns() / 1e6}}}'
        )

    def _write(self) -> None:
        logs, group = self.stack.client("logs"), self.stack["log_group_name"]
        for stream, texts in self.lines.items():
            logs.create_log_stream(logGroupName=group, logStreamName=stream)
            now_ms = int(time.time() * 1000)
            events = [{"timestamp": now_ms, "message": text + "\n"} for text in texts]
            logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)
        self.lines = {}
