"""Clients that copy the same list of objects on the server: ours, and those that people use, each as a `Side`.

Every run copies to a new prefix, so none meets what another has made, and what is there afterwards is counted.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import clients, download, peers, programs
from bench.child import run_child
from bench.download import BUCKET, Gateway, Side
from bench.errors import BenchError

SOURCE = "masters/0a1b2c3d/0"
SOURCE_BYTES = 1000
PROCESSES = 4
CLI_PROCESSES = 4
OBJECTS_A_FOLDER = 5
_number = itertools.count()


def put_master(made: Gateway) -> None:
    """Put the object that is copied."""
    made.client().put_object(Bucket=BUCKET, Key=SOURCE, Body=os.urandom(SOURCE_BYTES))


def new_prefix() -> str:
    """A destination that nothing has been copied to."""
    return f"copies/{next(_number)}/"


def destinations(prefix: str, count: int) -> Iterator[str]:
    """The keys of a key plan: hours, five objects each."""
    for number in range(count):
        folder, name = divmod(number, OBJECTS_A_FOLDER)
        day, hour = divmod(folder, 24)
        year, day = divmod(day, 365)
        yield f"{prefix}{2015 + year}/{day // 31 + 1:02}/{day % 31 + 1:02}/{hour:02}/{name}-{number:08}.mp4"


@contextmanager
def manifest(made: Gateway, prefix: str, count: int) -> Iterator[Path]:
    """A file of `source,destination` lines, as `transfer copy --manifest` takes it."""
    path = made.folder / f"{prefix.replace('/', '-')}manifest.csv"
    with path.open("w") as file:
        file.writelines(f"{SOURCE},{destination}\n" for destination in destinations(prefix, count))
    yield path
    path.unlink()


def transfer(prefix: str, manifest: str, parallel_limit: int, *options: str) -> list[str]:
    """The command line of our copy of a manifest to a prefix of the same bucket."""
    to = ["--destination-bucket", BUCKET, "--destination-prefix", prefix, "--parallel-limit", str(parallel_limit)]
    fixed = ["--pace", "fixed"]  # what a call costs, unless the options say otherwise
    return [programs.transfer(), "copy", "--source-bucket", BUCKET, "--manifest", manifest, *to, *fixed, *options]


def record(
    made: Gateway, prefix: str, manifest: Path, parallel_limit: int, *options: str, timeout_s: float = 600
) -> dict:
    """Run our copy as a process; returns its record and wall_s, cpu_s and peak_mb.

    Raises BenchError when an object failed: it ends with status 1 then.
    """
    settings = [f"{name}={value}" for name, value in made.environment.items()]
    with tempfile.TemporaryDirectory(prefix="run-", dir=made.folder) as scratch:
        printed = Path(scratch) / "record.json"
        command = ["env", *settings, *transfer(prefix, str(manifest), parallel_limit, *options)]
        measured = run_child(command, timeout_s, str(printed))
        return json.loads(printed.read_text()) | measured


def ours(made: Gateway, count: int, parallel_limit: int) -> Side:
    """`transfer copy` of a manifest."""
    return _side(
        made,
        f"transfer copy, parallel limit {parallel_limit}",
        count,
        lambda prefix, rows: transfer(prefix, rows, parallel_limit),
        lambda destination: f"{SOURCE},{destination}",
    )


def boto3(made: Gateway, count: int) -> Side:
    """A loop of `copy_object` in each of several processes."""
    return _side(
        made,
        f"boto3, {PROCESSES} processes",
        count,
        lambda _, rows: download.python(peers.__file__, "copy_many", os.devnull, BUCKET, rows, str(PROCESSES)),
        lambda destination: f"{SOURCE},{destination}",
        PYTHONPATH=made.environment["PYTHONPATH"],
    )


def s5cmd(made: Gateway, count: int) -> Side:
    """s5cmd with a run file."""
    return _side(
        made,
        f"s5cmd {programs.S5CMD_VERSION} run",
        count,
        lambda _, rows: [programs.s5cmd(), "--endpoint-url", made.url, "run", rows],
        lambda destination: f"cp s3://{BUCKET}/{SOURCE} s3://{BUCKET}/{destination}",
    )


def aws(made: Gateway, count: int) -> Side:
    """The AWS CLI, a process a call, through xargs. Raises BenchError when it isn't installed."""
    call = [programs.aws(), "--endpoint-url", made.url, "s3api", "copy-object", "--bucket", BUCKET]
    return _side(
        made,
        f"AWS CLI {programs.aws_version()}, xargs -P {CLI_PROCESSES}",
        count,
        lambda _, rows: ["xargs", "-a", rows, "-L", "1", "-P", str(CLI_PROCESSES), *call],
        lambda destination: f"--copy-source {BUCKET}/{SOURCE} --key {destination}",
    )


def _side(
    made: Gateway,
    label: str,
    count: int,
    command: Callable[[str, str], Sequence[str]],
    line: Callable[[str], str],
    **environment: str,
) -> Side:
    """A side whose run copies `count` objects: what `command` makes of a prefix and of a file with a `line` for each.

    Its figures are also told a call: `cpu_ms` and `calls_per_s`. A run after which other than `count` objects are there
    raises BenchError.
    """

    def run() -> dict[str, float]:
        prefix = new_prefix()
        rows = made.folder / f"{prefix.replace('/', '-')}rows"
        rows.write_text("".join(line(destination) + "\n" for destination in destinations(prefix, count)))
        try:
            side = clients.program(made, label, command(prefix, str(rows)), lambda _: None, environment)
            measured = side.run()
        finally:
            rows.unlink()
        there = count_objects(made, prefix)
        if there != count:
            raise BenchError(f"{label}: {there} of {count} objects exist: this run can't be compared")
        return measured | {"cpu_ms": measured["cpu_s"] * 1000 / count, "calls_per_s": count / measured["wall_s"]}

    return Side(label, run)


def count_objects(made: Gateway, prefix: str) -> int:
    """How many objects are below a prefix."""
    pages = made.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    return sum(page["KeyCount"] for page in pages)
