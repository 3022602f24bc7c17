"""Servers on loopback for the measurements, each a context manager that stops its own process by its id.

versitygw (S3 over a RAM-backed folder), the front that throttles (bench/front, an S3 of keys alone), ElasticMQ (SQS, in
memory) and toxiproxy (latency).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench import programs
from bench.errors import BenchError
from stampede.emulator.ministack import HOST, free_port
from stampede.emulator.process import end_with_parent

ACCESS_KEY, SECRET_KEY, REGION, BUCKET = "test", "test", "us-east-1", "stampede-bench"
RAM_FOLDER = Path("/dev/shm")
START_TIMEOUT_S, STOP_TIMEOUT_S, ANSWER_TIMEOUT_S = 60, 10, 5

# node-address only shapes the queue URLs that ElasticMQ hands out. Nothing is stored on disk.
ELASTICMQ_CONFIG = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port}, sqs-limits = strict }}
rest-stats.enabled = false
queues-storage.enabled = false
messages-storage.enabled = false
"""
# Loopback is never reached through a proxy, whatever the environment says.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Place:
    """A running S3 server with the bench's bucket, and a RAM-backed folder for what its clients keep."""

    url: str
    folder: Path
    environment: dict[str, str]

    def client(self) -> Any:
        """A boto3 client for preparing and checking; it never leaves loopback."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(proxies={}, signature_version="s3v4", retries={"mode": "standard", "total_max_attempts": 4}),
        )


@dataclass(frozen=True)
class Front:
    """A running front: its S3 endpoint URL, and what it has counted."""

    url: str

    def status(self) -> dict[str, Any]:
        """What it has accepted, refused and carried out since its start, by prefix and second. Raises BenchError."""
        answered, body = get(f"{self.url}/__front")
        if answered != 200:
            raise BenchError(f"the front answered {answered} to /__front: {body[:200].decode(errors='replace')}")
        return json.loads(body)


@contextmanager
def s3(room_mb: int) -> Iterator[Place]:
    """versitygw with `room_mb` MiB to spare. Raises BenchError without Go (the first time) or room."""
    with versitygw(room_mb) as url, place(url) as made:
        yield made


@contextmanager
def place(url: str) -> Iterator[Place]:
    """A running S3 server as a place for clients: the bucket is made, and a folder in memory."""
    settings = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }
    with _scratch("place", RAM_FOLDER) as folder:
        made = Place(url, folder, settings)
        made.client().create_bucket(Bucket=BUCKET)
        yield made


@contextmanager
def versitygw(room_mb: int) -> Iterator[str]:
    """Run versitygw over a RAM-backed folder; gives its S3 endpoint URL. Raises BenchError."""
    if not RAM_FOLDER.is_dir():
        raise BenchError(f"no RAM-backed folder {RAM_FOLDER}", "run this on Linux: the figures would be the disk's")
    free_mb = shutil.disk_usage(RAM_FOLDER).free // 2**20
    if free_mb < room_mb:
        raise BenchError(f"{RAM_FOLDER} has {free_mb} MiB free, and {room_mb} MiB are needed", "free some memory")
    with _scratch("versitygw", RAM_FOLDER) as folder:
        port, data = free_port(), folder / "data"
        data.mkdir()
        # Without --keep-alive it closes the connection after every answer, which no client of S3 expects.
        options = ["--quiet", "--keep-alive", "--region", REGION, "--port", f"{HOST}:{port}"]
        command = [programs.versitygw(), *options, "posix", str(data)]
        url = f"http://{HOST}:{port}"
        with running(command, folder, url, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY):
            yield url


@contextmanager
def front(cores: int | None = None, **options: float | str | bool) -> Iterator[Front]:
    """Run the front; gives where it answers.

    Options are those of its command line with _ for - (`limit_per_s=500`); `bench/front --help` explains them. With
    `cores` it keeps no more of them busy at once. Raises BenchError without Go (the first time), or when it refuses an
    option.
    """
    port = free_port()
    settings = {"port": port} | options
    command = [programs.front()]
    for name, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        command.append(f"--{name.replace('_', '-')}={text}")
    with _scratch("front") as folder:
        made = Front(f"http://{HOST}:{port}")
        environment = {} if cores is None else {"GOMAXPROCS": str(cores)}
        with running(command, folder, f"{made.url}/__front", **environment):
            yield made


@contextmanager
def elasticmq() -> Iterator[str]:
    """Run ElasticMQ; gives its endpoint URL. Raises BenchError when Java is missing or it doesn't come up."""
    jars = programs.elasticmq_jars()
    with _scratch("elasticmq") as folder:
        port = free_port()
        config = folder / "elasticmq.conf"
        config.write_text(ELASTICMQ_CONFIG.format(host=HOST, port=port))
        # The other collectors' threads would compete with the clients for the cores.
        options = ["-XX:+UseSerialGC", "-Xms256m", "-Xmx1g", f"-Dconfig.file={config}", f"-Djava.io.tmpdir={folder}"]
        command = [programs.require("java"), *options, "-cp", f"{jars}/*", "org.elasticmq.server.Main"]
        with running(command, folder, f"http://{HOST}:{port}/"):
            yield f"http://{HOST}:{port}"


