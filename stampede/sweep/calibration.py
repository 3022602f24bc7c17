"""What this machine gives now: a few seconds of downloads from the embedded S3, at the start of a local sweep.

Measured are the seconds of a client alone and the CPU seconds of the embedded AWS, for bytes and for requests; how many
downloads pass when there are more clients than processors, as in a flood. Nothing of it is a message, so no record
tells of it.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.emulator import ministack, stack
from stampede.emulator.process import cpu_seconds
from stampede.errors import one_line
from stampede.experiment.objects import MEBIBYTE
from stampede.experiment.reading import HEADS, parts
from stampede.model.parameters import CALIBRATION, Parameter, Parameters
from stampede.progress import say
from stampede.stacks.target import Target
from stampede.sweep.calibration_client import LARGE, SMALL

BUCKET = "stampede-calibration"
LARGE_MB, SMALL_BYTES = 64, 10_000
# Long enough for a few downloads of one client, and for many of all; in rounds, of which the middle one counts,
# because a virtual machine has seconds in which it gives more, or less.
ROUNDS, ALONE_S, ASKED_S, TOGETHER_S = 3, 0.5, 0.25, 1.2
# For tests, of which each has better to do with its seconds: 1 leaves it out.
LEFT_OUT = "STAMPEDE_NO_CALIBRATION"
CLIENTS_AT_MOST = 8
# For all of it; what takes longer is no machine to predict.
DEADLINE_S = 30.0
GIB = 2**30
# Above it the embedded AWS's one process holds the clients up, and what they get says nothing of the processors.
BUSY = 0.9
# How far a figure may be off a minute later, as two calibrations of one hour differ.
SCATTER = 0.25


class CalibrationError(RuntimeError):
    """It couldn't be measured; the message says why, in a few words."""


@dataclass(frozen=True)
class Took:
    """So many readings, how many of them a second, and the CPU seconds of the embedded AWS for them."""

    times: int
    per_s: float
    server_s: float


@dataclass(frozen=True)
class Measured:
    """Downloads of one client `alone`, small requests that it `asked`, and downloads of all `clients` `together`."""

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
        say(
            f"this machine couldn't be calibrated ({one_line(error)}): the prediction is for the machine of two cores "
            "on which the model's parameters were measured",
            style="yellow",
        )
        return known
    say(f"calibrated this machine in {time.monotonic() - began_s:.1f} s: {_words(rows)}", style="dim")
    return known.with_rows(rows)


def _words(rows: Iterable[Parameter]) -> str:
    """What `parameters` found."""
    values = {row.name: row.value for row in rows}
    return (
        f"a client takes {values['client_slowness']:.3g} times the seconds of the model's machine; the embedded S3 "
        f"takes {1000 * values['embedded_request_cpu_s']:.3g} ms of CPU for a request and "
        f"{values['embedded_get_cpu_s_per_gib']:.3g} s for a GiB; all clients together get the work of "
        f"{values['processors']:.3g} processors"
    )


def parameters(measured: Measured, known: Parameters, processors: int) -> list[Parameter]:
    """The parameters that follow for a machine of so many processors; `known` has what clients took elsewhere.

    Raises ParameterError where something took no time at all."""
    alone, asked, together = measured.alone, measured.asked, measured.together
    object_gib = LARGE_MB * MEBIBYTE / GIB
    known_s = known["download_file_tmp_cpu_s_per_gib"] * object_gib
    # By the clock, and not by CPU seconds, of which a virtual machine may count what its neighbours took.
    slowness = (1 / alone.per_s - known["last_part_s"]) * known["python_processors"] / known_s
    request_s = asked.server_s / asked.times
    # Counted in ticks of 10 ms, so over all downloads.
    server_s = (alone.server_s + together.server_s) / (alone.times + together.times)
    sent_s = max(server_s - (HEADS + parts(LARGE_MB)) * request_s, server_s / 2) / object_gib
    # What passed together, in the CPU seconds that the same takes alone. Processors that share a core give less than
    # there are of them, and one that always finds its next bytes waiting gives more.
    capacity = together.per_s * (slowness * known_s + server_s)
    if together.server_s / together.times * together.per_s > BUSY:
        capacity = max(capacity, processors)
    values = {
        "client_slowness": slowness,
        "embedded_request_cpu_s": request_s,
        "embedded_get_cpu_s_per_gib": sent_s,
        "processors": capacity,
    }
    origin = {
        "known": "measured",
        "source": f"{CALIBRATION} at the start of the run, {measured.clients} clients",
        "date": datetime.now(UTC).date().isoformat(),
    }
    rows = []
    for name, value in values.items():
        ends = {"low": value * (1 - SCATTER), "high": value * (1 + SCATTER)}
        row = {"name": name, "value": value, "unit": known.row(name).unit, **ends, **origin}
        rows.append(Parameter.of(row, "the calibration"))
    return rows


