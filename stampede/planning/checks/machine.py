"""Checks of this machine: Terraform, the source of its providers, Go, disk and memory."""

from __future__ import annotations

import math
import os
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stampede.emulator import opentofu, providers, stack
from stampede.emulator.go_build import ProviderError, is_too_old
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.demand import Demand

LEAST_TERRAFORM = (1, 9)
# The embedded AWS took 316 and 337 MB beside 500 functions, and 469 beside 40 that did four times
# as much each [tried, x86_64, two machines].
EMULATOR_MB = 500
# 500 functions of go_stream at once: 2,128 open files of the emulator, and 4,081 threads in all, 4
# a function in the emulator [tried]. A function in Python has up to 10 more, those of
# download_file. Linux counts threads against a user's processes, other systems only processes.
OPEN_FILES, OPEN_FILES_PER_FUNCTION = 200, 5
THREADS, THREADS_PER_FUNCTION = 200, 16 if sys.platform == "linux" else 1
# The results folder has a message's log lines twice, as events and as a record, and the report.
RESULT_BYTES_PER_MESSAGE = 3000
REPORT_MB = 50
OTHER_STATE_DIR = "set STAMPEDE_STATE_DIR to a folder with room in which you may write"


def tools() -> list[Finding]:
    """Terraform, its providers and Go, and the state folder."""
    findings = [terraform(), folder("state folder", stack.STATE_DIR, 0, OTHER_STATE_DIR)]
    return [*findings, provider()] if findings[0].status == OK else findings


def room(cells: Sequence[Demand], target: str, results_dir: Path) -> list[Finding]:
    """The results folder; locally also memory and disk for what functions hold at once, and the
    limits for N processes."""
    needed_mb = (
        REPORT_MB + sum(cell.all_messages for cell in cells) * RESULT_BYTES_PER_MESSAGE // 2**20
    )
    results = folder(
        "results folder",
        results_dir,
        needed_mb,
        "make room, or name another folder with --results-dir",
    )
    if target != "local":
        return [results]
    held_mb = max(_held_mb(cell) * cell.concurrency for cell in cells)
    disk = folder(
        "local disk",
        stack.STATE_DIR,
        held_mb + needed_mb,
        f"{OTHER_STATE_DIR}, or {_smaller(cells)}",
    )
    memory = local_memory(cells, available_memory_mb())
    return [memory, disk, local_limits(cells), results]


def terraform() -> Finding:
    """Terraform or OpenTofu is installed and recent enough, or Go can build OpenTofu."""
    try:
        binary = providers.found_terraform()
        if binary is None:
            return _to_build(
                "terraform",
                (
                    f"{opentofu.NEITHER}, so the first run builds {opentofu.TITLE}, "
                    f"{opentofu.BUILD_TAKES}"
                ),
            )
        flavour, version, _ = providers.terraform_identity(binary)
    except ProviderError as error:
        return Finding("terraform", PROBLEM, error.found, error.way_out)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= LEAST_TERRAFORM:
        return Finding("terraform", OK, f"{flavour} {version} ({binary})")
    return Finding(
        "terraform",
        PROBLEM,
        f"{binary} is {flavour} {version}: 1.9 or newer is needed",
        "install a newer one, or set STAMPEDE_TERRAFORM to one",
    )


def provider() -> Finding:
    """The Terraform providers are built, or can be downloaded or built. Builds nothing. Raises
    ProviderError without a Terraform."""
    flavour, _, platform_name = providers.terraform_identity(providers.terraform_binary())
    host = providers.REGISTRIES[flavour]
    is_built = providers.finished_folder(platform_name).is_dir()
    if is_built or providers.registry_answers(host) or providers.has_own_mirror():
        return Finding("provider", OK)
    return _to_build(
        "provider", f"{host} doesn't answer, so the first run builds it, {providers.BUILD_TAKES}"
    )


def _to_build(name: str, found: str) -> Finding:
    """What the first run builds; a problem without a recent Go."""
    program = shutil.which("go")
    if program is not None and not is_too_old(program):
        return Finding(name, WARNING, found, "`make setup` builds it now")
    return Finding(
        name,
        PROBLEM,
        f"{found}, and there is no Go >= 1.25 for that",
        "install Go or Terraform >= 1.9",
    )


def local_memory(cells: Sequence[Demand], available_mb: float) -> Finding:
    """Memory for the data set, the emulator and N processes with what they may hold."""
    least = max(local_mb(cell, copies=0) for cell in cells)
    most = max(local_mb(cell, copies=cell.concurrency) for cell in cells)
    if available_mb >= most:
        return Finding("local memory", OK)
    found = f"{available_mb:,} MB free; the largest cell needs {least:,}" + (
        f" to {most:,}" if most > least else ""
    )
    return Finding(
        "local memory", WARNING if available_mb >= least else PROBLEM, found, _smaller(cells)
    )


def local_mb(cell: Demand, *, copies: int) -> int:
    """Memory of the emulator, the data set, the functions, and what `copies` of them hold."""
    usage = cell.usage
    held_mb = usage.data_mb + usage.emulator_mb + copies * _held_mb(cell)
    return EMULATOR_MB + cell.concurrency * usage.process_mb + held_mb


def local_limits(cells: Sequence[Demand]) -> Finding:
    """The system's limits of open files of a process (emulator and functions use the hard limit)
    and of processes of a user."""
    most = max(cell.concurrency for cell in cells)
    opened = max(
        cell.concurrency * (OPEN_FILES_PER_FUNCTION + cell.usage.connections) for cell in cells
    )
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    threads, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    needed = {
        "-Hn": (OPEN_FILES + opened, files),
        "-u": (THREADS + most * THREADS_PER_FUNCTION, threads),
    }
    for option, (need, limit) in needed.items():
        if limit != resource.RLIM_INFINITY and need > limit:
            return Finding(
                "local limits",
                PROBLEM,
                f"`ulimit {option}` is {limit:,}, and {most} at once may need {need:,}",
                f"raise it to {need}, or use a smaller --set concurrency_value",
            )
    return Finding("local limits", OK)


def folder(check: str, path: Path, needed_mb: int, way_out: str) -> Finding:
    """A folder, which needn't exist yet, can be written, and its disk has `needed_mb` free."""
    # Path.exists() raises in a folder without permission.
    nearest = next(above for above in (path, *path.absolute().parents) if os.path.exists(above))  # noqa: PTH110
    try:
        # Some folders, such as /proc, take no file even with permission.
        with tempfile.TemporaryFile(dir=nearest):
            free_mb = shutil.disk_usage(nearest).free // 2**20
    except OSError as error:
        return Finding(
            check, PROBLEM, f"nothing can be written into {nearest} ({error.strerror})", way_out
        )
    if free_mb < needed_mb:
        return Finding(
            check, PROBLEM, f"{free_mb:,} MB free in {path}; {needed_mb:,} needed", way_out
        )
    return Finding(check, OK)


def available_memory_mb() -> float:
    """Memory available to processes in MiB, according to Linux; no limit elsewhere."""
    try:
        match = re.search(
            r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE
        )
    except OSError:
        match = None
    return int(match[1]) // 1024 if match else math.inf


def _held_mb(cell: Demand) -> int:
    """What one operation holds at most."""
    return 0 if cell.usage.within_s3 else cell.usage.moved_mb


def _smaller(cells: Sequence[Demand]) -> str:
    """The settings that make a cell smaller."""
    settings = dict.fromkeys(["concurrency_value", *(cell.usage.sized_by for cell in cells)])
    return f"use a smaller {' or '.join(settings)} with --set"