@contextmanager
def delayed(upstream_url: str, latency_ms: int) -> Iterator[str]:
    """Run toxiproxy before a server on loopback; gives the URL where every answer comes `latency_ms` later.

    So a request and its answer take as long as over a path with that round-trip time; opening a connection doesn't.
    """
    port, listening = free_port(), free_port()
    with _scratch("toxiproxy") as folder:
        config = folder / "proxies.json"
        upstream = upstream_url.removeprefix("http://")
        entry = {"name": "far", "listen": f"{HOST}:{listening}", "upstream": upstream, "enabled": True}
        config.write_text(json.dumps([entry]))
        command = [programs.toxiproxy(), "-host", HOST, "-port", str(port), "-config", str(config)]
        with running(command, folder, f"http://{HOST}:{port}/version"):
            toxic = {"type": "latency", "stream": "downstream", "attributes": {"latency": latency_ms}}
            body = json.dumps(toxic).encode()
            status, answer = get(urllib.request.Request(f"http://{HOST}:{port}/proxies/far/toxics", body))
            if status != 200:
                raise BenchError(f"toxiproxy answered {status}: {answer[:200].decode(errors='replace')}")
            yield f"http://{HOST}:{listening}"


@contextmanager
def running(
    command: Sequence[str], folder: Path, answers_at: str, start_timeout_s: float = START_TIMEOUT_S, **environment: str
) -> Iterator[int]:
    """Run a server with its log in `folder` while the block runs; gives its process id.

    Waits until `answers_at` (a URL) gives any answer. Raises BenchError when it ends early or doesn't
    answer in time. The process is stopped on every way out, and by the kernel (Linux) if this process is killed.
    """
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | environment,
            start_new_session=True,  # Ctrl-C in the terminal reaches us only: we stop it in order
            preexec_fn=end_with_parent(),
        )
    try:
        _wait_until_it_answers(process, Path(command[0]).name, answers_at, log, start_timeout_s)
        yield process.pid
    finally:
        stop(process)


def stop(process: subprocess.Popen) -> None:
    """End a process that we started: asked first, then killed."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def get(request: str | urllib.request.Request) -> tuple[int, bytes]:
    """Ask a loopback server; returns status and body, of a refusal too. Raises OSError when it doesn't answer."""
    try:
        with _opener.open(request, timeout=ANSWER_TIMEOUT_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def _wait_until_it_answers(process: subprocess.Popen, name: str, url: str, log: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchError(f"{name} exited immediately with status {process.returncode}: {_said(log)}")
        try:
            get(url)
            return
        except OSError:
            time.sleep(0.1)
    raise BenchError(f"{name} didn't answer at {url} within {timeout_s:g} s: {_said(log)}")


def _said(log: Path) -> str:
    """The log goes with its folder, so what it said last belongs in the error."""
    return programs.last_words(log.read_text(errors="replace"))


@contextmanager
def _scratch(name: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder for a server's configuration, log and data; removed with the server."""
    with tempfile.TemporaryDirectory(prefix=f"stampede-{name}-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
