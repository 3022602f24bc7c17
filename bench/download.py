"""Downloads of 1 GiB from versitygw on loopback: ours against boto3's `download_file` and a bare socket.

Every run is a child process of its own; its CPU time is the whole process's, Python's start and imports included.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench import invoke, peers, servers, tools
from bench.child import run_child
from bench.errors import BenchError
from bench.measure import Entry, Samples, alternate
from stampede.progress import say

FUNCTIONS = Path(__file__).parents[1] / "functions"
BUCKET, KEY = "stampede-bench", "sample_large_file.dat"
OBJECT_MB = 1024
OBJECT_BYTES = OBJECT_MB * 2**20
# The object, a copy of it in the temporary folder (RAM-backed too), and some room for the server.
ROOM_MB = 2 * OBJECT_MB + 256
LONGEST_ANSWER_HEAD_BYTES = 4096


@dataclass(frozen=True)
class Gateway:
    """A running S3 server, and a RAM-backed folder for what its clients keep."""

    url: str
    folder: Path
    environment: dict[str, str]

    def client(self) -> Any:
        """A boto3 client for preparing; it never leaves loopback."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=servers.REGION,
            aws_access_key_id=servers.ACCESS_KEY,
            aws_secret_access_key=servers.SECRET_KEY,
            verify=self.environment.get("AWS_CA_BUNDLE"),
            config=Config(proxies={}, signature_version="s3v4", retries={"mode": "standard", "total_max_attempts": 4}),
        )

    def run(self, program: list[str], **environment: str) -> dict[str, float]:
        """Run a Python program that leaves {scratch}/report.json in its new folder; gives that, time and memory."""
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as scratch:
            report = Path(scratch) / "report.json"
            arguments = [part.replace("{scratch}", scratch) for part in program]
            variables = self.environment | {"TMPDIR": scratch} | environment
            settings = [f"{name}={value}" for name, value in variables.items()]
            measured = run_child(["env", *settings, *python(*arguments)])
            return measured | json.loads(report.read_text())


def python(program: str, *arguments: str) -> list[str]:
    """The command line of one of our Python programs.

    `-S`: the site module's work (development installs, .pth files) isn't the client's.
    """
    return [sys.executable, "-S", program, *arguments]


@contextmanager
def gateway(*, tls: bool = False) -> Iterator[Gateway]:
    """Run versitygw with the object in it. Raises BenchError without Go (the first time), openssl (tls) or room."""
    with servers.certificate() if tls else _nothing() as certificate, servers.versitygw(ROOM_MB, certificate) as url:
        bundle = {} if certificate is None else {"AWS_CA_BUNDLE": str(certificate.certificate)}
        with place(url, **bundle) as made:
            yield made


@contextmanager
def place(url: str, **environment: str) -> Iterator[Gateway]:
    """A running S3 server as a place for clients: the bucket is made, and a folder in memory."""
    settings = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": servers.ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": servers.SECRET_KEY,
        "AWS_REGION": servers.REGION,
        "AWS_DEFAULT_REGION": servers.REGION,
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    with tempfile.TemporaryDirectory(prefix="stampede-download-", dir=servers.RAM_FOLDER) as folder:
        made = Gateway(url, Path(folder), settings | environment)
        made.client().create_bucket(Bucket=BUCKET)
        yield made


def put_object(made: Gateway) -> None:
    """Put the 1 GiB object."""
    say(f"uploading an object of {OBJECT_MB} MiB to versitygw (a few seconds)")
    made.client().put_object(Bucket=BUCKET, Key=KEY, Body=random.Random(4).randbytes(2**20) * OBJECT_MB)


@dataclass
class Side:
    """One client: how to run it once, and everything that its runs measured."""

    label: str
    run: Callable[[], dict[str, float]]
    measured: list[dict[str, float]] = field(default_factory=list)

    def __call__(self) -> dict[str, float]:
        measured = self.run()
        self.measured.append(measured)
        return measured

    def sentence(self) -> str:
        """The medians of all that was measured, in words."""
        median = {name: statistics.median(run[name] for run in self.measured) for name in self.measured[0]}
        return (
            f"{self.label}: {median['cpu_s']:.3f} CPU-s and {median['wall_s']:.2f} s the whole process "
            f"({median['client_cpu_s']:.3f} CPU-s and {median['seconds']:.3f} s the download alone), "
            f"peak {median['peak_mb']:.0f} MiB"
        )


