"""Builds programs from the Go module proxy, for machines that have no Terraform, or whose registry doesn't answer.

A folder of pins (`go.mod`, `go.sum`) names the modules and their checksums, and is only used to download them: a
program is built in a copy of its own module, where that one's go.sum and `replace` lines hold.
"""

from __future__ import annotations

import json
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
GIB = 2**30
# Of a module's folders, what no compiler reads.
LEFT_OUT = {"testdata", "website", "docs", "examples"}


class ProviderError(FixableError):
    """Terraform or its providers can't be made ready; the message is one line that says why and what to do."""


class NotReadyError(ProviderError):
    """Something that the user has to provide isn't there: a program, or a folder that can be written."""

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
    # Packages to compile without optimising: generated API code, most of all lines and no place where time is spent.
    unoptimised: tuple[str, ...] = ()
    # Changes the sources before they are compiled.
    trim: Callable[[Path], None] = lambda sources: None


def build(program: Program, pins: Path, binary: Path, progress: Progress, platform: str | None = None) -> None:
    """Make the file `binary` from the module that `pins` names, for `platform` (`linux_amd64`; None is this machine).

    Raises ProviderError without network, for a module that go.sum doesn't pin, and with Go's reason.
    """
    with tempfile.TemporaryDirectory(prefix=".sources-", dir=binary.parent) as folder:
        sources = Path(folder, program.name)
        _copy(_download(program, pins, Path(folder), progress), sources)
        program.trim(sources)
        command = ["go", "build", "-p", str(_parallel_compilers()), "-trimpath", "-mod=mod"]
        command.append("-gcflags=all=-dwarf=false")  # the linker strips debug data anyway
        command += [f"-gcflags={packages}=-N -l -dwarf=false" for packages in program.unoptimised]
        command += ["-ldflags", program.linker_flags, "-o", str(binary), program.package]
        _run(command, sources, f"compiling {program.title} {program.version}", progress, _target(platform))


def _download(program: Program, pins: Path, folder: Path, progress: Progress) -> Path:
    """Fetch a module that `pins`/go.sum has the checksum of; return where Go keeps it."""
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(pins / name, folder / name)
    command = ["go", "mod", "download", "-json", program.module]
    # Go's public checksum database doesn't know a fork; go.sum pins it.
    output = _run(command, folder, f"downloading the sources of {program.title}", progress, {"GONOSUMDB": "*"})
    # Go adds a missing checksum to go.sum instead of refusing the module, so an incomplete go.sum must not pass.
    if (folder / "go.sum").read_text() != (pins / "go.sum").read_text():
        raise ProviderError(
            f"stampede/emulator/{pins.name}/go.sum doesn't pin every module of its go.mod", "add what is missing"
        )
    return Path(json.loads(output)["Dir"])


def _copy(module: Path, sources: Path) -> None:
    """Copy what the compiler reads: files of Go's module cache are read-only and can't be overlaid."""
    for file in module.rglob("*"):
        place = file.relative_to(module)
        if file.is_file() and not file.name.endswith("_test.go") and not LEFT_OUT & {*place.parts}:
            (sources / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, sources / place)  # without the read-only mode


def require_go(why: str, otherwise: str) -> None:
    """Raise ProviderError without `go`, with why it is needed and what else would do."""
    go = shutil.which("go")
    if go and is_too_old(go):
        why = f"{go} is {go_version(go) or 'no Go'}: Go >= 1.25 is needed"
    elif go:
        return
    raise NotReadyError(why, f"install Go >= 1.25 and put it on the PATH, or {otherwise}")


def is_too_old(go: str) -> bool:
    """Whether this Go can't get a newer toolchain by itself either, as it can from 1.21 on (go.dev/doc/toolchain)."""
    version = re.search(r"go1\.(\d+)", go_version(go))
    return version is None or int(version[1]) < 21


def go_version(go: str) -> str:
    """Return Go's version, such as `go1.26.0`; an empty text of something else."""
    try:
        return subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _target(platform: str | None) -> dict[str, str]:
    return dict(zip(("GOOS", "GOARCH"), platform.split("_", 1), strict=True)) if platform else {}


def _parallel_compilers() -> int:
    """Return how many packages to compile at once: one a core and 2 GiB of memory (two peak at 3.4 GB)."""
    cores = os.cpu_count() or 1
    try:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return cores
    return max(1, min(cores, memory_bytes // (2 * GIB)))


def _run(command: list[str], folder: Path, doing: str, progress: Progress, more: dict[str, str]) -> str:
    """Run a Go command with a line of progress every 15 s and return its stdout.

    Raises ProviderError with Go's own reason. Interrupted, it ends the compilers that Go started too.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    environment |= {"GOWORK": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0", **more}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    began, process = time.monotonic(), None
    progress(f"{doing} ...")
    try:
        with held_back():
            process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)
        while True:
            try:
                output, errors = process.communicate(timeout=REPORT_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                progress(f"{doing} ... {time.monotonic() - began:.0f} s")
    finally:
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise ProviderError(f"{doing} failed: {_reason(errors, output)}")
    progress(f"{doing}: done in {time.monotonic() - began:.0f} s")
    return output


def _reason(errors: str, output: str) -> str:
    """Return the line that says most of what Go printed, at most 300 characters."""
    if match := re.search(r'"Error": (".*")', output):  # of `go mod download -json`
        return " ".join(json.loads(match[1]).split())[:300]
    lines = [line.strip() for line in errors.splitlines() if not line.startswith(("go: downloading", "#"))]
    return next((" ".join(line.split())[:300] for line in lines if line), "it printed no reason")
