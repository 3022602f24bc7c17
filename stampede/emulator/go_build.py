"""Builds programs from the Go module proxy, each from a copy of its own module, with the pins that stand in it.

A folder of pins (`go.mod`, `go.sum`) names the modules and their checksums. It is only ever used to download them: a
program is built in its own module, where that one's go.sum and `replace` lines hold, so nothing else has to be listed.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from stampede.errors import FixableError
from stampede.interruption import held_back

Progress = Callable[[str], None]

REPORT_EVERY_S = 15.0
GIB = 2**30


class ProviderError(FixableError):
    """Terraform or its providers can't be made ready; the message is one line that says why and what to do."""


class NotReadyError(ProviderError):
    """Something that the user has to provide isn't there: a program, or a folder that can be written."""


@dataclass(frozen=True)
class Program:
    """A program to build: its name and how a sentence calls it, its Go module, and the folders the compiler reads."""

    name: str
    title: str
    module: str
    version: str
    folders: tuple[str, ...]
    linker_flags: str
    package: str = "."
    # Packages to compile without optimising: generated API code, most of all lines and no place where time is spent.
    unoptimised: tuple[str, ...] = ()
    # Where go.mod has it from, if from elsewhere. Go's public checksum database doesn't know a fork; go.sum pins it.
    fork: str | None = None


def download(go: str, pins: Path, copy: Path, programs: Iterable[Program], progress: Progress) -> dict[str, Path]:
    """Fetch the programs' modules, checked against `pins`/go.sum, and return the folder of each by its module.

    `copy` is a new folder to work in. Raises ProviderError without network, and for a module that go.sum doesn't pin.
    """
    programs = tuple(programs)
    copy.mkdir(parents=True)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(pins / name, copy / name)
    command = [go, "mod", "download", "-json", *(program.module for program in programs)]
    unlisted = [os.environ.get("GONOSUMDB"), *(program.fork for program in programs)]
    environment = _go_environment() | {"GONOSUMDB": ",".join(filter(None, unlisted))}
    titles = " and ".join(program.title for program in programs)
    output = _run(command, copy, environment, f"downloading the sources of {titles}", progress)
    # Go adds a missing checksum to go.sum instead of refusing the module, so an incomplete go.sum must not pass.
    if (copy / "go.sum").read_text() != (pins / "go.sum").read_text():
        raise ProviderError(
            f"stampede/emulator/{pins.name}/go.sum doesn't pin every module of its go.mod", "add what is missing"
        )
    folders, decoder, rest = {}, json.JSONDecoder(), output.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        folders[entry["Path"]] = Path(entry["Dir"])
    return {program.module: folders[program.fork or program.module] for program in programs}


def copy_sources(module: Path, copy: Path, program: Program) -> None:
    """Copy what the compiler reads: files of Go's module cache are read-only and can't be overlaid."""
    files = [module / name for name in ("main.go", "go.mod", "go.sum") if (module / name).is_file()]
    for folder in program.folders:
        files += [
            file
            for file in (module / folder).rglob("*")
            if file.is_file() and not file.name.endswith("_test.go") and "testdata" not in file.parts
        ]
    for file in files:
        place = copy / file.relative_to(module)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)  # without the read-only mode


def compile_program(
    go: str, program: Program, copy: Path, binary: Path, platform: str | None, progress: Progress
) -> None:
    """Compile the sources in `copy` to the file `binary`, for `platform` (`linux_amd64`; None is this machine)."""
    command = [go, "build", "-p", str(_parallel_compilers()), "-trimpath", "-mod=mod"]
    command.append("-gcflags=all=-dwarf=false")  # the linker strips debug data anyway
    command += [f"-gcflags={packages}=-N -l -dwarf=false" for packages in program.unoptimised]
    command += ["-ldflags", program.linker_flags, "-o", str(binary), program.package]
    doing = f"compiling {program.title} {program.version}"
    _run(command, copy, _go_environment(platform), doing, progress)


def find_go(why: str, otherwise: str) -> str:
    """Return the path of `go`; raises ProviderError without one, with why it is needed and what else would do."""
    go = shutil.which("go")
    if go and is_too_old(go):
        why = f"{go} is {go_version(go) or 'no Go'}: Go >= 1.25 is needed"
    elif go:
        return go
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


def _go_environment(platform: str | None = None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    environment |= {"GOWORK": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    if platform:
        environment["GOOS"], environment["GOARCH"] = platform.split("_", 1)
    return environment


def _parallel_compilers() -> int:
    """Return how many packages to compile at once: one a core and 2 GiB of memory (two peak at 3.4 GB)."""
    cores = os.cpu_count() or 1
    try:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return cores
    return max(1, min(cores, memory_bytes // (2 * GIB)))


def _run(command: list[str], folder: Path, environment: dict[str, str], doing: str, progress: Progress) -> str:
    """Run a Go command with a line of progress every 15 s and return its stdout.

    Raises ProviderError with Go's own reason. Interrupted, it ends the compilers that Go started too.
    """
    began = time.monotonic()
    progress(f"{doing} ...")
    process = None
    try:
        with held_back():
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
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
