"""A stand-in for one Lambda sandbox: imports the function afresh, invokes it, and reads back its
log lines."""

import importlib
import io
import json
import os
import sys
import time
import uuid
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.fakes.s3 import BUCKET, KEY

AGREED = Path(__file__).parents[3] / "functions" / "agreed"
# Every word that a record's error_type may be.
ERROR_TYPES = json.loads((AGREED / "failures.json").read_text())
RECORD = json.loads((AGREED / "record.json").read_text())
# A port that nothing listens on: a test that starts no server must not fall through to the real
# AWS.
NOWHERE = "http://127.0.0.1:9"
# What Terraform and Lambda give to the function, for the one object of FakeS3, without an account
# of the tester's.
ENVIRONMENT = {
    "CONCURRENCY_LIMIT": "5",
    "MEMORY_SIZE": "1024",
    "EXPERIMENT_TAG": "experiment 01",
    "BUCKET_NAME": BUCKET,
    "FILE_NAME": KEY,
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_ENDPOINT_URL": NOWHERE,
    "AWS_ENDPOINT_URL_SQS": NOWHERE,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Context:
    """Lambda's context, as far as the function uses it; its clock really runs."""

    def __init__(self, remaining_s: float = 60) -> None:
        self.aws_request_id = str(uuid.uuid4())
        self._end_s = time.monotonic() + remaining_s

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._end_s - time.monotonic()) * 1000))


class Sandbox:
    """One sandbox, of whatever language. `changes` are those of every order."""

    def __init__(self, experiment: str = "download", **changes: Any) -> None:
        self.experiment, self._changes = experiment, changes
        self.log = ""

    def deliver(self, event: Any, remaining_s: float) -> dict[str, Any]:
        """Hand an event to the function and return its answer; what it printed is in `log`."""
        raise NotImplementedError

    def invoke(
        self, *bodies: str, remaining_s: float = 60, attempt: int = 1
    ) -> tuple[list[dict], list[str]]:
        """Deliver the bodies as one SQS event.

        Returns the records that were logged and the ids of the messages reported as failed.
        """
        answer = self.deliver(
            {"Records": [sqs_record(body, attempt) for body in bodies]}, remaining_s
        )
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return [json.loads(line) for line in self.log.splitlines()], failed

    def succeed(self, **changes: Any) -> dict[str, Any]:
        """Deliver one order, and return its record, which must be a good one."""
        record = self._deliver_order(**changes)
        assert record["status"] == "ok", record
        return record

    def fail(self, error_type: str, **changes: Any) -> dict[str, Any]:
        """Deliver one order, and return its record, which must be of this failure."""
        record = self._deliver_order(**changes)
        assert (record["status"], record.get("error_type")) == ("error", error_type), record
        assert error_type in ERROR_TYPES
        assert record["error_message"].isprintable() and len(record["error_message"]) <= 300
        return record

    def _deliver_order(self, remaining_s: float = 60, **changes: Any) -> dict[str, Any]:
        [record], failed = self.invoke(order(**self._changes | changes), remaining_s=remaining_s)
        is_ok = record["status"] == "ok"
        assert list(record) == record_keys(self.experiment, is_ok=is_ok)
        assert failed == ([] if is_ok else [record["message_id"]])
        assert record["started_at_ms"] <= record["finished_at_ms"]
        folder = Path(os.environ["TMPDIR"])
        assert not folder.exists() or not list(folder.iterdir()), (
            "something was left in the temporary folder"
        )
        return record


class LambdaSandbox(Sandbox):
    """A sandbox of a Python function. The environment must be set before it is made, as on
    Lambda."""

    def __init__(self, experiment: str = "download", **changes: Any) -> None:
        super().__init__(experiment, **changes)
        sys.modules.pop(f"{experiment}.handler", None)
        self.handler = importlib.import_module(f"{experiment}.handler").handler

    def deliver(self, event: Any, remaining_s: float = 60) -> dict[str, Any]:
        with redirect_stdout(io.StringIO()) as log:
            answer = self.handler(event, Context(remaining_s))
        self.log = log.getvalue()
        return json.loads(json.dumps(answer))


def record_keys(experiment: str, *, is_ok: bool) -> list[str]:
    """The keys of an experiment's record in their order: a failure has an error in the place of the
    seconds taken."""
    time_key = RECORD["time"][experiment]
    common = [
        time_key if key == "<time>" else key for key in RECORD["common"] if is_ok or key != "<time>"
    ]
    return common + RECORD["own"][experiment] + ([] if is_ok else RECORD["error"])


def sqs_record(body: str, attempt: int = 1) -> dict[str, Any]:
    """Return one message as the event source mapping delivers it."""
    return {
        "messageId": str(uuid.uuid4()),
        "receiptHandle": "handle",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(attempt), "SentTimestamp": "1735689600000"},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:stampede-queue",
    }


def order(**changes: Any) -> str:
    """Return the body of a valid work order, changed as said."""
    return json.dumps(
        {"run_id": "run-1", "cell": "memory_size=1024,concurrency_value=5", "seq": 7} | changes
    )
