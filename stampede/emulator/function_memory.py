"""What a function takes of this machine's memory: it differs by kernel, page size and version of
the language, so what the functions of a cell take is measured while they are there, and kept for
whoever counts the next cell's."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from stampede.emulator import ministack

FILE = "function_memory.json"


def note(state_dir: Path, counted_mb: int, moved_mb: int) -> None:
    """Measure the functions that the emulator runs now, for each of which `counted_mb` MiB were
    counted beside the `moved_mb` that it moves, and keep what they take on average where that is
    more (of 500 the largest took 8 MiB, all 4.6 on average). Nothing where the system doesn't tell.

    Only memory of its own counts, not the pages of the program and its libraries, which functions
    share. What it moved may still be in it, in a buffer that is used again."""
    emulator = ministack.running(state_dir)
    taken_mb, count = _functions(emulator.pid) if emulator else (0.0, 0)
    mean_mb, before = math.ceil(taken_mb / max(1, count) - moved_mb), known(state_dir)
    if mean_mb > before.get(str(counted_mb), counted_mb):
        (state_dir / FILE).write_text(json.dumps(before | {str(counted_mb): mean_mb}))


def known(state_dir: Path) -> dict[str, int]:
    """What functions took here, in MiB, by what is counted for them elsewhere; empty before any was
    measured."""
    try:
        return json.loads((state_dir / FILE).read_text())
    except (OSError, ValueError):
        return {}


def _functions(emulator: int) -> tuple[float, int]:
    """The anonymous memory of all that the emulator runs, in MiB, and how many of that it has
    started itself.

    All of it is in the emulator's process group. Linux tells (the memory from 5.4 on).
    """
    taken_mb, count = 0.0, 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[1:3]
            if int(group) == emulator != int(folder.name):
                memory = (folder / "smaps_rollup").read_text()
                taken_mb += int(re.search(r"^Pss_Anon:\s+(\d+)", memory, re.MULTILINE)[1]) / 1024
                count += int(parent) == emulator
        except (OSError, TypeError):  # it has ended, or the kernel doesn't tell
            continue
    return taken_mb, count
