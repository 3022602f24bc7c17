"""What a function takes of this machine's memory: it differs by kernel, page size and version of the language, so what
the functions of a cell take is measured while they are there, and kept for whoever counts the next cell's."""

from __future__ import annotations

import contextlib
import json
import math
import re
from pathlib import Path

from stampede.emulator import ministack

FILE = "function_memory.json"


def note(state_dir: Path, counted_mb: int, moved_mb: int) -> None:
    """Measure the functions that the emulator runs now, for each of which `counted_mb` MiB were counted beside the
    `moved_mb` that it moves, and keep what they take on average where that is more (of 500 the largest took 8 MiB, all
    4.6 on average). Nothing where the system doesn't tell.

    Only memory of its own counts, not the pages of the program and its libraries, which functions share. What it moved
    may still be in it, in a buffer that is used again."""
    emulator = ministack.running(state_dir)
    taken_mb = [sum(map(_own_mb, family)) for family in _families(emulator.pid)] if emulator else []
    mean_mb, before = math.ceil(sum(taken_mb) / max(1, len(taken_mb)) - moved_mb), known(state_dir)
    if mean_mb > before.get(str(counted_mb), counted_mb):
        (state_dir / FILE).write_text(json.dumps(before | {str(counted_mb): mean_mb}))


def known(state_dir: Path) -> dict[str, int]:
    """What functions took here, in MiB, by what is counted for them elsewhere; empty before any was measured."""
    try:
        return json.loads((state_dir / FILE).read_text())
    except (OSError, ValueError):
        return {}


def _families(pid: int) -> list[list[Path]]:
    """The folders in /proc of each child and of what it started; none where there is no such thing."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])

    def family(member: int) -> list[Path]:
        children = [child for child, parent in parents.items() if parent == member]
        return [Path(f"/proc/{member}"), *(folder for child in children for folder in family(child))]

    return [family(child) for child, parent in parents.items() if parent == pid]


def _own_mb(folder: Path) -> float:
    """Its anonymous memory, in MiB; 0 where it has ended or the kernel doesn't tell (Linux does from 5.4 on)."""
    try:
        line = re.search(r"^Pss_Anon:\s+(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(line[1]) / 1024 if line else 0.0
