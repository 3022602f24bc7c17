"""Real servers on loopback for the measurements, each a context manager that stops its own process by its id.

ElasticMQ (SQS, in memory), toxiproxy (latency) and versitygw (S3 over a RAM-backed folder).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import tools
from bench.errors import BenchError
from bench.process import get, output_of, running
from stampede.emulator.ministack import HOST, free_port

ACCESS_KEY, SECRET_KEY, REGION = "test", "test", "us-east-1"
RAM_FOLDER = Path("/dev/shm")

# node-address only shapes the queue URLs that ElasticMQ hands out. Nothing is stored on disk.
ELASTICMQ_CONFIG = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port}, sqs-limits = strict }}
rest-stats.enabled = false
queues-storage.enabled = false
messages-storage.enabled = false
"""


@contextmanager
def elasticmq(heap_mb: int = 1024) -> Iterator[str]:
    """Run ElasticMQ; gives its endpoint URL. It keeps every message in its heap: about 1 GiB for a million.

    Raises BenchError when Java is missing or it doesn't come up.
    """
    java = tools.require("java", "running ElasticMQ")
    jars = tools.elasticmq_jars()
    with _scratch("elasticmq") as folder:
        port = free_port()
        config = folder / "elasticmq.conf"
        config.write_text(ELASTICMQ_CONFIG.format(host=HOST, port=port))
        command = [
            java,
            "-XX:+UseSerialGC",  # the other collectors' threads would compete with the clients for the cores
            "-Xms256m",
            f"-Xmx{heap_mb}m",
            f"-Dconfig.file={config}",
            f"-Djava.io.tmpdir={folder}",
            "-cp",
            f"{jars}/*",
            "org.elasticmq.server.Main",
        ]
        with running(command, "ElasticMQ", folder, answers_at=f"http://{HOST}:{port}/"):
            yield f"http://{HOST}:{port}"


class Toxiproxy:
    """A running toxiproxy; `delayed` puts a proxy with latency in front of another loopback server."""

    def __init__(self, api_url: str) -> None:
        self._api_url = api_url

    def delayed(self, name: str, upstream_url: str, latency_ms: int) -> str:
        """Return the URL of a proxy to `upstream_url` which hands on every answer `latency_ms` later.

        So each request and its answer take `latency_ms` longer, as over a path with that round-trip time. Only data is
        delayed: opening a connection is not, although it would cost one more round trip on a real path.
        """
        upstream = upstream_url.removeprefix("http://")
        made = self._post("/proxies", {"name": name, "listen": f"{HOST}:0", "upstream": upstream, "enabled": True})
        self._post(
            f"/proxies/{name}/toxics",
            {
                "name": "latency",
                "type": "latency",
                "stream": "downstream",
                "toxicity": 1.0,
                "attributes": {"latency": latency_ms, "jitter": 0},
            },
        )
        return f"http://{made['listen']}"

    def _post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            self._api_url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        status, answer = get(request)
        if status not in (200, 201):
            raise BenchError(f"toxiproxy answered {status} to {path}: {answer[:200].decode(errors='replace')}")
        return json.loads(answer)


@contextmanager
def toxiproxy() -> Iterator[Toxiproxy]:
    """Run toxiproxy. Raises BenchError when Go is missing (the first time) or it doesn't come up."""
    binary = tools.go_binary(tools.TOXIPROXY)
    with _scratch("toxiproxy") as folder:
        port = free_port()
        url = f"http://{HOST}:{port}"
        command = [str(binary), "-host", HOST, "-port", str(port)]
        with running(command, "toxiproxy", folder, answers_at=f"{url}/version"):
            yield Toxiproxy(url)


@dataclass(frozen=True)
class Certificate:
    """A certificate for 127.0.0.1, signed by itself, and its key: two PEM files."""

    certificate: Path
    key: Path


@contextmanager
def certificate() -> Iterator[Certificate]:
    """Make a certificate for a server on loopback. Raises BenchError without openssl."""
    openssl = tools.require("openssl", "creating a local certificate")
    with _scratch("certificate") as folder:
        made = Certificate(folder / "certificate.pem", folder / "key.pem")
        subject = ["-subj", "/CN=127.0.0.1", "-addext", f"subjectAltName=IP:{HOST}", "-days", "2"]
        kind = ["-x509", "-newkey", "rsa:2048", "-nodes"]
        command = [openssl, "req", *kind, *subject, "-keyout", str(made.key), "-out", str(made.certificate)]
        output_of(command, "creating a certificate", timeout_s=60)
        yield made


@contextmanager
def versitygw(room_mb: int, certificate: Certificate | None = None) -> Iterator[str]:
    """Run versitygw over a RAM-backed folder with `room_mb` MiB to spare; gives its S3 endpoint URL.

    Access and secret key are ACCESS_KEY and SECRET_KEY; with a certificate it speaks HTTPS. Raises BenchError without
    Go (the first time) or without room.
    """
    binary = tools.go_binary(tools.VERSITYGW)
    if not RAM_FOLDER.is_dir():
        raise BenchError(f"no RAM-backed folder {RAM_FOLDER}: the figures would be the disk's; run this on Linux")
    free_mb = shutil.disk_usage(RAM_FOLDER).free // 2**20
    if free_mb < room_mb:
        raise BenchError(
            f"{RAM_FOLDER} has {free_mb} MiB free and this measurement needs {room_mb} MiB; free some memory"
        )
    with _scratch("versitygw", RAM_FOLDER) as folder:
        port = free_port()
        data = folder / "data"
        data.mkdir()
        # Without --keep-alive it closes the connection after every answer, which no client of S3 expects.
        options = ["--quiet", "--keep-alive", "--region", REGION, "--port", f"{HOST}:{port}"]
        keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        if certificate is not None:
            options += ["--cert", str(certificate.certificate), "--key", str(certificate.key)]
        command = [str(binary), *options, "posix", str(data)]
        url = f"{'http' if certificate is None else 'https'}://{HOST}:{port}"
        with running(command, "versitygw", folder, answers_at=f"{url}/", environment=keys):
            yield url


@contextmanager
def _scratch(name: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder for a server's configuration, log and data; removed with the server."""
    with tempfile.TemporaryDirectory(prefix=f"stampede-{name}-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
