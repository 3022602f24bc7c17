"""Builds programs from the Go module proxy, for machines that have no Terraform, or whose registry
doesn't answer.

A folder of pins (`go.mod`, `go.sum`) names the modules and their checksums, and is only used to
download them: a program is built in a copy of its own module, where that one's go.sum and `replace`
lines hold.
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

Progress = Callable[[str], None]

REPORT_EVERY_S = 15.0
# Of a module, what no compiler reads.
LEFT_OUT = shutil.ignore_patterns("*_test.go", "testdata", "website", "docs", "examples")


class ProviderError(FixableError):
    """Terraform or its providers can't be made ready; the message is one line that says why and
    what to do."""


class NotReadyError(ProviderError):
    """Something that the user has to provide isn't there: a program, or a folder that can be
    written."""

    exit_status = 2


@dataclass(frozen=True)
class Program:
    """A program to build: its name and how a sentence calls it, and its Go module."""

    name: str
    title: str
    module: str
    version: str
    linker_flags: str
    package: str = "."
    # Packages to compile without optimising: generated API code, most of all lines and no place
    # where time is spent.
    unoptimised: tuple[str, ...] = ()
    # Changes the sources before they are compiled.
    trim: Callable[[Path], None] = lambda sources: None


def build(program: Program, pins: Path, binary: Path, progress: Progress, **target: str) -> None:
    """Make the file `binary` from the module that `pins` names, for this machine or a `target`
    (GOOS, GOARCH).

    Raises ProviderError without network and for a module that isn't what go.sum pins, with Go's
    reason.
    """
    with tempfile.TemporaryDirectory(prefix=".sources-", dir=binary.parent) as folder:
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(pins / name, Path(folder, name))
        doing = f"downloading the sources of {program.title}"
        # Go's public checksum database doesn't know a fork; go.sum pins it.
        _run(["go", "mod", "download", program.module], folder, doing, progress, GONOSUMDB="*")
        doing = f"looking for the sources of {program.title}"
        module = _run(
            ["go", "list", "-m", "-f", "{{.Dir}}", program.module], folder, doing, progress
        )
        sources = Path(folder, program.name)
        # A copy that can be written, unlike Go's module cache.
        shutil.copytree(module, sources, ignore=LEFT_OUT, copy_function=shutil.copyfile)
        program.trim(sources)
        command = ["go", "build", "-p", str(_parallel_compilers()), "-trimpath", "-mod=mod"]
        command.append("-gcflags=all=-dwarf=false")  # the linker strips debug data anyway
        command += [f"-gcflags={packages}=-N -l -dwarf=false" for packages in program.unoptimised]
        command += ["-ldflags", program.linker_flags, "-o", str(binary), program.package]
        _run(command, sources, f"compiling {program.title} {program.version}", progress, **target)


def is_too_old(go: str) -> bool:
    """Whether this Go can't get a newer toolchain by itself either, as it can from 1.21 on
    (go.dev/doc/toolchain)."""
    version = re.search(r"go1\.(\d+)", go_version(go))
    return version is None or int(version[1]) < 21


def go_version(go: str) -> str:
    """Return Go's version, such as `go1.26.0`; an empty text of something else."""
    try:
        return subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""


def _parallel_compilers() -> int:
    """Return how many packages to compile at once: one a core and 2 GiB of memory (two peak at 3.4
    GB)."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(os.cpu_count() or 1, memory_bytes // 2**31))


def _run(
    command: list[str], folder: str | Path, doing: str, progress: Progress, **more: str
) -> str:
    """Run a Go command with a line of progress every 15 s and return its stdout.

    Raises ProviderError with Go's own reason. Interrupted, it ends the compilers that Go started
    too.
    """
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")
    }
    environment |= {"GOWORK": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0", **more}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    began, process, output = time.monotonic(), None, None
    try:
        with held_back():
            process = subprocess.Popen(
                command, cwd=folder, env=environment, start_new_session=True, **pipes
            )
        while output is None:
            progress(f"{doing} ... {time.monotonic() - began:.0f} s")
            try:
                output, errors = process.communicate(timeout=REPORT_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
    except FileNotFoundError:
        raise NotReadyError(
            f"{doing} needs `go`", "install Go >= 1.25 and put it on the PATH"
        ) from None
    finally:
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise ProviderError(f"{doing} failed: {_reason(errors)}")
    return output.strip()


def _reason(errors: str) -> str:
    """Return the first line of what Go printed that says something, at most 300 characters."""
    lines = [
        " ".join(line.split())
        for line in errors.splitlines()
        if not line.startswith(("go: downloading", "#"))
    ]
    return next(filter(None, lines), "it printed no reason")[:300]
