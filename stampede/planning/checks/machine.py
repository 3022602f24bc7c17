"""Checks of this machine: Terraform and where its providers come from, Go, and room on disk and in memory."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from stampede.emulator import build_cache, function_memory, opentofu, providers, stack
from stampede.emulator.go_build import ProviderError, go_version, is_too_old
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.demand import Demand

LEAST_TERRAFORM = (1, 9)
# The embedded AWS took 316 and 337 MB beside 500 functions, and 469 beside 40 that did four times as much each [tried,
# x86_64, two machines].
EMULATOR_MB = 500
# 500 functions of go_stream at once: 2,128 open files of the emulator, and 4,081 threads in all, 4 a function in the
# emulator [tried]. A function in Python has up to 10 more, those of download_file. Linux counts threads against a
# user's processes, other systems only processes.
OPEN_FILES, OPEN_FILES_PER_FUNCTION = 200, 5
THREADS, THREADS_PER_FUNCTION = 200, 16 if sys.platform == "linux" else 1
# A message's log lines are kept twice in the results folder, as events and as a record; with room for the report.
RESULT_BYTES_PER_MESSAGE = 3000
REPORT_MB = 50


def tools() -> list[Finding]:
    """Terraform, its providers and Go, and the folders for what has to be built and for what stacks leave."""
    caches = "set STAMPEDE_CACHE_DIR to a folder in which you may write"
    states = "set STAMPEDE_STATE_DIR to a folder in which you may write"
    findings = [terraform(), folder("state folder", stack.STATE_DIR, 0, states)]
    if findings[0].status == OK:
        findings.insert(1, provider())
    if any(finding.status == WARNING for finding in findings):  # something is built
        findings.append(folder("cache folder", build_cache.cache_folder(), 0, caches))
    return findings


def room(cells: Sequence[Demand], target: str, results_dir: Path) -> list[Finding]:
    """The results' folder; locally also memory and disk for all that functions hold at once, and N processes."""
    needed_mb = results_mb(cells)
    results = folder("results folder", results_dir, needed_mb, _another_folder(results_dir))
    if target != "local":
        return [results]
    held_mb = max(_held_mb(cell) * cell.concurrency for cell in cells)
    way_out = f"set STAMPEDE_STATE_DIR to a folder on a larger disk, or use a smaller {_smaller(cells)} with --set"
    return [
        local_memory(cells, available_memory_mb(), function_memory.known(stack.STATE_DIR)),
        folder("local disk", stack.STATE_DIR, held_mb + needed_mb, way_out),
        local_limits(cells, _limit(resource.RLIMIT_NOFILE, 1), _limit(resource.RLIMIT_NPROC, 0)),
        results,
    ]


def terraform() -> Finding:
    """Terraform or OpenTofu is there and recent enough, or Go to build OpenTofu with."""
    try:
        binary = providers.found_terraform()
        if binary is None:
            return _to_build(
                "terraform", f"{opentofu.NEITHER}, so the first run builds {opentofu.TITLE}, {opentofu.BUILD_TAKES}"
            )
        flavour, version, _ = providers.terraform_identity(binary)
    except ProviderError as error:
        return Finding("terraform", PROBLEM, error.found, error.way_out)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= LEAST_TERRAFORM:
        return Finding("terraform", OK, f"{flavour} {version} ({binary})")
    old = f"{binary} is {flavour} {version}: 1.9 or newer is needed"
    return Finding("terraform", PROBLEM, old, "install a newer one, or set STAMPEDE_TERRAFORM to one")


def provider() -> Finding:
    """The Terraform providers were built earlier, come from somewhere, or can be built. Builds nothing. Raises
    ProviderError without a Terraform."""
    flavour, _, platform_name = providers.terraform_identity(providers.terraform_binary())
    host = providers.REGISTRIES[flavour]
    if (
        build_cache.is_complete(providers.finished_folder(platform_name))
        or providers.registry_answers(host)
        or providers._own_mirror_config()
    ):
        return Finding("provider", OK)
    return _to_build("provider", f"{host} doesn't answer, so the first run builds it, {providers.BUILD_TAKES}")


def _to_build(name: str, found: str) -> Finding:
    """What the first run builds: a problem where there is no Go for that, or none that is new enough."""
    program = shutil.which("go")
    if program is None or is_too_old(program):
        go = f"{program} is {go_version(program) or 'no Go'}" if program else "there is no `go`"
        return Finding(
            name, PROBLEM, f"{found}, and {go}: Go >= 1.25 is needed for that", "install Go or Terraform >= 1.9"
        )
    return Finding(name, WARNING, found, "`make setup` builds it now")


