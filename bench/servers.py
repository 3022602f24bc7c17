"""Servers on loopback for the measurements. Each context manager stops its own process by its id.

versitygw (S3 over a RAM-backed folder), the throttling front (bench/front, a small S3), ElasticMQ
(SQS, in memory) and toxiproxy (latency).
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench import programs
from stampede.emulator.ministack import HOST, free_port
from stampede.emulator.process import end_with_parent
from stampede.errors import RunError

ACCESS_KEY, SECRET_KEY, REGION, BUCKET = "test", "test", "us-east-1", "stampede-bench"
RAM_FOLDER = Path("/dev/shm")
START_TIMEOUT_S, ANSWER_TIMEOUT_S = 60, 5

# node-address only shapes the queue URLs that ElasticMQ hands out. Nothing is stored on disk.
ELASTICMQ_CONFIG = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port}, sqs-limits = strict }}
rest-stats.enabled = false
queues-storage.enabled = false
messages-storage.enabled = false
"""


@dataclass(frozen=True)
class Place:
    """A running S3 server with the bench's bucket, and a RAM-backed folder for its clients."""

    url: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a client of this server."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
        }

    def client(self) -> Any:
        """A client to prepare and check runs."""
        return client("s3", self.url)

    def stored(self, prefix: str) -> int:
        """Count the objects below a prefix."""
        paginator = self.client().get_paginator("list_objects_v2")
        pages = paginator.paginate(Bucket=BUCKET, Prefix=prefix)
        return sum(len(page.get("Contents", ())) for page in pages)


@dataclass(frozen=True)
class Front:
    """A running front: its S3 endpoint URL, and its counts."""

    url: str

    def requests(self) -> Counter[str]:
        """Its requests since the start by result: copy, put, get, slow_down, lost, expired, ..."""
        return Counter(ask(self.url, "GET", "/__front"))


@contextmanager
def s3(room_mb: int) -> Iterator[Place]:
    """versitygw over a RAM-backed folder, with `room_mb` MiB to spare. Raises RunError."""
    free_mb = shutil.disk_usage(RAM_FOLDER).free // 2**20
    if free_mb < room_mb:
        raise RunError(
            f"{RAM_FOLDER} has {free_mb} MiB free, and {room_mb} MiB are needed", "free some memory"
        )
    with tempfile.TemporaryDirectory(prefix="stampede-bench-", dir=RAM_FOLDER) as folder:
        url = f"http://{HOST}:{free_port()}"
        # Without --keep-alive it closes the connection after every answer, unlike S3.
        options = ["--quiet", "--keep-alive", "--region", REGION]
        address = ["--port", url.removeprefix("http://")]
        command = [programs.installed(programs.VERSITYGW), *options, *address, "posix", folder]
        keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        with running(command, url, **keys), place(url) as made:
            yield made


@contextmanager
def place(url: str) -> Iterator[Place]:
    """Make a place with a bucket on a running S3 server, and a folder in memory."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-", dir=RAM_FOLDER) as folder:
        made = Place(url, Path(folder))
        made.client().create_bucket(Bucket=BUCKET)
        yield made


@contextmanager
def front(cores: int | None = None, **settings: float | str) -> Iterator[Front]:
    """Run the front with settings of its main.go (`limit_per_s=500`), on at most `cores` cores."""
    port = free_port()
    command = [programs.front(), json.dumps({"port": port} | settings)]
    made = Front(f"http://{HOST}:{port}")
    with running(command, made.url, **({"GOMAXPROCS": str(cores)} if cores else {})):
        yield made


@contextmanager
def elasticmq() -> Iterator[str]:
    """Run ElasticMQ; yields its endpoint URL."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        config = Path(folder) / "elasticmq.conf"
        config.write_text(ELASTICMQ_CONFIG.format(host=HOST, port=port))
        # Threads of other garbage collectors would compete with the clients for the cores.
        machine = ["java", "-XX:+UseSerialGC", "-Xms256m", "-Xmx1g"]
        settings = [f"-Dconfig.file={config}", f"-Djava.io.tmpdir={folder}"]
        jars = f"{programs.elasticmq_jars()}/*"
        command = [*machine, *settings, "-cp", jars, "org.elasticmq.server.Main"]
        url = f"http://{HOST}:{port}"
        with running(command, url):
            yield url


@contextmanager
def delayed(upstream_url: str, latency_ms: int) -> Iterator[str]:
    """Run toxiproxy before a server; yields the URL where every answer comes `latency_ms` later.

    A request with its answer takes that round-trip time; opening a connection doesn't.
    """
    port, listening = free_port(), f"{HOST}:{free_port()}"
    control = f"http://{HOST}:{port}"
    command = [programs.installed(programs.TOXIPROXY), "-host", HOST, "-port", str(port)]
    with running(command, control):
        upstream = upstream_url.removeprefix("http://")
        ask(control, "POST", "/proxies", name="far", listen=listening, upstream=upstream)
        toxic = {"type": "latency", "stream": "downstream", "attributes": {"latency": latency_ms}}
        ask(control, "POST", "/proxies/far/toxics", **toxic)
        yield f"http://{listening}"


@contextmanager
def running(command: Sequence[str], url: str, **environment: str) -> Iterator[None]:
    """Run a server, and the block once the server takes connections at `url`.

    Raises RunError with the server's last line if it doesn't. The process is always stopped, on
    Linux even if this process is killed.
    """
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
            start_new_session=True,  # Ctrl-C reaches only this process, which stops the server
            preexec_fn=end_with_parent(),
        )
        try:
            if not _takes_connections(process, url):
                log.seek(0)
                words = log.read().strip().splitlines() or ["it printed nothing"]
                ended = "doesn't answer"
                if process.poll() is not None:
                    ended = f"ended with status {process.returncode}"
                raise RunError(f"{Path(command[0]).name} {ended}: {words[-1][:300]}")
            yield
        finally:
            process.kill()  # nothing that it has is kept
            process.wait()


def _takes_connections(process: subprocess.Popen, url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((host, int(port)), ANSWER_TIMEOUT_S).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False


def ask(url: str, method: str, path: str, **body: Any) -> Any:
    """The answer to a request in JSON. Raises RunError unless its status is 200 or 201."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=ANSWER_TIMEOUT_S)
    connection.request(method, path, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    if answer.status not in (200, 201):
        raise RunError(f"{url}{path} answered {answer.status}: {text[:200]}")
    return json.loads(text)


def client(service: str, url: str) -> Any:
    """A boto3 client with a user's defaults, except that it never leaves loopback."""
    keys = {
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
        "region_name": REGION,
    }
    return boto3.client(service, endpoint_url=url, config=Config(proxies={}), **keys)
