"""Checks of this machine: Python, Terraform and where its providers come from, Go, and room on disk and in memory."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from stampede.emulator import build_cache, function_memory, opentofu, providers, stack
from stampede.emulator.go_build import ProviderError, go_version, is_too_old
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.demand import Demand

LEAST_PYTHON = (3, 11)
LEAST_TERRAFORM = (1, 9)
# The embedded AWS took 316 and 337 MB beside 500 functions, and 469 beside 40 that did four times as much each [tried,
# x86_64, two machines].
EMULATOR_MB = 500
# 500 functions of go_stream at once: 2,128 open files of the emulator, and 4,081 threads in all, 4 a function in the
# emulator [tried]. A function in Python has up to 10 more, those of download_file.
OPEN_FILES, OPEN_FILES_PER_FUNCTION = 200, 5
THREADS, THREADS_PER_FUNCTION = 200, 16
BUILD_NOW = "`make setup` builds it now"
# A message's log lines are kept twice in the results folder, as events and as a record; with room for the report.
RESULT_BYTES_PER_MESSAGE = 3000
REPORT_MB = 50


def tools() -> list[Finding]:
    """Python, Terraform, the providers, Go, and the folders for what has to be built and for what stacks leave."""
    findings = [python(), terraform(), *provider_and_go()]
    builds = any(finding.way_out == BUILD_NOW for finding in findings)
    return [*findings, cache(build_cache.cache_folder(), needed=builds), state(stack.STATE_DIR)]


def room(cells: list[Demand], target: str, results_dir: Path) -> list[Finding]:
    """The results' folder; locally also memory and disk for all that functions hold at once, and N processes."""
    results = results_folder(cells, results_dir)
    if target == "local":
        return [
            local_memory(cells, available_memory_mb(), function_memory.known(stack.STATE_DIR)),
            local_disk(cells, _free_mb(stack.STATE_DIR)),
            local_limits(cells, _limit(resource.RLIMIT_NOFILE, 1), _limit(resource.RLIMIT_NPROC, 0)),
            results,
        ]
    return [results]


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Python is recent enough."""
    text = ".".join(str(part) for part in version)
    if version >= LEAST_PYTHON:
        return Finding("python", OK, text)
    return Finding("python", PROBLEM, f"{text}: 3.11 or newer is needed", "run `make setup PYTHON=python3.11`")


def terraform() -> Finding:
    """Terraform or OpenTofu is there and recent enough, or Go to build OpenTofu with."""
    try:
        binary = providers.found_terraform()
        if binary is None:
            return _opentofu_to_build()
        flavour, version, _ = providers.terraform_identity(binary)
    except ProviderError as error:
        return Finding("terraform", PROBLEM, error.found, error.way_out)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers >= LEAST_TERRAFORM:
        where = f"built here, {binary}" if binary == opentofu.built() else binary
        return Finding("terraform", OK, f"{flavour} {version} ({where})")
    return Finding(
        "terraform",
        PROBLEM,
        f"{binary} is {flavour} {version}: 1.9 or newer is needed",
        "install a newer one, or set STAMPEDE_TERRAFORM to one",
    )


def provider_and_go() -> list[Finding]:
    """Where the Terraform providers will come from, and Go where they have to be built. Builds nothing."""
    try:
        binary = providers.terraform_binary()
        flavour, _, platform_name = providers.terraform_identity(binary)
    except ProviderError:
        return [Finding("provider", WARNING, "not checked, because that needs Terraform", "see terraform above")]
    mirror = providers.finished_folder(platform_name)
    if build_cache.is_complete(mirror):
        return [Finding("provider", OK, f"built earlier ({mirror})"), _go(needed=False)]
    host = providers.REGISTRIES[flavour]
    if providers.registry_answers(host):
        return [Finding("provider", OK, f"{host} answers"), _go(needed=False)]
    if own := providers._own_mirror_config():
        return [Finding("provider", OK, f"from the provider_installation in {own}"), _go(needed=False)]
    building = Finding(
        "provider",
        WARNING,
        f"{host} doesn't answer, so the first run builds the provider from source, {providers.BUILD_TAKES}",
        BUILD_NOW,
    )
    return [building, _go(needed=True)]


def local_memory(
    cells: list[Demand], available_mb: int | None, measured: Mapping[str, int] = MappingProxyType({})
) -> Finding:
    """Memory for the data set, the emulator and N processes (as `measured` here); at worst each holds what it moves."""
    if available_mb is None:
        return Finding("local memory", WARNING, "this system doesn't say how much is free", "watch it during the run")
    least = max(local_mb(cell, measured, copies=0) for cell in cells)
    most = max(local_mb(cell, measured, copies=cell.concurrency) for cell in cells)
    found = f"{available_mb:,} MB free; the largest cell needs {least:,}" + (f" to {most:,}" if most > least else "")
    if available_mb >= most:
        return Finding("local memory", OK, found)
    status = WARNING if available_mb >= least else PROBLEM
    return Finding("local memory", status, found, f"use a smaller {_smaller(cells)} with --set")


def local_disk(cells: list[Demand], free_mb: int) -> Finding:
    """Disk for what N processes move at once."""
    needed = max(_held_mb(cell) * cell.concurrency for cell in cells) + _results_mb(cells)
    found = f"{free_mb:,} MB free; {needed:,} needed for what N {cells[0].workers} transfer at once"
    if free_mb >= needed:
        return Finding("local disk", OK, found)
    way_out = f"set STAMPEDE_STATE_DIR to a folder on a larger disk, or use a smaller {_smaller(cells)} with --set"
    return Finding("local disk", PROBLEM, found, way_out)


def local_limits(cells: list[Demand], open_files: float, threads: float) -> Finding:
    """What the system lets one process open (emulator and functions go up to the hard limit) and one user start."""
    most, workers = max(cell.concurrency for cell in cells), cells[0].workers
    # Linux counts threads against a user's processes, other systems only processes.
    started = THREADS + most * THREADS_PER_FUNCTION if sys.platform == "linux" else THREADS + most
    opened = max(cell.concurrency * (OPEN_FILES_PER_FUNCTION + cell.usage.connections) for cell in cells)
    needed = {"-Hn": (OPEN_FILES + opened, open_files), "-u": (started, threads)}
    at_once = max(cell.usage.connections for cell in cells)
    words = f"{most} {workers} at once" if most > 1 else f"1 {workers.removesuffix('s')}"
    if at_once:
        words += f" with up to {at_once:,} connections" + (" each" if most > 1 else "")
    for option, (need, limit) in needed.items():
        if need > limit:
            found = f"`ulimit {option}` is {limit:,}, and {words} may need {need:,}"
            fewer = "concurrency_value or fewer calls at once" if at_once else "concurrency_value"
            return Finding("local limits", PROBLEM, found, f"raise it to {need}, or use a smaller --set {fewer}")
    return Finding("local limits", OK, f"{words} {'stay' if most > 1 else 'stays'} below `ulimit -Hn` and `ulimit -u`")


def results_folder(cells: list[Demand], folder: Path) -> Finding:
    """The folder of the results, or of the run that is resumed, can be written, and its disk has room for them."""
    if (reason := _unwritable(folder)) is not None:
        return Finding(
            "results folder", PROBLEM, reason, _another_folder(folder, "make it writable", "in which you may write")
        )
    needed, free_mb = _results_mb(cells), _free_mb(folder)
    room = f"{free_mb:,} MB free in {folder}; {needed:,} needed for the results"
    if free_mb >= needed:
        return Finding("results folder", OK, room)
    return Finding("results folder", PROBLEM, room, _another_folder(folder, "make room", "on a larger disk"))


def cache(folder: Path, *, needed: bool) -> Finding:
    """The folder for what is built here can be written: a problem only where something has to be built."""
    reason = _unwritable(folder)
    if reason is None:
        return Finding("cache folder", OK, str(folder))
    way_out = "set STAMPEDE_CACHE_DIR to a folder in which you may write"
    return Finding("cache folder", PROBLEM if needed else WARNING, reason, way_out)


def state(folder: Path) -> Finding:
    """The folder for locks, Terraform's log and the embedded AWS can be written."""
    reason = _unwritable(folder)
    if reason is None:
        return Finding("state folder", OK, str(folder))
    return Finding("state folder", PROBLEM, reason, "set STAMPEDE_STATE_DIR to a folder in which you may write")


