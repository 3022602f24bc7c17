"""What a measurement ran on: machine, system and versions, for the table under which the figures stand."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path


def describe() -> str:
    """Processor, number of cores, memory, system and Python in one line."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GiB; {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, boto3 {version('boto3')}"
    )


def busy() -> str | None:
    """A warning where other work takes part of the machine (load of the last minute above a quarter of the cores)."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cores / 4:
        return None
    return f"this machine is busy (load {load:.1f} on {cores} cores): the figures will be worse than on a quiet one"


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
