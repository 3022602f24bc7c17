"""A test's own embedded AWS, with clients, minimal roles and the command line."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from stampede.emulator import hosts, ministack
from stampede.emulator.ministack import REGION, Access, Emulator
from tests.commands import ROOT

STAMPEDE = [sys.executable, "-m", "stampede.cli.command_line"]
BOUNDED = Config(
    retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=40
)


@contextlib.contextmanager
def embedded_aws(state_dir: Path) -> Iterator[Emulator]:
    """Run an embedded AWS during the block; the test may end it earlier."""
    try:
        yield ministack.start(state_dir, follow_parent=True)
    finally:
        hosts.stop(state_dir)
        ministack.stop(state_dir)


def client(service: str, access: Access, region: str = REGION) -> Any:
    """A client of the root user, with its own session."""
    where = {"endpoint_url": access.endpoint_url, "region_name": region}
    return boto3.Session().client(service, config=BOUNDED, **where, **access.key)


def begin(
    work: Path, *arguments: str, program: str = STAMPEDE[-1], **options: Any
) -> subprocess.Popen:
    """Start a command in the folder `work`, with its own state and so its own embedded AWS."""
    environment = os.environ | {"STAMPEDE_STATE_DIR": str(work / "state"), "PYTHONPATH": str(ROOT)}
    command = [*STAMPEDE[:-1], program, *arguments]
    return subprocess.Popen(
        command, cwd=work, env=environment, text=True, stdin=subprocess.DEVNULL, **options
    )


def run(work: Path, *arguments: str, status: int = 0) -> tuple[str, str]:
    """Run a command, expect this exit status, and return its stdout and stderr."""
    with begin(work, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed = process.communicate(timeout=600)
    assert process.returncode == status, printed[1][-3000:]
    return printed


def settings(*assignments: str) -> list[str]:
    """A `--set` option for each assignment."""
    return [word for assignment in assignments for word in ("--set", assignment)]


def allow(action: str | list[str], resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def make_role(iam: Any, name: str, *statements: dict[str, Any], service: str = "lambda") -> str:
    """Create a role that the service may assume, with these permissions; return its ARN."""

    def document(*rows: dict[str, Any]) -> str:
        return json.dumps({"Version": "2012-10-17", "Statement": rows})

    trust = {
        "Effect": "Allow",
        "Principal": {"Service": f"{service}.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(trust))["Role"]
    if statements:
        iam.put_role_policy(
            RoleName=name, PolicyName="worker", PolicyDocument=document(*statements)
        )
    return role["Arn"]
