"""The whole life of the stack on the embedded AWS, with real Terraform: apply, plan again, change, destroy."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest

from emulator import ministack

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = {"object_size_mb": 1, "ephemeral_storage_mb": 512, "timeout_s": 5}
UNCHANGED, CHANGED = 0, 2  # exit statuses of `plan -detailed-exitcode`


@dataclass
class Stack:
    """Terraform in a copy of infra/ with the overrides, and the services behind it."""

    run: Callable[..., subprocess.CompletedProcess]
    endpoint_url: str

    def terraform(self, command: str, *arguments: str, **variables: object) -> subprocess.CompletedProcess:
        flags = [f"-var={name}={value}" for name, value in (VARIABLES | variables).items()]
        result = self.run(command, "-input=false", "-no-color", *arguments, *flags)
        assert "Error:" not in result.stderr, result.stderr
        return result

    def plan(self, **variables: object) -> int:
        return self.terraform("plan", "-detailed-exitcode", **variables).returncode

    def client(self, service: str):
        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def left(self) -> dict[str, list]:
        """Everything that the stack could have left behind."""
        return {
            "queues": self.client("sqs").list_queues().get("QueueUrls", []),
            "buckets": self.client("s3").list_buckets()["Buckets"],
            "functions": self.client("lambda").list_functions()["Functions"],
            "triggers": self.client("lambda").list_event_source_mappings()["EventSourceMappings"],
            "log groups": self.client("logs").describe_log_groups()["logGroups"],
            "roles": self.client("iam").list_roles()["Roles"],
        }


@pytest.fixture(scope="module")
def applied(copy_of_the_tree, terraform, tmp_path_factory) -> Stack:
    """The stack with one function at a time, on an embedded AWS of its own."""
    folder = copy_of_the_tree("applied")
    shutil.copytree(ROOT / "emulator/local_override", folder, dirs_exist_ok=True)
    state_dir = tmp_path_factory.mktemp("emulator")
    emulator = ministack.start(state_dir, follow_parent=True)
    account = {
        "AWS_ENDPOINT_URL": emulator.endpoint_url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    try:
        stack = Stack(lambda *arguments: terraform(folder, *arguments, **account), emulator.endpoint_url)
        assert terraform(folder, "init", "-input=false").returncode == 0
        assert stack.terraform("apply", "-auto-approve").returncode == 0
        yield stack
    finally:
        ministack.stop(state_dir)


def test_a_second_plan_is_empty(applied):
    assert applied.plan() == UNCHANGED
    assert applied.plan(memory_size=512) == CHANGED


def test_the_concurrency_changes_there_and_back_and_leaves_an_empty_plan(applied):
    for concurrency in (5, 1):
        applied.terraform("apply", "-auto-approve", concurrency_value=concurrency)

        assert applied.plan(concurrency_value=concurrency) == UNCHANGED
        reserved = applied.client("lambda").get_function_concurrency(FunctionName="stampede-download")
        assert reserved["ReservedConcurrentExecutions"] == concurrency


def test_destroy_leaves_nothing_although_the_bucket_is_full(applied):
    bucket = "stampede-download-000000000000-us-east-1"
    s3 = applied.client("s3")
    for number in range(3):
        s3.put_object(Bucket=bucket, Key=f"left/{number}.dat", Body=b"x")
    s3.create_multipart_upload(Bucket=bucket, Key="cut-off.dat")
    assert all(applied.left().values())

    # The provider waits 2 minutes for a deleted queue to vanish everywhere, but not for one that is gone already.
    for url in applied.client("sqs").list_queues()["QueueUrls"]:
        applied.client("sqs").delete_queue(QueueUrl=url)
    result = applied.terraform("destroy", "-auto-approve", "-refresh=false")

    assert result.returncode == 0
    assert applied.left() == {name: [] for name in applied.left()}
