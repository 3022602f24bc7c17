"""The applied local stack as the tests of this folder use it, and the command line against it."""

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
    """The applied stack, and the command line against it."""

    target: Target
    access: Access
    work: Path
    provider: Mapping[str, str]  # the settings by which Terraform finds its provider running

    def stampede(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run the command line in a folder of its own, in this process: Python and its imports take
        a second each."""
        out, err = io.StringIO(), io.StringIO()
        with finding(self.provider), contextlib.chdir(self.work):
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    status = main(list(arguments))
            except SystemExit as left:  # of argparse
                status = left.code
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())

    def started(self, *arguments: str, **streams: Any) -> subprocess.Popen:
        """The command line as a process of its own, which can be interrupted and killed."""
        environment = os.environ | self.provider
        return subprocess.Popen(
            [*STAMPEDE, *arguments], cwd=self.work, env=environment, text=True, **streams
        )

    def apply(self, **variables: object) -> Target:
        """Apply the stack again with other variables."""
        with finding(self.provider):
            outputs = embedded.apply_copy(self.access, VARIABLES | variables)
        self.target = targets.local(outputs, self.access)
        return self.target

    def wait_until_no_message_is_left(self) -> None:
        """Until each was carried out or has become a dead letter: none is waiting, and none is with
        a function."""
        counts = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        sqs, deadline = self.target.client("sqs"), time.monotonic() + 60
        while True:
            answer = sqs.get_queue_attributes(
                QueueUrl=self.target["queue_url"], AttributeNames=counts
            )
            if not any(int(answer["Attributes"][name]) for name in counts):
                return
            assert time.monotonic() < deadline, answer["Attributes"]
            time.sleep(0.1)


@contextlib.contextmanager
def finding(provider: Mapping[str, str]) -> Iterator[None]:
    """Let Terraform find this provider running, and in no other test of the process."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in provider.items():
            environment.setenv(name, value)
        yield


# Long enough for a start barrier of some seconds, and a busy machine.
TIMEOUT_S = 20
VARIABLES = {
    "object_size_mb": OBJECT_MB,
    "ephemeral_storage_mb": 512,
    "concurrency_value": 3,
    "timeout_s": TIMEOUT_S,
}


def left_behind(client: Callable[[str], Any]) -> dict[str, list]:
    """Everything that a stack could have left behind; `client` makes a client of a service that may
    list it."""
    return {
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "buckets": client("s3").list_buckets()["Buckets"],
        "functions": client("lambda").list_functions()["Functions"],
        "triggers": client("lambda").list_event_source_mappings()["EventSourceMappings"],
        "log groups": client("logs").describe_log_groups()["logGroups"],
        "roles": client("iam").list_roles()["Roles"],
    }