def local_memory(
    cells: Sequence[Demand], available_mb: int | None, measured: Mapping[str, int] = MappingProxyType({})
) -> Finding:
    """Memory for the data set, the emulator and N processes (as `measured` here); at worst each holds what it moves."""
    if available_mb is None:
        return Finding("local memory", WARNING, "this system doesn't say how much is free", "watch it during the run")
    least = max(local_mb(cell, measured, copies=0) for cell in cells)
    most = max(local_mb(cell, measured, copies=cell.concurrency) for cell in cells)
    if available_mb >= most:
        return Finding("local memory", OK)
    found = f"{available_mb:,} MB free; the largest cell needs {least:,}" + (f" to {most:,}" if most > least else "")
    status = WARNING if available_mb >= least else PROBLEM
    return Finding("local memory", status, found, f"use a smaller {_smaller(cells)} with --set")


def local_mb(cell: Demand, measured: Mapping[str, int], *, copies: int) -> int:
    """Memory of the emulator with the data set, the cell's functions (as function_memory `measured` them here, else as
    their experiment says), and what `copies` of them hold."""
    usage = cell.usage
    held_mb = usage.data_mb + usage.emulator_mb + copies * _held_mb(cell)
    return EMULATOR_MB + cell.concurrency * measured.get(str(usage.process_mb), usage.process_mb) + held_mb


def local_limits(cells: Sequence[Demand], open_files: float, threads: float) -> Finding:
    """What the system lets one process open (emulator and functions go up to the hard limit) and one user start."""
    most = max(cell.concurrency for cell in cells)
    opened = max(cell.concurrency * (OPEN_FILES_PER_FUNCTION + cell.usage.connections) for cell in cells)
    needed = {"-Hn": (OPEN_FILES + opened, open_files), "-u": (THREADS + most * THREADS_PER_FUNCTION, threads)}
    for option, (need, limit) in needed.items():
        if need > limit:
            found = f"`ulimit {option}` is {limit:,}, and {most} {cells[0].workers} at once may need {need:,}"
            return Finding(
                "local limits", PROBLEM, found, f"raise it to {need}, or use a smaller --set concurrency_value"
            )
    return Finding("local limits", OK)


def folder(check: str, path: Path, needed_mb: int, way_out: str) -> Finding:
    """A folder, which need not be there yet, can be written, and its disk has so much room."""
    nearest = next(above for above in (path, *path.absolute().parents) if _is_there(above))
    if not nearest.is_dir():
        return Finding(check, PROBLEM, f"{nearest} is a file, not a folder", way_out)
    if not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(check, PROBLEM, f"no permission to write into {nearest}", way_out)
    try:
        with tempfile.TemporaryFile(dir=nearest):  # /proc, for one, takes no file even of those that have permission
            free_mb = shutil.disk_usage(nearest).free // 2**20
    except OSError as error:
        return Finding(check, PROBLEM, f"nothing can be written into {nearest} ({error.strerror})", way_out)
    if free_mb < needed_mb:
        return Finding(check, PROBLEM, f"{free_mb:,} MB free in {path}; {needed_mb:,} needed", way_out)
    return Finding(check, OK)


def results_mb(cells: Sequence[Demand]) -> int:
    """Room for the results of all cells."""
    return REPORT_MB + sum(cell.all_messages for cell in cells) * RESULT_BYTES_PER_MESSAGE // 2**20


def available_memory_mb() -> int | None:
    """Memory that processes can still get, in MiB, as Linux says; None elsewhere."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) // 1024 if match else None


def _limit(kind: int, which: int) -> float:
    """The soft (0) or hard (1) limit of this process; infinity where there is none."""
    limit = resource.getrlimit(kind)[which]
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _held_mb(cell: Demand) -> int:
    """What one operation holds at worst."""
    return 0 if cell.usage.within_s3 else cell.usage.moved_mb


def _smaller(cells: Sequence[Demand]) -> str:
    """The settings that make a cell take less."""
    return " or ".join(dict.fromkeys(["concurrency_value", *(cell.usage.sized_by for cell in cells)]))


def _another_folder(path: Path) -> str:
    """The way out where nothing can be stored in `path`: a run that is resumed has to be found in the other one."""
    if _is_there(path / "run.json"):
        return "make room, or copy the run into a folder in which you may write, and name that with --results-dir"
    return "make room, or name a folder in which you may write with --results-dir"


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path's raises at a closed folder
