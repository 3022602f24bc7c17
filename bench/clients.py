"""Clients that are programs of their own, as their users would call them: defaults, an endpoint, and a certificate.

Each becomes a `Side` whose every run is a new process with an empty folder as its home, measured whole. What arrived is
compared with what was put: all bytes at a side's first run, the sizes at every run.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench import download, peers, programs
from bench.child import run_child
from bench.download import Gateway, Side
from bench.errors import BenchError
from bench.small_set import PREFIX, SmallSet

GET_MANY_CONNECTIONS = 16
# Its SDK refuses to add this to rclone's own transport; rclone takes the certificate as an option.
RCLONE_ENVIRONMENT = {"AWS_CA_BUNDLE": ""}


def program(
    made: Gateway,
    label: str,
    command: Sequence[str],
    check: Callable[[Path], None],
    environment: Mapping[str, str] | None = None,
) -> Side:
    """A side that runs `command`, in which {file} is where one object goes and {folder} where many go (it is there)."""
    # Our own packages would take the place of those that a client written in Python brings along.
    variables = {name: value for name, value in made.environment.items() if name != "PYTHONPATH"} | (environment or {})

    def run() -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="run-", dir=made.folder) as scratch:
            file, folder = Path(scratch) / "object", Path(scratch) / "objects"
            folder.mkdir()
            here = variables | {"TMPDIR": scratch, "HOME": scratch}
            settings = [f"{name}={value}" for name, value in here.items()]
            arguments = [part.replace("{file}", str(file)).replace("{folder}", str(folder)) for part in command]
            try:
                measured = run_child(["env", *settings, *arguments])
                check(file if "{file}" in command else folder)
            except BenchError as error:
                raise BenchError(f"{label}: {error}") from None
        return measured

    return Side(label, run)


def go(made: Gateway, method: str, sink: str) -> Side:
    """The Go program's `get`. A file is looked at afterwards; elsewhere the program itself counts the bytes."""
    source = ["--endpoint-url", made.url, "--bucket", download.BUCKET, "--key", download.KEY]
    way = ["--method", method, "--sink", sink, "--object-bytes", str(download.OBJECT_BYTES)]
    command = [programs.transfer(), "get", *source, *way]
    if sink == "tmp":
        return program(made, f"Go {method} to tmp", [*command, "--output", "{file}"], the_object())
    return program(made, f"Go {method} to {sink}", command, lambda _: None)


def s5cmd(made: Gateway) -> Side:
    """s5cmd's `cp` of one object."""
    command = [programs.s5cmd(), "--endpoint-url", made.url, "cp", f"s3://{download.BUCKET}/{download.KEY}", "{file}"]
    return program(made, f"s5cmd {programs.S5CMD_VERSION}", command, the_object())


def aws(made: Gateway) -> Side:
    """The AWS CLI's `s3 cp` of one object. Raises BenchError when it isn't installed."""
    source = f"s3://{download.BUCKET}/{download.KEY}"
    command = [programs.aws(), "--endpoint-url", made.url, "s3", "cp", "--only-show-errors", source, "{file}"]
    return program(made, f"AWS CLI {programs.aws_version()}", command, the_object())


def rclone(made: Gateway) -> Side:
    """rclone's `copyto` of one object. Raises BenchError when it isn't installed."""
    command = [*_rclone(made, "copyto"), f"{_remote(made)}{download.BUCKET}/{download.KEY}", "{file}"]
    return program(made, f"rclone {programs.rclone_version()}", command, the_object(), RCLONE_ENVIRONMENT)


def go_many(made: Gateway, small: SmallSet) -> Side:
    """The Go program's `get-many`."""
    source = ["--endpoint-url", made.url, "--bucket", download.BUCKET, "--prefix", PREFIX]
    command = [programs.transfer(), "get-many", *source, "--parallel", str(GET_MANY_CONNECTIONS)]
    label = f"Go get-many, {GET_MANY_CONNECTIONS} connections"
    return program(made, label, [*command, "--output", "{folder}"], small.checked())


def download_file_many(made: Gateway, small: SmallSet) -> Side:
    """boto3's `download_file` in threads."""
    command = download.python(peers.__file__, "download_many", os.devnull, download.BUCKET, PREFIX, "{folder}")
    packages = {"PYTHONPATH": made.environment["PYTHONPATH"]}
    return program(made, f"download_file, {peers.THREADS} threads", command, small.checked(), packages)


def s5cmd_many(made: Gateway, small: SmallSet) -> Side:
    """s5cmd's `cp` of everything under the prefix."""
    source = f"s3://{download.BUCKET}/{PREFIX}*"
    command = [programs.s5cmd(), "--endpoint-url", made.url, "cp", source, "{folder}"]
    return program(made, f"s5cmd {programs.S5CMD_VERSION}", command, small.checked())


def aws_many(made: Gateway, small: SmallSet) -> Side:
    """The AWS CLI's recursive `s3 cp`. Raises BenchError when it isn't installed."""
    command = [programs.aws(), "--endpoint-url", made.url, "s3", "cp", "--only-show-errors", "--recursive"]
    source = f"s3://{download.BUCKET}/{PREFIX}"
    return program(made, f"AWS CLI {programs.aws_version()}", [*command, source, "{folder}"], small.checked())


def rclone_many(made: Gateway, small: SmallSet) -> Side:
    """rclone's `copy` of the prefix. Raises BenchError when it isn't installed."""
    command = [*_rclone(made, "copy"), f"{_remote(made)}{download.BUCKET}/{PREFIX}", "{folder}"]
    return program(made, f"rclone {programs.rclone_version()}", command, small.checked(), RCLONE_ENVIRONMENT)


def the_object() -> Callable[[Path], None]:
    """A check of what a client left: the bytes at its first use, the size from then on. It raises BenchError."""
    seen = False

    def check(path: Path) -> None:
        nonlocal seen
        arrived = path.stat().st_size if path.is_file() else 0
        if arrived != download.OBJECT_BYTES:
            raise BenchError(f"{arrived} bytes arrived instead of {download.OBJECT_BYTES}: this run can't be compared")
        if not seen:
            _same_bytes(path)
        seen = True

    return check


def _same_bytes(path: Path) -> None:
    piece = random.Random(4).randbytes(2**20)  # as bench.download.put_object
    with path.open("rb") as file:
        if any(file.read(2**20) != piece for _ in range(download.OBJECT_MB)):
            raise BenchError("the bytes received differ from those uploaded")


def _rclone(made: Gateway, verb: str) -> list[str]:
    """Its configuration file isn't wanted, and the certificate has to be an option."""
    command = [programs.rclone(), verb, "--config", os.devnull]
    if certificate := made.environment.get("AWS_CA_BUNDLE"):
        command += ["--ca-cert", certificate]
    return command


def _remote(made: Gateway) -> str:
    return f":s3,provider=Other,env_auth=true,endpoint='{made.url}':"
