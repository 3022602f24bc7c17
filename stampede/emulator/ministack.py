"""Starts and stops MiniStack, the embedded local AWS, as one process group on a loopback port.

A small JSON file in the state folder describes the running emulator, so that `stampede emulator
stop` in another terminal finds the process.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path

from stampede import own_folder
from stampede.emulator import python_runtime
from stampede.emulator.process import Process, without_aws
from stampede.errors import FixableError, UsageError
from stampede.interruption import held_back
from stampede.polling import looks

HOST = "127.0.0.1"
REGION = "us-east-1"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
# The module of the MiniStack process; tests replace it (tests/fakes/late_aws.py).
KEEPER = "stampede.emulator.keeper"
# The account's concurrency, AWS's default (Lambda's quotas page). MiniStack's own default is the
# machine's memory divided by 21 MiB: too few for N = 500 on 16 GB, and a throttled message comes
# back only after its visibility timeout.
CONCURRENCY = 1000

# The standard inputs of those that follow this process stay open until it ends.
_started: list[subprocess.Popen] = []


class EmulatorError(FixableError):
    """The emulator can't be started, reached or stopped; one line says why and what to do."""


@dataclass(frozen=True)
class Access:
    """The URL at which an emulator serves every AWS API, and the key of its root user."""

    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)

    @property
    def key(self) -> dict[str, str]:
        """The key as arguments of a boto3 client."""
        return {
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead a program's SDK to the emulator."""
        key = {name.upper(): value for name, value in self.key.items()}
        regions = {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
        return {"AWS_ENDPOINT_URL": self.endpoint_url} | key | regions


@dataclass(frozen=True)
class Emulator(Process):
    """A running emulator: its process, and its access."""

    access: Access

    @property
    def endpoint_url(self) -> str:
        """The URL of every AWS API."""
        return self.access.endpoint_url

    def answers(self) -> bool:
        """True if it refuses an unsigned request within two seconds."""
        host = self.endpoint_url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=2)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == HTTPStatus.FORBIDDEN
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def running(state_dir: Path) -> Emulator | None:
    """Return the emulator that `start` left running in `state_dir`, or None; removes a stale file.

    Raises UsageError for a folder that another user may write into: its contents are trusted and
    run.
    """
    if fault := own_folder.fault(state_dir):
        raise UsageError(fault, "set STAMPEDE_STATE_DIR to a folder of your own")
    try:
        state = json.loads((state_dir / "emulator.json").read_text())
        emulator = Emulator(**state | {"access": Access(**state["access"])})
        if emulator.is_alive():
            return emulator
    except (OSError, ValueError, TypeError, KeyError):
        pass  # no file, or an invalid one
    _forget(state_dir)
    return None


def start(state_dir: Path, *, follow_parent: bool = False) -> Emulator:
    """Start MiniStack on a free loopback port, where none is `running`, and wait until it answers.

    With `follow_parent` it ends with this process, even when that is killed with -9. Raises
    EmulatorError when it doesn't answer within START_TIMEOUT_S seconds.
    """
    python_runtime.make_once()
    own_folder.make(state_dir)
    # for files of MiniStack and the functions, until `stop`
    temporary = state_dir / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    bound = socket.socket()
    bound.bind((HOST, 0))  # from now on no other program can take the port and the calls
    # Each start makes a new secret; only this user can read its files.
    key_id, secret = f"STAMPEDE{secrets.token_hex(6).upper()}", secrets.token_urlsafe(30)
    access = Access("http://{}:{}".format(*bound.getsockname()), key_id, secret)
    emulator, log = None, state_dir / "emulator.log"
    try:
        with held_back(), bound:
            process = _launch(bound, _environment(access, temporary), log, follow_parent)
            emulator = Emulator.of(process, log, access)
            _write_for_this_user(state_dir / "emulator.json", json.dumps(asdict(emulator)))
            # Killed, the emulator leaves this file, and another program may get its port.
            exports = " ".join(f"{name}={value}" for name, value in access.environment.items())
            export = f"kill -0 {process.pid} && export {exports}\n"
            _write_for_this_user(exports_file(state_dir), export)
        _wait_until_it_answers(emulator, process)
    except BaseException:
        if emulator is not None:
            _end(emulator, state_dir)
        raise
    return emulator


def _launch(
    bound: socket.socket, environment: Mapping[str, str], log_path: Path, follow_parent: bool
) -> subprocess.Popen:
    """Start the MiniStack process, at a bound socket."""
    command = [sys.executable, "-m", KEEPER, str(bound.fileno())]
    if follow_parent:
        command.append("--follow-parent")
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command,
            pass_fds=[bound.fileno()],
            stdin=subprocess.PIPE if follow_parent else subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    _started.append(process)
    return process


def stop(state_dir: Path) -> bool:
    """Stop the emulator and its function processes, if it runs; return whether it did."""
    emulator = running(state_dir)
    if emulator is None:
        return False
    _end(emulator, state_dir)
    return True


def exports_file(state_dir: Path) -> Path:
    """The file that a shell sources so that its programs reach the running emulator."""
    return state_dir / "emulator.env"


def _write_for_this_user(path: Path, text: str) -> None:
    """Write a new file that no other user can read at any moment."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _forget(state_dir: Path) -> None:
    for file in (state_dir / "emulator.json", exports_file(state_dir)):
        file.unlink(missing_ok=True)


def _end(emulator: Emulator, state_dir: Path) -> None:
    emulator.end(STOP_TIMEOUT_S)
    _forget(state_dir)
    shutil.rmtree(state_dir / "tmp", ignore_errors=True)


def _environment(access: Access, temporary: Path) -> dict[str, str]:
    """The emulator's environment: this process's, without any real AWS account. Functions get few
    of its variables (`process.inherited`)."""
    return {
        **without_aws(os.environ),
        **access.environment,
        "GATEWAY_PORT": access.endpoint_url.rpartition(":")[2],
        "BIND_HOST": HOST,  # its default is every interface
        "AUTH": "true",  # enforces IAM for the function's role: proves least privilege
        "MINISTACK_REGION": REGION,
        "LAMBDA_ACCOUNT_CONCURRENCY": str(CONCURRENCY),
        "IOT_MTLS_ENABLED": "0",  # or it listens on another port
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(temporary),
    }


def _wait_until_it_answers(emulator: Emulator, process: subprocess.Popen) -> None:
    reason = f"didn't answer at {emulator.endpoint_url} within {START_TIMEOUT_S} s"
    for _ in looks(itertools.repeat(0.1), START_TIMEOUT_S):
        if process.poll() is not None:
            reason = f"exited immediately with status {process.returncode}"
            break
        if emulator.answers():
            return
    raise EmulatorError(f"the embedded AWS {reason}; its log: {emulator.log_file}")
