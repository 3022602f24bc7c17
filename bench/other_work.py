"""How much of the machine other work took while something was measured, and whose it was: whether a figure counts."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from pathlib import Path

# Above it a figure says more of what else ran than of the two sides. On two cores it is a fifth of one of them, more
# than what a kernel and an idle desktop take.
MOST_SHARE = 0.1
_PROC = Path("/proc")
_BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)  # user nice system irq softirq steal, of proc(5)
_NAMED = 3


class Watch:
    """Notes the processors' time when it is made, and is then asked about what has passed since."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._busy_s, self._own_s, self._used_s = _busy_s(), _own_s(), _used_s()

    def share(self) -> float | None:
        """The part of all processors' time, 0 to 1, that neither this process nor its ended children used.

        Time that the hypervisor gave to others counts. None where the system doesn't tell (no /proc).
        """
        busy_s, elapsed_s = _busy_s(), time.monotonic() - self._started_s
        if busy_s is None or self._busy_s is None or elapsed_s <= 0:
            return None
        others_s = (busy_s - self._busy_s) - (_own_s() - self._own_s)
        return min(1.0, max(0.0, others_s / elapsed_s / (os.cpu_count() or 1)))

    def names(self) -> list[str]:
        """The other programs that used most, with how many cores each had: `["java 0.81", "node 0.40"]`."""
        elapsed_s = max(time.monotonic() - self._started_s, 1e-3)
        used_s: Counter[str] = Counter()
        for (pid, name), seconds in _used_s().items():
            used_s[name] += seconds - self._used_s.get((pid, name), 0.0)
        return [f"{name} {one / elapsed_s:.2f}" for name, one in used_s.most_common(_NAMED) if one / elapsed_s >= 0.05]


def counts(share: float | None) -> bool:
    """Whether a figure measured beside so much other work counts; where that isn't known it does."""
    return share is None or share <= MOST_SHARE


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _busy_s() -> float | None:
    try:
        ticks = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    return sum(int(ticks[column]) for column in _BUSY_COLUMNS) / _ticks_per_s()


def _used_s() -> dict[tuple[int, str], float]:
    """Seconds of processor time of every process but this one and its children, by its id and name."""
    used = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        fields, pid = tail.split(), int(folder.name)
        if os.getpid() not in (pid, int(fields[1])):
            used[pid, head.partition("(")[2]] = (int(fields[11]) + int(fields[12])) / _ticks_per_s()
    return used


def _ticks_per_s() -> int:
    return os.sysconf("SC_CLK_TCK")
