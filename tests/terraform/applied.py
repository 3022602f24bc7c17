"""A stack on an embedded AWS of its own, put up by Terraform from a copy of infra/ with the
overrides laid over it."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from stampede.emulator import hosts, ministack
from stampede.emulator.ministack import Access
from tests.emulator.applied_stack import STAMPEDE, left_behind
from tests.emulator.documented_policy import NAMES, make_user

ROOT = Path(__file__).resolve().parents[2]
UNCHANGED = 0  # exit status of `plan -detailed-exitcode`


@dataclass
class Stack:
    """Terraform in a copy of infra/ with the overrides, and the services behind it."""

    run: Callable[..., subprocess.CompletedProcess]
    access: Access
    variables: Mapping[str, Any]
    iam: Any
    state_dir: Path

    def terraform(
        self, command: str, *arguments: str, **variables: object
    ) -> subprocess.CompletedProcess:
        flags = [f"-var={name}={value}" for name, value in {**self.variables, **variables}.items()]
        result = self.run(command, "-input=false", "-no-color", *arguments, *flags)
        assert "Error:" not in result.stderr, result.stderr
        return result

    def apply(self) -> None:
        """Init, and apply for the first time: the provider waits 25 s for each of the two
        queues."""
        assert self.run("init", "-input=false").returncode == 0
        assert self.terraform("apply", "-auto-approve").returncode == 0

    def plan(self, **variables: object) -> int:
        return self.terraform("plan", "-detailed-exitcode", **variables).returncode

    def outputs(self) -> dict[str, Any]:
        return {
            name: output["value"]
            for name, output in json.loads(self.run("output", "-json").stdout).items()
        }

    def stampede(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
        """The command line on this stack, run in `folder` (whose packages it takes, where it has
        some)."""
        environment = os.environ | {"STAMPEDE_STATE_DIR": str(self.state_dir)}
        return subprocess.run(
            [*STAMPEDE, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    def client(self, service: str, **key: str):
        """A client of the root user's, unless another `key` is given."""
        return boto3.client(
            service,
            endpoint_url=self.access.endpoint_url,
            region_name="us-east-1",
            **(key or self.access.key),
        )

    def left(self) -> dict[str, list]:
        """Everything that the stack could have left behind."""
        return left_behind(self.client)

    def destroy(self, **variables: object) -> subprocess.CompletedProcess:
        """Destroy it in seconds: the provider waits minutes for a deleted queue, but not for one
        that is gone."""
        for url in self.client("sqs").list_queues()["QueueUrls"]:
            self.client("sqs").delete_queue(QueueUrl=url)
        return self.terraform("destroy", "-auto-approve", "-refresh=false", **variables)


@contextlib.contextmanager
def stack_to_apply(
    folder: Path, terraform: Any, state_dir: Path, variables: Mapping[str, Any]
) -> Iterator[Stack]:
    """An embedded AWS for the infra/ in `folder`, and a user of it who has the policies documented
    for `variables`.

    It is where the command line looks for the local stack with this state folder. The embedded AWS
    goes at the end.
    """
    shutil.copytree(ROOT / "stampede/emulator/local_override", folder, dirs_exist_ok=True)
    (state_dir / "local").symlink_to(folder.parent)
    emulator = ministack.start(state_dir, follow_parent=True)
    try:
        own = f"permissions_{variables.get('experiment')}"
        iam, key = make_user(
            emulator.access, *[name for name in NAMES if name in ("permissions", own)]
        )
        account = {
            "AWS_ENDPOINT_URL": emulator.endpoint_url,
            "HTTP_PROXY": emulator.endpoint_url,
        } | key
        yield Stack(
            lambda *arguments: terraform(folder, *arguments, **account),
            emulator.access,
            variables,
            iam,
            state_dir,
        )
    finally:
        hosts.stop(state_dir)
        ministack.stop(state_dir)