def ours(made: Gateway, method: str, sink: str) -> Side:
    """The download function in a sandbox of its own, as Lambda starts it for the first message."""
    order = json.dumps({"run_id": "bench", "cell": f"method={method}", "seq": 0, "object_bytes": OBJECT_BYTES})
    settings = {
        "METHOD": method,
        "SINK": sink,
        "CONCURRENCY_LIMIT": "1",
        "MEMORY_SIZE": "2048",
        "EXPERIMENT_TAG": "bench",
        "BUCKET_NAME": BUCKET,
        "FILE_NAME": KEY,
    }

    def run() -> dict[str, float]:
        record = made.run([invoke.__file__, str(FUNCTIONS), "download", order, "{scratch}/report.json"], **settings)
        return _figures(record, record["download_time_seconds"], record["client_cpu_seconds"], record["bytes"])

    return Side(f"{method} to {sink}", run)


def peer(made: Gateway, name: str, *arguments: str) -> Side:
    """One of `bench.peers`."""

    def run() -> dict[str, float]:
        report = made.run([peers.__file__, name, "{scratch}/report.json", *arguments])
        return _figures(report, report["seconds"], report["client_cpu_s"], report["bytes"])

    return Side(name, run)


def stream_wall(runs: int) -> tuple[Entry, str]:
    """`stream` against a bare socket: MiB/s from connecting to the last byte."""
    name = "download_stream_wall"
    with gateway() as made:
        put_object(made)
        parameters = {"Bucket": BUCKET, "Key": KEY}
        url = made.client().generate_presigned_url("get_object", parameters, ExpiresIn=3600)
        sides = ours(made, "stream", "discard"), peer(made, "bare_socket", url)
        samples = _alternate(name, sides, runs, lambda run: OBJECT_MB / run["seconds"], "MiB/s")
    return samples.entry(name, "MiB/s", higher_is_better=True), _setting(sides, made)


def against_download_file(name: str, method: str, sink: str, figure: str, tls: bool, runs: int) -> tuple[Entry, str]:
    """Our `method` to `sink` against boto3's `download_file` to a file, over HTTP or HTTPS.

    `figure` is "cpu_s" (CPU seconds a GiB, the whole process) or "seconds" (the download alone).
    """
    unit = "CPU-s/GiB" if figure == "cpu_s" else "s"
    with gateway(tls=tls) as made:
        put_object(made)
        sides = ours(made, method, sink), peer(made, "download_file", BUCKET, KEY, "{scratch}/object")
        samples = _alternate(name, sides, runs, lambda run: run[figure] * 2**30 / OBJECT_BYTES, unit)
    return samples.entry(name, unit, higher_is_better=False), _setting(sides, made)


def _alternate(
    name: str, sides: tuple[Side, Side], runs: int, figure: Callable[[dict[str, float]], float], unit: str
) -> Samples:
    say(f"{name}: {runs} runs of each side in turn after one to warm up (about {(runs + 1) * 3} s)")
    for side in sides:
        side.run()
    return alternate(lambda: figure(sides[0]()), lambda: figure(sides[1]()), runs, unit)


def _figures(whole: dict[str, float], seconds: float, client_cpu_s: float, received_bytes: float) -> dict[str, float]:
    """What both sides report, in the same words. Raises BenchError unless exactly the object arrived."""
    if not OBJECT_BYTES <= received_bytes <= OBJECT_BYTES + LONGEST_ANSWER_HEAD_BYTES:
        raise BenchError(f"{received_bytes} bytes arrived instead of {OBJECT_BYTES}: this run can't be compared")
    kept = {name: whole[name] for name in ("wall_s", "cpu_s", "peak_mb")}
    return kept | {"seconds": seconds, "client_cpu_s": client_cpu_s}


def _setting(sides: tuple[Side, Side], made: Gateway) -> str:
    scheme = made.url.partition(":")[0]
    server = f"{OBJECT_MB} MiB from versitygw {tools.VERSITYGW.version} over {scheme} on loopback, all in memory"
    return f"{server}; {sides[0].sentence()}; {sides[1].sentence()}"


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


ENTRIES = {
    name: partial(against_download_file, name, method, sink, figure, name.endswith("_https"))
    for name, method, sink, figure in (
        ("download_stream_cpu", "stream", "discard", "cpu_s"),
        ("download_stream_cpu_https", "stream", "discard", "cpu_s"),
        ("download_ranges_cpu", "ranges", "tmp", "cpu_s"),
        ("download_ranges_wall", "ranges", "tmp", "seconds"),
        ("download_crt_cpu", "crt", "tmp", "cpu_s"),
        ("download_crt_wall", "crt", "tmp", "seconds"),
    )
} | {"download_stream_wall": stream_wall}
