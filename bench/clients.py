"""One run of a client, a function of ours or a peer, as a separate process that is measured whole.

A function runs as on Lambda: with its environment, one message of SQS, and a record. The Go program
runs with a small server of Lambda's runtime API, which hands out one invocation and ends the
program by refusing the next request. `bench/invoke.py` calls Python's handlers. Peers are
`bench/peers.py` and s5cmd.
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
# -S leaves out the site module's work (development installs, .pth files).
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
    """Invoke the Go program once; returns its record with wall_s, cpu_s and peak_mb of the process.

    Raises RunError unless the record says ok.
    """
    with runtime_api(order) as address:
        own = {"AWS_LAMBDA_RUNTIME_API": address, "EXPERIMENT": experiment}
        return _invoked(place, [programs.transfer()], ENDS_WHEN_REFUSED, **own, **settings)


def python(place: Place, experiment: str, order: Mapping[str, Any], **settings: str) -> Figures:
    """Invoke the handler of a Python function once, like `go`."""
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
    command = [*PYTHON, str(PEERS), peer, *arguments]
    printed, used = run_child(command, **place.environment, **PACKAGES)
    return used | json.loads(printed)


def s5cmd(place: Place, *arguments: str) -> Figures:
    """Run s5cmd; returns wall_s, cpu_s and peak_mb."""
    command = [programs.s5cmd(), "--endpoint-url", place.url, *arguments]
    return run_child(command, HOME=str(place.folder), **place.environment)[1]


def event(order: Mapping[str, Any]) -> dict[str, Any]:
    """An SQS event with one message."""
    body = json.dumps({"run_id": "bench", "cell": "bench", "seq": 0} | order)
    message = {"messageId": "bench", "body": body, "attributes": {"ApproximateReceiveCount": "1"}}
    message |= {"eventSource": "aws:sqs", "receiptHandle": "bench", "messageAttributes": {}}
    return {"Records": [message]}


@contextmanager
def runtime_api(order: Mapping[str, Any]) -> Iterator[str]:
    """Serve Lambda's runtime API with one invocation; yields its address."""
    answers = iter([(200, json.dumps(event(order)).encode()), (410, b"")])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*next(answers))

        def do_POST(self) -> None:
            # the reply: the record says more
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
            """Log nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"{HOST}:{server.server_port}"
        server.shutdown()
