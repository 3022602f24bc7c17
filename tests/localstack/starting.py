"""Emulators of AWS, each at its own loopback endpoint: MiniStack, LocalStack and moto's server."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench.servers import free_port
from stampede.emulator import ministack
from stampede.emulator.process import Process, end_with_parent

# The Python of an environment with LocalStack and moto, which `make test-localstack` sets up;
# without it only MiniStack is tested.
PYTHON = os.environ.get("STAMPEDE_LOCALSTACK_PYTHON")
NAMES = ("ministack", "localstack", "moto") if PYTHON else ("ministack",)
REGION = ministack.REGION
START_TIMEOUT_S, STOP_TIMEOUT_S = 60, 10
MOST_LOG_CHARACTERS = 2000
# A loopback port without a listener, which refuses connections at once.
NOBODY = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Endpoint:
    """A running emulator: its name, its access, and its account."""

    name: str
    access: ministack.Access
    account_id: str

    @property
    def url(self) -> str:
        return self.access.endpoint_url

    def client(self, service: str, **key: str) -> Any:
        """A client without retries, by default of the account's root user."""
        config = Config(
            retries={"total_max_attempts": 1},
            connect_timeout=5,
            read_timeout=60,
            # moto's checksum of a multipart upload is wrong
            response_checksum_validation="when_required",
        )
        where = {"endpoint_url": self.url, "region_name": REGION, "config": config}
        return boto3.client(service, **where, **(key or self.access.key))


@dataclass(frozen=True)
class Program:
    """An emulator of that environment: its command, its settings, its page and its account."""

    arguments: tuple[str, ...]
    settings: Mapping[str, str]
    page: str
    account_id: str


@contextlib.contextmanager
def started(name: str, folder: Path) -> Iterator[Endpoint]:
    """Run the emulator `name`, which writes into `folder`, until the block or this process ends."""
    if name == "ministack":
        try:
            yield Endpoint(name, ministack.start(folder, follow_parent=True).access, "000000000000")
        finally:
            ministack.stop(folder)
    else:
        port = free_port()
        program = {"localstack": _localstack, "moto": _moto}[name](port)
        access = ministack.Access(f"http://127.0.0.1:{port}", "test", "test")
        endpoint = Endpoint(name, access, program.account_id)
        with _running(program, endpoint, folder):
            yield endpoint


def _localstack(port: int) -> Program:
    """LocalStack without the features that use the network: its DNS server, events, a certificate,
    and a list of the services that it sells, at the first call of an unsupported one."""
    settings = {
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "LOCALSTACK_HOST": f"127.0.0.1:{port}",  # in the URLs of queues
        # other strategies give URLs that don't resolve, or that the provider refuses
        "SQS_ENDPOINT_STRATEGY": "off",
        "DNS_ADDRESS": "0",
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "API_ENDPOINT": NOBODY,
        "SQS_DISABLE_CLOUDWATCH_METRICS": "1",
    }
    script = str(Path(__file__).with_name("start_localstack.py"))
    return Program((script,), settings, "/_localstack/health", "000000000000")


def _moto(port: int) -> Program:
    arguments = ("-m", "moto.server", "--host", "127.0.0.1", "--port", str(port))
    return Program(arguments, {}, "/moto-api/", "123456789012")


@contextlib.contextmanager
def _running(program: Program, endpoint: Endpoint, folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{endpoint.name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [PYTHON, *program.arguments],
            cwd=folder,
            env=_environment(folder) | program.settings,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent(),
        )
    group = Process.of(process, log)
    try:
        _wait(endpoint, program.page, process, log)
        yield
    finally:
        group.end(STOP_TIMEOUT_S)


def _environment(folder: Path) -> dict[str, str]:
    """A program's environment, with caches in `folder` and without accounts and proxies."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return kept | {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _wait(endpoint: Endpoint, page: str, process: subprocess.Popen, log: Path) -> None:
    """Wait for an answer; if none comes or the program ends, fail with the end of its log."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(endpoint.url + page, timeout=2) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.1)
    said = log.read_text(errors="replace")[-MOST_LOG_CHARACTERS:]
    raise AssertionError(f"{endpoint.name} doesn't answer; it said last:\n{said}")
