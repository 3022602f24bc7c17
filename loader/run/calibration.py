"""What this machine gives now: a few seconds of downloads from the embedded S3, at the start of a local sweep.

Measured are the CPU seconds of a client and of the embedded AWS, for bytes and for requests, alone; and how much of
both passes a second when there are more clients than processors. Nothing of it is a message, so no record tells of it.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from emulator import ministack, stack
from emulator.process import cpu_seconds
from experiments.objects import MEBIBYTE
from experiments.reading import HEADS, parts
from loader.errors import one_line
from loader.progress import say
from loader.run.calibration_client import LARGE, SMALL
from loader.target import LOCAL_CREDENTIALS, Target
from model.parameters import Parameter, Parameters

BUCKET = "stampede-calibration"
LARGE_MB, SMALL_BYTES = 64, 10_000
DOWNLOADS, ASKED, DOWNLOADS_TOGETHER = 4, 150, 6
# For tests, of which each has better to do with its seconds: 1 leaves it out.
LEFT_OUT = "STAMPEDE_NO_CALIBRATION"
CLIENTS_AT_MOST = 8
# Of one answer of a client; what takes longer is no machine to predict.
PATIENCE_S = 30.0
GIB = 2**30
# Above it the embedded AWS's one process holds the clients up, and what they get says nothing of the processors.
BUSY = 0.9
# How far a figure may be off a minute later, as two calibrations of one hour differ.
SCATTER = 0.25


class CalibrationError(RuntimeError):
    """It couldn't be measured; the message says why, in a few words."""


@dataclass(frozen=True)
class Took:
    """What some work took: seconds, and CPU seconds of the clients and of the embedded AWS."""

    seconds: float
    client_s: float
    server_s: float


@dataclass(frozen=True)
class Measured:
    """`alone` are DOWNLOADS downloads of one client, `asked` its ASKED small requests, `together` the downloads of all
    `clients` at once."""

    alone: Took
    asked: Took
    together: Took
    clients: int


def calibrated(target: Target, known: Parameters) -> Parameters:
    """`known`, with what this machine gives now in the place of the file's; as it is, and said so, if that fails."""
    if os.environ.get(LEFT_OUT) == "1":
        return known
    began_s = time.monotonic()
    try:
        rows = parameters(measure(target), known, os.cpu_count() or 1)
    except (CalibrationError, BotoCoreError, ClientError, OSError, ValueError) as error:
        say(f"this machine couldn't be calibrated ({one_line(error)}): the prediction is for the machine of two cores "
            "on which the model's parameters were measured", style="yellow")  # fmt: skip
        return known
    told = ", ".join(f"{row.name} {row.value:.3g}" for row in rows)
    say(f"calibrated this machine in {time.monotonic() - began_s:.1f} s: {told}", style="dim")
    return known.with_rows(rows)


def parameters(measured: Measured, known: Parameters, processors: int) -> list[Parameter]:
    """The parameters that follow for a machine of so many processors; `known` has what clients took elsewhere.

    Raises ParameterError where something took no time at all."""
    alone, asked, together = measured.alone, measured.asked, measured.together
    object_gib, many = LARGE_MB * MEBIBYTE / GIB, measured.clients * DOWNLOADS_TOGETHER
    client_s = alone.client_s / DOWNLOADS
    slowness = (
        client_s / object_gib / known["download_file_tmp_cpu_s_per_gib"]
        + asked.client_s / ASKED / known["calibration_request_cpu_s"]
    ) / 2
    request_s = asked.server_s / ASKED
    # Counted in ticks of 10 ms, so over all downloads.
    server_s = (alone.server_s + together.server_s) / (DOWNLOADS + many)
    sent_s = max(server_s - (HEADS + parts(LARGE_MB)) * request_s, server_s / 2) / object_gib
    # What passed together, in the CPU seconds that the same takes alone: beside other work, and on processors that
    # share a core, they are more.
    passed = many * (client_s + server_s) / together.seconds
    if together.server_s / together.seconds > BUSY:
        passed = float(processors)
    capacity = min(passed, processors)
    found = {
        "client_slowness": (slowness, slowness * (1 + SCATTER)),
        "embedded_request_cpu_s": (request_s, request_s * (1 + SCATTER)),
        "embedded_get_cpu_s_per_gib": (sent_s, sent_s * (1 + SCATTER)),
        "processors": (capacity, float(processors)),
    }
    told = {
        "known": "measured",
        "source": f"a calibration of this machine at the start of the run, {measured.clients} clients",
        "date": datetime.now(UTC).date().isoformat(),
    }
    return [
        Parameter.of(
            {
                "name": name,
                "value": value,
                "low": value * (1 - SCATTER),
                "high": high,
                "unit": known.row(name).unit,
                **told,
            },
            "the calibration",
        )
        for name, (value, high) in found.items()
    ]


