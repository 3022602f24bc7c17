"""The applied local stack that the tests of this folder share, and commands against it."""

import contextlib
import io
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stampede.cli.command_line import main
from stampede.emulator.ministack import Access
from stampede.stacks import embedded
from stampede.stacks import target as targets
from stampede.stacks.target import Target
from tests.emulator.embedded_aws import STAMPEDE

OBJECT_MB = 2


@dataclass
class LocalStack:
    """The applied stack, and commands against it."""

    target: Target
    access: Access
    work: Path
    provider: Mapping[str, str]  # settings that lead Terraform to its running provider

    def stampede(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run a command in this process, from a folder of its own: a new process takes a second for
        its imports."""
        out, err = io.StringIO(), io.StringIO()
        with finding(self.provider), contextlib.chdir(self.work):
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    status = main(list(arguments))
            except SystemExit as end:  # argparse
                status = end.code
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())

    def started(self, *arguments: str, **streams: Any) -> subprocess.Popen:
        """Start a command as a process, which can be interrupted and killed."""
        environment = os.environ | self.provider
        return subprocess.Popen(
            [*STAMPEDE, *arguments], cwd=self.work, env=environment, text=True, **streams
        )

    def apply(self, **variables: object) -> Target:
        """Apply the stack again with changed variables."""
        with finding(self.provider):
            outputs = embedded.apply_copy(self.access, VARIABLES | variables)
        self.target = targets.local(outputs, self.access)
        return self.target

    def wait_until_no_message_is_left(self) -> None:
        """Wait until every message is finished or dead-lettered: none waits or is in flight."""
        counts = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        sqs, deadline = self.target.client("sqs"), time.monotonic() + 60
        asked = {"QueueUrl": self.target["queue_url"], "AttributeNames": counts}
        while True:
            attributes = sqs.get_queue_attributes(**asked)["Attributes"]
            if not any(int(attributes[name]) for name in counts):
                return
            assert time.monotonic() < deadline, attributes
            time.sleep(0.1)


@contextlib.contextmanager
def finding(provider: Mapping[str, str]) -> Iterator[None]:
    """Lead Terraform to this running provider, only within the block."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in provider.items():
            environment.setenv(name, value)
        yield


# Long enough for a start barrier of a few seconds on a busy machine.
TIMEOUT_S = 20
VARIABLES = {
    "object_size_mb": OBJECT_MB,
    "ephemeral_storage_mb": 512,
    "concurrency_value": 3,
    "timeout_s": TIMEOUT_S,
}


def left_behind(client: Callable[[str], Any]) -> dict[str, list]:
    """All that a stack could leave behind; `client` makes a service's client, which may list it."""
    return {
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "buckets": client("s3").list_buckets()["Buckets"],
        "functions": client("lambda").list_functions()["Functions"],
        "triggers": client("lambda").list_event_source_mappings()["EventSourceMappings"],
        "log groups": client("logs").describe_log_groups()["logGroups"],
        "roles": client("iam").list_roles()["Roles"],
    }
