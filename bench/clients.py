"""One run of a client, as a process of its own that is measured whole: a function of ours, or a
peer.

A function runs as on Lambda: with its environment, one message of SQS, and a record. The Go program
is started before a small server of Lambda's runtime API, which hands out one invocation and then
ends the program by refusing the next one; Python's handler is called by `bench/invoke.py`. Peers
are `bench/peers.py` and s5cmd.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from bench import programs
from bench.child import run_child
from bench.ratios import Figures
from bench.servers import BUCKET, Place
from stampede.checkout import FUNCTIONS
from stampede.emulator.ministack import HOST
from stampede.errors import RunError

INVOKE, PEERS = Path(__file__).with_name("invoke.py"), Path(__file__).with_name("peers.py")
# -S: the site module's work (development installs, .pth files) isn't the client's.
PYTHON = (sys.executable, "-S", "-P")
PACKAGES = {"PYTHONPATH": sysconfig.get_path("purelib")}
ENDS_WHEN_REFUSED = 1  # the status of AWS's runtime client for Go
LABELS = {
    "CONCURRENCY_LIMIT": "1",
    "MEMORY_SIZE": "2048",
    "EXPERIMENT_TAG": "bench",
    "BUCKET_NAME": BUCKET,
}


def go(place: Place, experiment: str, order: Mapping[str, Any], **settings: str) -> Figures:
    """Invoke the Go program once; returns its record, with wall_s, cpu_s and peak_mb of the whole
    process.

    Raises RunError unless the record says ok.
    """
    with runtime_api(order) as address:
        own = {"AWS_LAMBDA_RUNTIME_API": address, "EXPERIMENT": experiment}
        return _invoked(place, [programs.transfer()], ENDS_WHEN_REFUSED, **own, **settings)


def python(place: Place, experiment: str, order: Mapping[str, Any], **settings: str) -> Figures:
    """Invoke the handler of a Python function once, as `go` does."""
    command = [*PYTHON, str(INVOKE), str(FUNCTIONS), experiment, json.dumps(event(order))]
    return _invoked(place, command, 0, **settings)


def _invoked(place: Place, command: list[str], status: int, **settings: str) -> Figures:
    with tempfile.TemporaryDirectory(dir=place.folder) as scratch:
        environment = place.environment | PACKAGES | LABELS | {"TMPDIR": scratch} | settings
        printed, used = run_child(command, status=status, **environment)
    records = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    if [record["status"] for record in records] != ["ok"]:
        raise RunError(f"the function should have logged a success, and logged {printed[-400:]!r}")
    return used | records[0]


def boto3(place: Place, peer: str, *arguments: str) -> Figures:
    """Run one of `bench.peers`; returns its own seconds and client_cpu_s, and peak_mb."""
    printed, used = run_child(
        [*PYTHON, str(PEERS), peer, *arguments], **place.environment, **PACKAGES
    )
    return used | json.loads(printed)


def s5cmd(place: Place, *arguments: str) -> Figures:
    """Run s5cmd; returns wall_s, cpu_s and peak_mb."""
    command = [programs.s5cmd(), "--endpoint-url", place.url, *arguments]
    return run_child(command, HOME=str(place.folder), **place.environment)[1]


def event(order: Mapping[str, Any]) -> dict[str, Any]:
    """One message as SQS gives it to a function."""
    body = json.dumps({"run_id": "bench", "cell": "bench", "seq": 0} | order)
    message = {"messageId": "bench", "body": body, "attributes": {"ApproximateReceiveCount": "1"}}
    return {
        "Records": [
            message | {"eventSource": "aws:sqs", "receiptHandle": "bench", "messageAttributes": {}}
        ]
    }


@contextmanager
def runtime_api(order: Mapping[str, Any]) -> Iterator[str]:
    """Serve Lambda's runtime API with one invocation; gives the address for
    AWS_LAMBDA_RUNTIME_API."""
    answers = iter([(200, json.dumps(event(order)).encode()), (410, b"")])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*next(answers))

        def do_POST(self) -> None:
            # what it answers: the record says it better
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(202, b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Lambda-Runtime-Aws-Request-Id", "bench")
            self.send_header("Lambda-Runtime-Deadline-Ms", str(int(time.time() + 600) * 1000))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"{HOST}:{server.server_port}"
        server.shutdown()