def measure(target: Target) -> Measured:
    """Measure at the embedded S3 of `target`; leaves nothing there. Raises CalibrationError, and what boto3 does."""
    emulator = ministack.running(stack.STATE_DIR)
    if emulator is None or cpu_seconds(emulator.pid) is None:
        raise CalibrationError("the system doesn't tell the embedded AWS's CPU seconds")
    s3 = target.client("s3")
    # With the embedded AWS itself there is more to do than there are processors.
    with _clients(target, min(CLIENTS_AT_MOST, os.cpu_count() or 1)) as clients, _objects(s3):
        for client in clients:
            client.line()  # it is ready

        def took(asked: list[_Client], what: str, times: int) -> Took:
            began_s, server_s = time.monotonic(), cpu_seconds(emulator.pid) or 0.0
            for client in asked:
                client.tell(what, times)
            cpu_s = sum(client.answer() for client in asked)
            return Took(time.monotonic() - began_s, cpu_s, (cpu_seconds(emulator.pid) or 0.0) - server_s)

        first = clients[:1]
        took(clients, LARGE, 1)  # the first of a process is dearer
        return Measured(
            alone=took(first, LARGE, DOWNLOADS),
            asked=took(first, SMALL, ASKED),
            together=took(clients, LARGE, DOWNLOADS_TOGETHER),
            clients=len(clients),
        )


class _Client:
    """A process of calibration_client."""

    def __init__(self, target: Target) -> None:
        credentials = {name.upper(): value for name, value in LOCAL_CREDENTIALS.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loader.run.calibration_client", str(target.endpoint_url), target.region, BUCKET],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | credentials,
            cwd=stack.ROOT,
            text=True,
        )

    def line(self) -> str:
        """Its next line. Raises CalibrationError where none comes."""
        if not select.select([self._process.stdout], [], [], PATIENCE_S)[0]:
            raise CalibrationError(f"a client said nothing for {PATIENCE_S:.0f} s")
        if not (line := self._process.stdout.readline()):
            raise CalibrationError("a client ended")
        return line

    def tell(self, what: str, times: int) -> None:
        """Have it do so."""
        self._process.stdin.write(f"{what} {times}\n")
        self._process.stdin.flush()

    def answer(self) -> float:
        """The CPU seconds that took. Raises ValueError for what is no number."""
        return float(self.line())

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def _clients(target: Target, count: int) -> Iterator[list[_Client]]:
    """So many, on their way; they end with the block."""
    clients: list[_Client] = []
    try:
        clients += (_Client(target) for _ in range(count))
        yield clients
    finally:
        for client in clients:
            client.end()


@contextmanager
def _objects(s3: Any) -> Iterator[None]:
    """A bucket with the objects, until the end of the block."""
    bodies = {LARGE: bytes(LARGE_MB * MEBIBYTE), SMALL: bytes(SMALL_BYTES)}
    s3.create_bucket(Bucket=BUCKET)
    try:
        for key, body in bodies.items():
            s3.put_object(Bucket=BUCKET, Key=key, Body=body)
        yield
    finally:
        for key in bodies:
            s3.delete_object(Bucket=BUCKET, Key=key)
        s3.delete_bucket(Bucket=BUCKET)
