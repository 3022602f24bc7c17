"""What a measurement ran on, and how much of it other work took meanwhile: whether a figure counts."""

from __future__ import annotations

import os
import platform
import re
import resource
import time
from importlib.metadata import version
from pathlib import Path

from bench import programs

# Above it a figure says more of what else ran than of the two sides. On two cores it is a fifth of one of them, more
# than what a kernel and an idle desktop take.
MOST_SHARE = 0.1
_PROC = Path("/proc")
_BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)  # user nice system irq softirq steal, of proc(5)


class Watch:
    """Notes the processors' time when it is made, and is then asked about what has passed since."""

    def __init__(self) -> None:
        self._started_s, self._busy_s, self._own_s = time.monotonic(), _busy_s(), _own_s()

    def share(self) -> float | None:
        """The part of all processors' time, 0 to 1, that neither this process nor its ended children used.

        Time that the hypervisor gave to others counts. None where the system doesn't tell (no /proc).
        """
        busy_s, elapsed_s = _busy_s(), time.monotonic() - self._started_s
        if busy_s is None or self._busy_s is None or elapsed_s <= 0:
            return None
        others_s = (busy_s - self._busy_s) - (_own_s() - self._own_s)
        return min(1.0, max(0.0, others_s / elapsed_s / (os.cpu_count() or 1)))


def counts(share: float | None) -> bool:
    """Whether a figure measured beside so much other work counts; where that isn't known it does."""
    return share is None or share <= MOST_SHARE


def describe() -> str:
    """Processor, number of cores, memory, system and versions in one line."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"Python": platform.python_version(), "boto3": version("boto3")} | programs.versions()
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory_gb:.0f} GiB; {platform.system()} {platform.release()}; "
        f"{', '.join(f'{name} {text}' for name, text in versions.items())}"
    )


def _processor() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", (_PROC / "cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _busy_s() -> float | None:
    try:
        ticks = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    return sum(int(ticks[column]) for column in _BUSY_COLUMNS) / os.sysconf("SC_CLK_TCK")
