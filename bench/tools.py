"""Fetches the pinned servers once into the cache folder: ElasticMQ with Maven, toxiproxy and versitygw with Go.

Maven and Go use this machine's own configuration of registries. A second run finds everything in place.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.process import output_of
from stampede.emulator.build_cache import cache_folder
from stampede.progress import say

POM = Path(__file__).with_name("pom.xml")
FETCH_TIMEOUT_S = 600

HOW_TO_GET = {
    "java": "install a Java runtime, 17 or newer (Debian: `apt-get install openjdk-17-jre-headless`)",
    "mvn": "install Apache Maven, 3.8 or newer (Debian: `apt-get install maven`)",
    "openssl": "install OpenSSL, 1.1.1 or newer (Debian: `apt-get install openssl`)",
    "aws": "install the AWS CLI (`pip install awscli`)",
    "rclone": "install rclone (Debian: `apt-get install rclone`)",
    "pyenv": "put pyenv on the PATH too: the `aws` found there is its shim",
    "go": "install Go, 1.24 or newer (see its site, or Debian backports: `apt-get install golang`)",
}


@dataclass(frozen=True)
class GoTool:
    """A server written in Go: package to install, pinned version, and the name of the binary that comes out."""

    package: str
    version: str
    binary: str


TOXIPROXY = GoTool("github.com/Shopify/toxiproxy/v2/cmd/server", "v2.5.0", "server")
VERSITYGW = GoTool("github.com/versity/versitygw/cmd/versitygw", "v1.8.0", "versitygw")


def require(tool: str, purpose: str) -> str:
    """The path of an installed program; raises BenchError naming it, what needs it and how to get it."""
    path = shutil.which(tool)
    if path is None:
        raise BenchError(f"{tool} is missing: {purpose} needs it; {HOW_TO_GET[tool]}")
    return path


def elasticmq_jars() -> Path:
    """The folder with ElasticMQ's jars, fetched if it isn't there (about a minute). Raises BenchError."""
    pins = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]  # another pin, another folder

    def fill(folder: Path) -> None:
        maven = require("mvn", "fetching ElasticMQ")
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        say("fetching ElasticMQ with Maven (about a minute, once)")
        fetch(
            [maven, "-B", "-q", "-f", str(POM), goal, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"],
            "fetching ElasticMQ with Maven",
        )

    return once(cache_folder() / "bench" / f"elasticmq-{pins}", fill)


def elasticmq_version(jars: Path) -> str:
    """The version that was fetched, read from the jar's name."""
    [jar] = jars.glob("elasticmq-server_2.13-*.jar")
    return jar.stem.rpartition("-")[2]


def go_binary(tool: GoTool) -> Path:
    """The path of a Go server's binary, built if it isn't there (about a minute). Raises BenchError."""

    def build(folder: Path) -> None:
        go = require("go", f"building {tool.package}")
        say(f"building {tool.package} {tool.version} with Go (about a minute, once)")
        fetch(
            [go, "install", f"{tool.package}@{tool.version}"],
            f"building {tool.package} {tool.version}",
            # Outside any module, so that no go.mod or vendor folder of the place we are called from matters.
            environment={"GOBIN": str(folder), "GO111MODULE": "on"},
            folder=folder,
        )

    name = tool.package.split("/")[2]
    return once(cache_folder() / "bench" / f"{name}-{tool.version}", build) / tool.binary


def once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Fill a folder beside its place and rename it when complete: an interrupted fetch leaves nothing half done."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        fill(beside)
        try:
            beside.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another bench was faster; its copy is as good
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def fetch(
    command: list[str], doing: str, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> None:
    """Run a command that gets something from a registry. Raises BenchError."""
    output_of(command, doing, FETCH_TIMEOUT_S, environment, folder, when_late="; is the registry reachable?")