def measure(target: Target) -> Measured:
    """Measure at the embedded S3 of `target`; leaves nothing there. Raises CalibrationError, and what boto3 does."""
    emulator = ministack.running(stack.STATE_DIR)
    if emulator is None or cpu_seconds(emulator.pid) is None:
        raise CalibrationError("the system doesn't report the embedded AWS's CPU seconds")
    # A bucket in any other region must be asked for otherwise, and may not be there before (after a kill -9).
    target = replace(target, outputs=target.outputs | {"region": "us-east-1"})
    count = min(CLIENTS_AT_MOST, 2 * (os.cpu_count() or 1))
    with _clients(target, count) as clients, _objects(target.client("s3")):
        for client in clients:
            client.line()  # it is ready

        def took(asked: list[_Client], what: str, seconds: float) -> Took:
            server_s = cpu_seconds(emulator.pid) or 0.0
            for client in asked:
                client.tell(what, seconds)
            # As they end one after the other, each has its own seconds.
            times, took_s = zip(*(client.answer() for client in asked), strict=True)
            per_s = sum(count / seconds for count, seconds in zip(times, took_s, strict=True))
            return Took(int(sum(times)), per_s, (cpu_seconds(emulator.pid) or 0.0) - server_s)

        first = clients[:1]
        took(clients, LARGE, 0)  # the first of a process is dearer
        small = took(first, SMALL, ASKED_S)
        rounds = [(took(first, LARGE, ALONE_S), took(clients, LARGE, TOGETHER_S)) for _ in range(ROUNDS)]
        alone, together = (sorted(kind, key=lambda took: took.per_s) for kind in zip(*rounds, strict=True))
        return Measured(alone[ROUNDS // 2], small, together[ROUNDS // 2], clients=count)


class _Client:
    """A process of calibration_client, which keeps its object in `path` and answers until `deadline_s`."""

    def __init__(self, target: Target, path: Path, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        credentials = {name.upper(): value for name, value in target.key.items()}
        where = (str(target.endpoint_url), target.region, BUCKET, str(path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stampede.sweep.calibration_client", *where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | credentials,
            cwd=stack.ROOT,
            text=True,
        )

    def line(self) -> str:
        """Its next line. Raises CalibrationError where none comes."""
        if not select.select([self._process.stdout], [], [], max(0.0, self._deadline_s - time.monotonic()))[0]:
            raise CalibrationError(f"it took longer than {DEADLINE_S:.0f} s")
        if not (line := self._process.stdout.readline()):
            raise CalibrationError("a client exited")
        return line

    def tell(self, what: str, seconds: float) -> None:
        """Have it read that for so long, and once at least."""
        self._process.stdin.write(f"{what} {seconds}\n")
        self._process.stdin.flush()

    def answer(self) -> tuple[float, float]:
        """How often it did, and the seconds that took. Raises ValueError for what are no numbers."""
        times, seconds = map(float, self.line().split())
        return times, seconds

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def _clients(target: Target, count: int) -> Iterator[list[_Client]]:
    """So many, on their way; they, and what they keep where the functions keep theirs, end with the block."""
    clients: list[_Client] = []
    folder, deadline_s = stack.STATE_DIR / "calibration", time.monotonic() + DEADLINE_S
    folder.mkdir(parents=True, exist_ok=True)
    try:
        clients += (_Client(target, folder / str(at), deadline_s) for at in range(count))
        yield clients
    finally:
        for client in clients:
            client.end()
        shutil.rmtree(folder, ignore_errors=True)


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
