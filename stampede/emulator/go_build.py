"""Builds programs from the Go module proxy, for machines without Terraform or without its registry.

A folder of pins (`go.mod`, `go.sum`) names the modules and their checksums and serves to download
them. Each program is built in a copy of its module, so that the module's own go.sum and `replace`
lines apply.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stampede.errors import FixableError
from stampede.interruption import held_back
from stampede.progress import say

REPORT_EVERY_S = 15.0
# Parts of a module that no compiler reads.
LEFT_OUT = shutil.ignore_patterns("*_test.go", "testdata", "website", "docs", "examples")


class ProviderError(FixableError):
    """Terraform or its providers can't be made ready; one line says why and what to do."""


class NotReadyError(ProviderError):
    """The user must provide something: a program, or a writable folder."""

    exit_status = 2


@dataclass(frozen=True)
class Program:
    """A program to build: its file name, its title in messages, and its Go module."""

    name: str
    title: str
    module: str
    version: str
    linker_flags: str
    package: str = "."
    # Packages to compile without optimising: generated API code, most of the lines and little of
    # the run time.
    unoptimised: tuple[str, ...] = ()
    # Changes the sources before they are compiled.
    trim: Callable[[Path], None] = lambda sources: None


def build(program: Program, pins: Path, binary: Path, **target: str) -> None:
    """Build the file `binary` from the pinned module, for this machine or `target` (GOOS, GOARCH).

    Raises ProviderError with Go's reason, such as no network or a wrong checksum.
    """
    with tempfile.TemporaryDirectory(prefix=".sources-", dir=binary.parent) as folder:
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(pins / name, Path(folder, name))
        doing = f"downloading the sources of {program.title}"
        # Go's checksum database doesn't have forks; go.sum pins them.
        _run(["go", "mod", "download", program.module], folder, doing, GONOSUMDB="*")
        doing = f"looking for the sources of {program.title}"
        locate = ["go", "list", "-m", "-f", "{{.Dir}}", program.module]
        module = _run(locate, folder, doing)
        sources = Path(folder, program.name)
        # A writable copy, unlike Go's module cache.
        shutil.copytree(module, sources, ignore=LEFT_OUT, copy_function=shutil.copyfile)
        program.trim(sources)
        command = ["go", "build", "-p", str(_parallel_compilers()), "-trimpath", "-mod=mod"]
        command.append("-gcflags=all=-dwarf=false")  # the linker strips debug data anyway
        command += [f"-gcflags={packages}=-N -l -dwarf=false" for packages in program.unoptimised]
        command += ["-ldflags", program.linker_flags, "-o", str(binary), program.package]
        _run(command, sources, f"compiling {program.title} {program.version}", **target)


def is_too_old(go: str) -> bool:
    """Whether this Go is older than 1.21, which can download newer toolchains
    (go.dev/doc/toolchain)."""
    version = re.search(r"go1\.(\d+)", go_version(go))
    return version is None or int(version[1]) < 21


def go_version(go: str) -> str:
    """Return Go's version, such as `go1.26.0`; "" for a program that isn't Go."""
    try:
        return subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""


def _parallel_compilers() -> int:
    """Return how many packages to compile at once: one for each core and 2 GiB of memory (two peak
    at 3.4 GB)."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(os.cpu_count() or 1, memory_bytes // 2**31))


def _run(command: list[str], folder: str | Path, doing: str, **more: str) -> str:
    """Run a Go command with a line of progress every 15 s and return its stdout.

    Raises ProviderError with Go's own reason. An interrupt also kills Go's compilers.
    """
    settings = {"GOWORK": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    environment = os.environ | settings | {"GOOS": "", "GOARCH": ""} | more
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    began, process, output = time.monotonic(), None, None
    try:
        with held_back():
            process = subprocess.Popen(
                command, cwd=folder, env=environment, start_new_session=True, **pipes
            )
        while output is None:
            say(f"{doing} ... {time.monotonic() - began:.0f} s")
            try:
                output, errors = process.communicate(timeout=REPORT_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
    except FileNotFoundError:
        fix = "install Go >= 1.25 and put it on the PATH"
        raise NotReadyError(f"{doing} needs `go`", fix) from None
    finally:
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise ProviderError(f"{doing} failed: {_reason(errors)}")
    return output.strip()


def _reason(errors: str) -> str:
    """Return the first informative line that Go printed, at most 300 characters."""
    lines = [
        " ".join(line.split())
        for line in errors.splitlines()
        if not line.startswith(("go: downloading", "#"))
    ]
    return next(filter(None, lines), "it printed no reason")[:300]
