"""Runs the hosts of a stack as local processes: the embedded AWS has instances but runs nothing on
them.

A host is the Go program as an instance's service runs it (`transfer work`), with the same
environment, the stack's output `host_environment`, and the permissions of the instances' role. A
small JSON file next to the emulator's holds their state.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from stampede.emulator import stack
from stampede.emulator.ministack import Access, EmulatorError
from stampede.emulator.process import Process, end_with_parent, inherited
from stampede.interruption import held_back
from stampede.polling import looks

STATE_FILE = "hosts.json"
BUILD = stack.ROOT / "functions" / "transfer" / "build"
# The first line of the program, once it has read its environment.
READY = "receiving messages from"
START_TIMEOUT_S = 30
# A working host finishes its calls, returns its message and exits, usually within two seconds.
STOP_TIMEOUT_S = 10
# Longer than anybody keeps an emulator running; it has no limit (AWS's is 12 h).
SESSION_S = 30 * 24 * 3600


def ensure(
    state_dir: Path, outputs: Mapping[str, Any], access: Access, *, follow_parent: bool = False
) -> list[Process]:
    """Run exactly the hosts of the applied stack, and return them; none if its outputs have none.

    Running hosts stay unless their number, their environment or the instances, and with them the
    role, have changed: a stopped host's last poll can hold a message for a while. With
    `follow_parent` they end with this process (Linux). Raises EmulatorError with what to do.
    """
    if not outputs.get("host_environment"):
        stop(state_dir)
        return []
    program, count = _program(), int(outputs["concurrency_value"])
    wanted = [count, outputs["host_environment"], outputs["instance_ids"], access.endpoint_url]
    begun_with, hosts = _read(state_dir)
    if begun_with == wanted and len(hosts) == count and all(host.is_alive() for host in hosts):
        return hosts
    stop(state_dir)
    environment, hosts = _environment(outputs, access), []
    try:
        for number in range(count):
            log = state_dir / f"host-{number}.log"
            with held_back():
                hosts.append(_start(program, environment, log, follow_parent))
                state = {"begun_with": wanted, "hosts": [asdict(host) for host in hosts]}
                (state_dir / STATE_FILE).write_text(json.dumps(state))
        for host in hosts:
            _wait_until_ready(host)
    except BaseException:
        stop(state_dir)
        raise
    return hosts


def stop(state_dir: Path) -> None:
    """End the hosts that `ensure` started, which return their messages."""
    hosts = [host for host in _read(state_dir)[1] if host.is_alive()]
    for host in hosts:
        host.send_signal(signal.SIGTERM)
    for host in hosts:
        host.end(STOP_TIMEOUT_S)
    (state_dir / STATE_FILE).unlink(missing_ok=True)


def _program() -> Path:
    machine = platform.machine()
    program = BUILD / {"amd64": "x86_64", "aarch64": "arm64"}.get(machine, machine) / "bootstrap"
    if not program.is_file():
        raise EmulatorError(f"{program}, which a host runs, isn't built; run `make functions`")
    return program


def _environment(outputs: Mapping[str, Any], access: Access) -> dict[str, str]:
    """A host's environment: its stack's variables, its instances' role, and no shell secrets."""
    return {
        **inherited(os.environ),
        **{name: str(value) for name, value in outputs["host_environment"].items()},
        "AWS_ENDPOINT_URL": access.endpoint_url,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        **_role_of_the_instances(outputs, access),
    }


def _role_of_the_instances(outputs: Mapping[str, Any], access: Access) -> dict[str, str]:
    """Credentials of the instances' role, as environment variables."""
    where = {"endpoint_url": access.endpoint_url, "region_name": outputs["region"]} | access.key
    ec2, iam, sts = (boto3.client(service, **where) for service in ("ec2", "iam", "sts"))
    try:
        described = ec2.describe_instances(InstanceIds=outputs["instance_ids"][:1])
        arn = described["Reservations"][0]["Instances"][0]["IamInstanceProfile"]["Arn"]
        profile = iam.get_instance_profile(InstanceProfileName=arn.rpartition("/")[2])
        [role] = profile["InstanceProfile"]["Roles"]
        session = sts.assume_role(
            RoleArn=role["Arn"], RoleSessionName="host", DurationSeconds=SESSION_S
        )
    except (BotoCoreError, ClientError, LookupError, ValueError) as error:
        raise EmulatorError(
            f"the hosts can't assume the role of the stack's instances ({type(error).__name__}: "
            f"{error}); apply the stack again, or start afresh after `stampede emulator stop`"
        ) from None
    key = session["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "AWS_SESSION_TOKEN": key["SessionToken"],
    }


def _start(
    program: Path, environment: Mapping[str, str], log_path: Path, follow_parent: bool
) -> Process:
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [program, "work"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches only this process, which stops the hosts
            preexec_fn=end_with_parent() if follow_parent else None,
        )
    return Process.of(process, log_path)


def _wait_until_ready(host: Process) -> None:
    for _ in looks(itertools.repeat(0.02), START_TIMEOUT_S):
        is_alive = host.is_alive()  # before its last output is read
        output = Path(host.log_file).read_text(errors="replace")
        if READY in output:
            return
        if not is_alive:
            last = (output.strip().splitlines() or ["nothing"])[-1]
            raise EmulatorError(f"a host exited immediately; its last output: {last[:300]}")
    raise EmulatorError(f"a host wasn't ready within {START_TIMEOUT_S} s; its log: {host.log_file}")


def _read(state_dir: Path) -> tuple[list[Any], list[Process]]:
    """The stored state of the hosts: what they were started with, and their processes."""
    try:
        state = json.loads((state_dir / STATE_FILE).read_text())
        return state["begun_with"], [Process(**host) for host in state["hosts"]]
    except (OSError, ValueError, TypeError, KeyError):
        return [], []
