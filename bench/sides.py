"""One run of a side, as a process of its own that is measured whole: a function of ours, or a peer.

A function runs as on Lambda: with its environment, one message of SQS, and a record. The Go program is started before a
small server of Lambda's runtime API, which hands out one invocation and then ends the program by refusing the next one;
Python's handler is called by `bench/invoke.py`. Peers are `bench/peers.py` and s5cmd.
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
from bench.errors import BenchError
from bench.pairs import Figures
from bench.servers import BUCKET, Place
from stampede.checkout import FUNCTIONS
from stampede.emulator.ministack import HOST

INVOKE, PEERS = Path(__file__).with_name("invoke.py"), Path(__file__).with_name("peers.py")
# -S: the site module's work (development installs, .pth files) isn't the client's.
PYTHON = (sys.executable, "-S", "-P")
TIMEOUT_S = 600
ENDS_WHEN_REFUSED = 1  # the status of AWS's runtime client for Go
LABELS = {"CONCURRENCY_LIMIT": "1", "MEMORY_SIZE": "2048", "EXPERIMENT_TAG": "bench", "BUCKET_NAME": BUCKET}
Record = dict[str, Any]


def go(place: Place, order: Mapping[str, Any], **environment: str) -> Record:
    """Invoke the Go program once, in a new process; returns its record, with wall_s, cpu_s and peak_mb of the whole.

    Raises BenchError unless the record says ok.
    """
    with tempfile.TemporaryDirectory(prefix="run-", dir=place.folder) as scratch, runtime_api(order) as address:
        printed = Path(scratch) / "log"
        settings = place.environment | LABELS | {"TMPDIR": scratch, "AWS_LAMBDA_RUNTIME_API": address} | environment
        used = run_child([programs.transfer()], TIMEOUT_S, str(printed), ENDS_WHEN_REFUSED, **settings)
        return _checked(printed.read_text()) | used


def python(place: Place, experiment: str, order: Mapping[str, Any], **environment: str) -> Record:
    """Invoke the handler of a Python function once, in a new process, as `go` does."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=place.folder) as scratch:
        printed = Path(scratch) / "log"
        settings = place.environment | packages() | LABELS | {"TMPDIR": scratch} | environment
        command = [*PYTHON, str(INVOKE), str(FUNCTIONS), experiment, json.dumps(event(order))]
        used = run_child(command, TIMEOUT_S, str(printed), **settings)
        return _checked(printed.read_text()) | used


def boto3(place: Place, peer: str, *arguments: str) -> Figures:
    """Run one of `bench.peers`; returns its own seconds and client_cpu_s, and wall_s, cpu_s and peak_mb."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=place.folder) as scratch:
        report = Path(scratch) / "report.json"
        settings = place.environment | packages() | {"TMPDIR": scratch}
        used = run_child([*PYTHON, str(PEERS), peer, str(report), *arguments], TIMEOUT_S, **settings)
        return json.loads(report.read_text()) | used


def s5cmd(place: Place, *arguments: str) -> Figures:
    """Run s5cmd; returns wall_s, cpu_s and peak_mb."""
    settings = place.environment | {"HOME": str(place.folder)}
    return run_child([programs.s5cmd(), "--endpoint-url", place.url, *arguments], TIMEOUT_S, **settings)


def whole(used: Mapping[str, Any]) -> Figures:
    """What a run used as a process, of all that is known of it."""
    return {name: used[name] for name in ("wall_s", "cpu_s", "peak_mb")}


def packages() -> dict[str, str]:
    """Where a Python that is started with -S has boto3 from."""
    return {"PYTHONPATH": sysconfig.get_path("purelib")}


def event(order: Mapping[str, Any]) -> dict[str, Any]:
    """One message as SQS gives it to a function."""
    body = json.dumps({"run_id": "bench", "cell": "bench", "seq": 0} | order)
    message = {"messageId": "bench", "body": body, "attributes": {"ApproximateReceiveCount": "1"}}
    return {"Records": [message | {"eventSource": "aws:sqs", "receiptHandle": "bench", "messageAttributes": {}}]}


@contextmanager
def runtime_api(order: Mapping[str, Any]) -> Iterator[str]:
    """Serve Lambda's runtime API with one invocation; gives the address for AWS_LAMBDA_RUNTIME_API."""
    body, events = json.dumps(event(order)).encode(), iter([True])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*((200, body) if next(events, False) else (410, b"")))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))  # what it answers: the record says it better
            self._answer(202, b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Lambda-Runtime-Aws-Request-Id", "bench")
            self.send_header("Lambda-Runtime-Deadline-Ms", str(int(time.time() + TIMEOUT_S) * 1000))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"{HOST}:{server.server_port}"
        server.shutdown()


def _checked(log: str) -> Record:
    """The record, which is the log's one line. Raises BenchError."""
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise BenchError(f"the function wrote {len(lines)} records: {log[:300]!r}")
    if lines[0]["status"] != "ok":
        raise BenchError(f"the function failed: {lines[0]['error_type']}: {lines[0]['error_message']}")
    return lines[0]