def available_memory_mb() -> int | None:
    """Memory that processes can still get, in MiB, as Linux says; None elsewhere."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) // 1024 if match else None


def _opentofu_to_build() -> Finding:
    """On a machine with neither `terraform` nor `tofu`: OpenTofu is built where there is Go."""
    if not shutil.which("go"):
        missing = f"{opentofu.NEITHER}, nor `go`, which could build {opentofu.TITLE}"
        return Finding("terraform", PROBLEM, missing, "install Terraform >= 1.9, or Go >= 1.25")
    missing = f"{opentofu.NEITHER}, so the first run builds {opentofu.TITLE} from source, {opentofu.BUILD_TAKES}"
    return Finding("terraform", WARNING, missing, BUILD_NOW)


def _go(*, needed: bool) -> Finding:
    program = shutil.which("go")
    if not needed:
        return Finding("go", OK, f"not needed for the provider{f' (there is {program})' if program else ''}")
    if program and is_too_old(program):
        found = f"{program} is {go_version(program) or 'no Go'}: Go >= 1.25 is needed to build the provider"
        return Finding("go", PROBLEM, found, "install a newer one")
    if program:
        return Finding("go", OK, f"{program} will build the provider")
    way_out = "install Go, or set TF_CLI_CONFIG_FILE to a configuration with a mirror of the provider"
    return Finding(
        "go", PROBLEM, f"not on the PATH of this {platform.system()}, and the provider has to be built", way_out
    )


def _limit(kind: int, which: int) -> float:
    """The soft (0) or hard (1) limit of this process; infinity where there is none."""
    limit = resource.getrlimit(kind)[which]
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def local_mb(cell: Demand, measured: Mapping[str, int], *, copies: int) -> int:
    """Memory of the emulator with the data set, the cell's functions (as function_memory `measured` them here, else as
    their experiment says), and what `copies` of them hold."""
    usage = cell.usage
    held_mb = usage.data_mb + usage.emulator_mb + copies * _held_mb(cell)
    return EMULATOR_MB + cell.concurrency * measured.get(str(usage.process_mb), usage.process_mb) + held_mb


def _held_mb(cell: Demand) -> int:
    """What one operation holds at worst."""
    return 0 if cell.usage.within_s3 else cell.usage.moved_mb


def _smaller(cells: list[Demand]) -> str:
    """The settings that make a cell take less."""
    return " or ".join(dict.fromkeys(["concurrency_value", *(cell.usage.sized_by for cell in cells)]))


def _results_mb(cells: list[Demand]) -> int:
    return REPORT_MB + sum(cell.all_messages for cell in cells) * RESULT_BYTES_PER_MESSAGE // 2**20


def _another_folder(folder: Path, mend: str, which: str) -> str:
    """The way out where nothing can be stored in `folder`: a run that is resumed has to be found in the other one."""
    if os.path.exists(folder / "run.json"):  # noqa: PTH110 - Path's raises at a closed folder
        return f"{mend}, or copy the run into a folder {which}, and name that folder with --results-dir"
    return f"name a folder {which} with --results-dir"


def _free_mb(folder: Path) -> int:
    """Free space of the disk that holds `folder`, which need not be there yet, in MiB."""
    return shutil.disk_usage(_existing(folder)).free // 2**20


def _unwritable(folder: Path) -> str | None:
    """Why nothing can be written into `folder`, which need not be there yet; None where it can."""
    nearest = _existing(folder)
    if not nearest.is_dir():
        return f"{nearest} is a file, not a folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"no permission to write into {nearest}"
    try:
        with tempfile.TemporaryFile(dir=nearest):  # /proc, for one, takes no file even of those that have permission
            return None
    except OSError as error:
        return f"nothing can be written into {nearest} ({error.strerror})"


def _existing(folder: Path) -> Path:
    """`folder`, or the nearest folder above it that is there."""
    above = (folder, *folder.absolute().parents)
    return next(path for path in above if os.path.exists(path))  # noqa: PTH110 - Path's raises at a closed folder
