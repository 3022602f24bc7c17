"""Measures ours and a peer in turn, and makes the entries of results/bench.json."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stampede.errors import RunError
from stampede.phrases import significant
from stampede.progress import say
from stampede.runs.folder import write_where_typed

# If other work takes more than this part of the processors' time, figures don't count. On two cores
# it is a fifth of one core, more than a kernel and an idle desktop take.
MOST_SHARE = 0.1
STAT = Path("/proc/stat")
BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)  # user nice system irq softirq steal (proc(5))

Figures = Mapping[str, Any]
# Runs one side once and returns its figures. Raises RunError unless the run did its work.
Run = Callable[[], Figures]


@dataclass(frozen=True)
class Compared:
    """The figure that an entry compares, in `unit`, and the goal of its ratio."""

    figure: str
    unit: str
    goal: float
    more_is_better: bool = False


@dataclass(frozen=True)
class Measurement:
    """Entries from the same runs. `sides` is a context manager of two functions, ours and the peer.

    Runs that take minutes have `most_runs`, and no warm-up.
    """

    entries: Mapping[str, Compared]
    sides: Callable[[], AbstractContextManager[tuple[Run, Run]]]
    most_runs: int | None = None


@dataclass(frozen=True)
class Entry:
    """One comparison: medians over `runs` of each side. If `ratio` is above 1, ours is better.

    `others_share` is the part of the processors' time, 0 to 1, that other work took.
    """

    name: str
    ours: float
    peer: float
    unit: str
    ratio: float
    runs: int
    others_share: float


def measure(measurement: Measurement, runs: int) -> list[Entry]:
    """Run both sides once to warm up, then `runs` times in turn: other load affects both alike."""
    began, others_began_s = time.monotonic(), others_cpu_s()
    told: tuple[list[Figures], list[Figures]] = ([], [])
    with measurement.sides() as sides:
        if measurement.most_runs is None:
            for run in sides:
                run()
        for number in range(1, min(runs, measurement.most_runs or runs) + 1):
            for label, run, figures in zip(("ours", "peer"), sides, told, strict=True):
                figures.append(run())
                words = [f"{significant(value)} {name}" for name, value in figures[-1].items()]
                say(f"  run {number}, {label}: {', '.join(words)}", style="dim")
    share = (others_cpu_s() - others_began_s) / (time.monotonic() - began) / (os.cpu_count() or 1)
    entries = measurement.entries.items()
    return [compare(name, compared, *told, max(0.0, share)) for name, compared in entries]


def compare(
    name: str, compared: Compared, ours: Sequence[Figures], peer: Sequence[Figures], share: float
) -> Entry:
    """Compare one figure of both sides. Raises RunError if a value isn't a positive number."""
    medians = []
    for label, runs in (("ours", ours), ("the peer", peer)):
        values = [run[compared.figure] for run in runs]
        if not all(0 < value < math.inf for value in values):
            raise RunError(f"{name}: {label} gave {values}; every run must give a positive number")
        medians.append(statistics.median(values))
    ratio = medians[0] / medians[1]
    ratio = ratio if compared.more_is_better else 1 / ratio
    return Entry(name, *medians, compared.unit, ratio, len(ours), share)


def others_cpu_s() -> float:
    """CPU seconds of everything but this process and its ended children, stolen time included."""
    ticks = STAT.read_text().partition("\n")[0].split()[1:]
    busy_s = sum(int(ticks[column]) for column in BUSY_COLUMNS) / os.sysconf("SC_CLK_TCK")
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return busy_s - sum(usage.ru_utime + usage.ru_stime for usage in own)


def save(path: Path, entry: Entry) -> None:
    """Put an entry into the JSON list at `path`, in the place of an entry with its name or last.

    Raises RunError if the file isn't such a list.
    """
    try:
        stored = json.loads(path.read_text()) if path.exists() else []
        by_name = {each["name"]: each for each in stored} | {entry.name: asdict(entry)}
    except (ValueError, TypeError, KeyError, OSError):
        raise RunError(f"{path} isn't a list of entries", "move it away and run again") from None
    write_where_typed(path, json.dumps(list(by_name.values()), indent=2) + "\n")
