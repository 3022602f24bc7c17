"""What a measurement ran on: machine, system, versions and what they can do, for the notes under its table."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

from bench import abilities
from bench.other_work import MOST_SHARE, Watch, counts
from stampede.progress import say


def describe() -> str:
    """Processor, number of cores, memory, system and Python in one line."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GiB; {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, boto3 {version('boto3')}"
    )


def prologue() -> str:
    """Measure what the machine can do and say it, with what else runs, before anything is compared; the line for the
    notes under a table. Raises BenchError without openssl."""
    watch = Watch()
    measured = f"measured: {abilities.measure()}"
    if not counts(share := watch.share()):
        measured += f"; other work uses {share:.0%} of it at the start"
        names = ", ".join(watch.names())  # reads every process once
        beside = f" ({names})" if names else ""
        say(
            f"bench: this machine is busy: other work takes {share:.0%} of its processors{beside}; a figure measured"
            f" beside more than {MOST_SHARE:.0%} is marked as one that doesn't count",
            style="yellow",
        )
    say(f"bench: {measured}", style="dim")
    return measured


def _processor() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
