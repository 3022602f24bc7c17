"""A run's log lines as columns: `log_events.parquet` next to `log_events.jsonl`, which
remains authoritative.

The columns record the lines' size and modification time (ns), and are used only while these match.
After any change to the lines, a kill at any moment, or a copy that doesn't keep times, queries read
the lines until the next drain.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import duckdb

from stampede.insights import InsightsError, Result, evaluate, export, read_notes
from stampede.progress import say
from stampede.runs.folder import RunFolder

LINES, COLUMNS = "log_events.jsonl", "log_events.parquet"
_NOTE = "stampede.lines"
_FORMAT = 1
# Rewriting the columns after every cell would take time quadratic in the number of cells. Below
# this size it takes less than a second; above it, the lines must first grow by half.
_ALWAYS_BELOW_BYTES = 64 * 2**20
_GROWTH = 1.5


def store(folder: RunFolder, *, at_end: bool) -> None:
    """Writes the lines as columns if the lines are new; `at_end` says that no cell follows. If
    that fails it prints a warning and raises nothing: queries return the same without them,
    more slowly."""
    lines, columns = folder.path / LINES, folder.path / COLUMNS
    try:
        stamp = _stamp(lines)
        if not stamp["bytes"] or stamp == (noted := _noted(columns)):
            return
        is_small = stamp["bytes"] < _ALWAYS_BELOW_BYTES
        has_grown = stamp["bytes"] >= _GROWTH * noted.get("bytes", 0)
        if not (at_end or has_grown or is_small):
            return
        if not is_small:
            megabytes = stamp["bytes"] / 1e6
            say(f"writing {COLUMNS} from {megabytes:,.0f} MB, about 10 s per GB", style="dim")
        export(lines, columns, {_NOTE: json.dumps(stamp)})
    except FileNotFoundError:
        return
    except (InsightsError, duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        problem = f"{COLUMNS} wasn't written, so queries read the lines, which is slower: {reason}"
        say(problem, style="yellow")


def answer(text: str, lines: Path) -> Result:
    """The query over a run's `lines`, from the columns if they match.

    Raises what `evaluate` raises for the lines.
    """
    if columns := stored(lines):
        with contextlib.suppress(InsightsError):  # damaged or removed: the lines are still there
            return evaluate(text, columns)
    return evaluate(text, lines)


def stored(lines: Path) -> Path | None:
    """The columns of a run's `lines`, if they match."""
    columns = lines.with_name(COLUMNS)
    try:
        return columns if _noted(columns) == _stamp(lines) else None
    except (duckdb.Error, OSError):
        return None


def _stamp(lines: Path) -> dict[str, int]:
    """Identifies the state of the lines. Raises OSError."""
    state = lines.stat()
    return {"format": _FORMAT, "bytes": state.st_size, "mtime_ns": state.st_mtime_ns}


def _noted(columns: Path) -> dict[str, int]:
    """The state of the lines that the columns were made from; empty if the file isn't a run's."""
    note = read_notes(columns).get(_NOTE)
    return json.loads(note) if note else {}
