"""Ours and a peer in turn, and the ratio of their medians: what an entry of results/bench.json
is."""

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

# Above this part of the processors' time, a figure says more of what else ran than of the two
# sides. On two cores it is a fifth of one of them, more than what a kernel and an idle desktop
# take.
MOST_SHARE = 0.1
STAT = Path("/proc/stat")
BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)  # user nice system irq softirq steal, of proc(5)

Figures = Mapping[str, Any]
# Runs one side once: its figures, of a run that did its work. Raises RunError for any other.
Run = Callable[[], Figures]


@dataclass(frozen=True)
class Compared:
    """What an entry compares: a figure of each run, in `unit`, and which ratio is its goal."""

    figure: str
    unit: str
    goal: float
    more_is_better: bool = False


@dataclass(frozen=True)
class Measurement:
    """The entries that come of the same runs. In the block of `sides` ours and the peer can be run.

    What takes minutes has `most_runs`, and no first run that doesn't count.
    """

    entries: Mapping[str, Compared]
    sides: Callable[[], AbstractContextManager[tuple[Run, Run]]]
    most_runs: int | None = None


@dataclass(frozen=True)
class Entry:
    """One comparison: medians over `runs` of each side; a `ratio` above 1 says that ours is better.
    `others_share` is the part of the processors' time, 0 to 1, that other work took meanwhile."""

    name: str
    ours: float
    peer: float
    unit: str
    ratio: float
    runs: int
    others_share: float


def measure(measurement: Measurement, runs: int) -> list[Entry]:
    """Run both sides once to warm up, then `runs` times in turn: what else the machine does hits
    both alike."""
    began, others_began_s = time.monotonic(), others_cpu_s()
    told: tuple[list[Figures], list[Figures]] = ([], [])
    with measurement.sides() as sides:
        if measurement.most_runs is None:
            for run in sides:
                run()
        for number in range(1, min(runs, measurement.most_runs or runs) + 1):
            for label, run, figures in zip(("ours", "peer"), sides, told, strict=True):
                figures.append(run())
                words = ", ".join(
                    f"{significant(value)} {name}" for name, value in figures[-1].items()
                )
                say(f"  run {number}, {label}: {words}", style="dim")
    share = (others_cpu_s() - others_began_s) / (time.monotonic() - began) / (os.cpu_count() or 1)
    return [
        compare(name, compared, *told, max(0.0, share))
        for name, compared in measurement.entries.items()
    ]


def compare(
    name: str, compared: Compared, ours: Sequence[Figures], peer: Sequence[Figures], share: float
) -> Entry:
    """One figure of all runs of both sides. Raises RunError where one isn't a positive number."""
    medians = []
    for label, runs in (("ours", ours), ("the peer", peer)):
        values = [run[compared.figure] for run in runs]
        if not all(0 < value < math.inf for value in values):
            raise RunError(f"{name}: {label} gave {values}; every run must give a positive number")
        medians.append(statistics.median(values))
    ratio = medians[0] / medians[1]
    return Entry(
        name,
        *medians,
        compared.unit,
        ratio if compared.more_is_better else 1 / ratio,
        len(ours),
        share,
    )


def others_cpu_s() -> float:
    """CPU seconds of all but this process and its ended children; time that the hypervisor gave to
    others counts."""
    ticks = STAT.read_text().partition("\n")[0].split()[1:]
    busy_s = sum(int(ticks[column]) for column in BUSY_COLUMNS) / os.sysconf("SC_CLK_TCK")
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return busy_s - sum(usage.ru_utime + usage.ru_stime for usage in own)


def save(path: Path, entry: Entry) -> None:
    """Put an entry into the JSON list at `path`: in the place of one of the same name, else last.
    Raises RunError when what is there isn't such a list."""
    try:
        stored = json.loads(path.read_text()) if path.exists() else []
        by_name = {each["name"]: each for each in stored} | {entry.name: asdict(entry)}
    except (ValueError, TypeError, KeyError, OSError):
        raise RunError(f"{path} isn't a list of entries", "move it away and run again") from None
    write_where_typed(path, json.dumps(list(by_name.values()), indent=2) + "\n")
