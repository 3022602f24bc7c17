"""Starts and stops MiniStack, the embedded local AWS, as one process group on a loopback port.

The state of a running emulator is one small JSON file in the state folder, so that `stampede
emulator stop` in another terminal finds the process again.
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
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path

from stampede import own_folder
from stampede.emulator import python_runtime
from stampede.emulator.process import Process, start_ticks
from stampede.errors import FixableError, UsageError
from stampede.interruption import held_back
from stampede.polling import looks
from stampede.progress import say

HOST = "127.0.0.1"
REGION = "us-east-1"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
# The module that holds MiniStack in its process; a test has another one (tests/fakes/late_aws.py).
KEEPER = "stampede.emulator.keeper"
# Functions at once in its account, as in AWS's by default (Lambda's quotas page). MiniStack's own
# number goes by the machine's memory, 21 MiB a function whatever it takes: too few for N = 500 on a
# machine of 16 GB, and what is throttled comes back only after its visibility timeout.
CONCURRENCY = 1000

# Write ends of the standard inputs of emulators that follow this process: open until this process
# ends.
_lifelines: list = []


class EmulatorError(FixableError):
    """The emulator can't be started, reached or stopped; the message is one line with the way
    out."""


@dataclass(frozen=True)
class Access:
    """The one URL of an emulator that serves every AWS API, and the key of its root user."""

    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)

    @property
    def key(self) -> dict[str, str]:
        """The key as boto3 takes it."""
        return {
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
        }

    @property
    def environment(self) -> dict[str, str]:
        """What leads a program's SDK there."""
        key = {name.upper(): value for name, value in self.key.items()}
        regions = {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
        return {"AWS_ENDPOINT_URL": self.endpoint_url} | key | regions


@dataclass(frozen=True)
class Emulator(Process):
    """A running emulator: its process, its log, and how it is reached."""

    log_file: str
    access: Access

    @property
    def endpoint_url(self) -> str:
        """The one URL that serves every AWS API."""
        return self.access.endpoint_url

    def answers(self) -> bool:
        """True when it says within two seconds that it lets nobody in who hasn't signed."""
        connection = http.client.HTTPConnection(
            self.endpoint_url.removeprefix("http://"), timeout=2
        )
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == HTTPStatus.FORBIDDEN
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def running(state_dir: Path) -> Emulator | None:
    """Return the emulator that `start` left running in `state_dir`, or None (a stale file is
    removed).

    Raises UsageError for a folder that somebody else may have written into: what lies there is
    believed, and run.
    """
    if fault := own_folder.fault(state_dir):
        raise UsageError(fault, "set STAMPEDE_STATE_DIR to a folder of your own")
    try:
        state = json.loads((state_dir / "emulator.json").read_text())
        emulator = Emulator(**state | {"access": Access(**state["access"])})
        if emulator.is_alive():
            return emulator
    except (OSError, ValueError, TypeError, KeyError):
        pass  # none, or nothing that can be read
    _forget(state_dir)
    return None


def start(state_dir: Path, *, follow_parent: bool = False) -> Emulator:
    """Start MiniStack on a free loopback port and wait until it answers; return the one already
    running if any.

    `follow_parent=True` ties its life to this process: it stops even when this process is killed
    with -9. Raises EmulatorError when it doesn't answer within START_TIMEOUT_S seconds.
    """
    if (emulator := running(state_dir)) is not None:
        return emulator
    python_runtime.make_once(say)
    own_folder.make(state_dir)
    # what MiniStack and the functions write lands here, and goes with `stop`
    temporary = state_dir / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    bound = socket.socket()
    bound.bind((HOST, 0))  # from here on no other program can take the port and the calls
    # The secret is made anew at each start; only this user can read where it is kept.
    key_id, secret = f"STAMPEDE{secrets.token_hex(6).upper()}", secrets.token_urlsafe(30)
    access, emulator = Access("http://{}:{}".format(*bound.getsockname()), key_id, secret), None
    try:
        with held_back(), bound:
            process = _launch(
                bound, _environment(access, temporary), state_dir / "emulator.log", follow_parent
            )
            emulator = Emulator(
                process.pid, start_ticks(process.pid), str(state_dir / "emulator.log"), access
            )
            _write_for_this_user(state_dir / "emulator.json", json.dumps(asdict(emulator)))
            # The file stays when this is killed, and its port may be a stranger's then.
            exports = " ".join(f"{name}={value}" for name, value in access.environment.items())
            _write_for_this_user(
                exports_file(state_dir), f"kill -0 {process.pid} && export {exports}\n"
            )
        _wait_until_it_answers(emulator, process)
    except BaseException:
        if emulator is not None:
            _end(emulator, state_dir)
        raise
    return emulator


def _launch(
    bound: socket.socket, environment: Mapping[str, str], log_path: Path, follow_parent: bool
) -> subprocess.Popen:
    """Start the process that holds MiniStack, at a socket that is bound already."""
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                KEEPER,
                str(bound.fileno()),
                *(["--follow-parent"] if follow_parent else []),
            ],
            pass_fds=[bound.fileno()],
            stdin=subprocess.PIPE if follow_parent else subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    if process.stdin is not None:
        _lifelines.append(process.stdin)
    return process


def stop(state_dir: Path) -> bool:
    """Stop the emulator and all function processes it started; True if one was running. Never
    raises for 'gone'."""
    emulator = running(state_dir)
    if emulator is None:
        return False
    _end(emulator, state_dir)
    return True


def exports_file(state_dir: Path) -> Path:
    """What a shell reads to have its programs reach the running emulator."""
    return state_dir / "emulator.env"


def _write_for_this_user(path: Path, text: str) -> None:
    """Write a file anew that nobody else may read, not for a moment either."""
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
    """The emulator's environment: this process's, without any real AWS account in it. Functions get
    little of it (`process.inherited`)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return (
        kept
        | access.environment
        | {
            "GATEWAY_PORT": access.endpoint_url.rpartition(":")[2],
            "BIND_HOST": HOST,  # its default is every interface
            "AUTH": "true",  # IAM is enforced for the function's role: proves least privilege
            "MINISTACK_REGION": REGION,
            "LAMBDA_ACCOUNT_CONCURRENCY": str(CONCURRENCY),
            "IOT_MTLS_ENABLED": "0",  # or it listens on a port more
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "LOG_LEVEL": "WARNING",
            "TMPDIR": str(temporary),
        }
    )


def free_port() -> int:
    """A loopback port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _wait_until_it_answers(emulator: Emulator, process: subprocess.Popen) -> None:
    reason = f"didn't answer at {emulator.endpoint_url} within {START_TIMEOUT_S} s"
    for _ in looks(itertools.repeat(0.1), time.monotonic() + START_TIMEOUT_S):
        if process.poll() is not None:
            reason = f"exited immediately with status {process.returncode}"
            break
        if emulator.answers():
            return
    raise EmulatorError(f"the embedded AWS {reason}; its log: {emulator.log_file}")
