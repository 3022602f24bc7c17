"""A run's log lines as columns: `log_events.parquet` beside `log_events.jsonl`, which stays
the truth.

The columns say which lines they were made from, by size and time of change in nanoseconds, and are
used only as long as the lines are those: a line that was added, set aside or changed since, a kill
in the middle of anything and a copy that doesn't keep times leave them unused until the next drain,
and queries read the lines.
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
# To write them all again after every cell would take a time that grows with the square of the
# cells. Below this size it takes less than a second; above it, it waits until the lines are half as
# many again.
_ALWAYS_BELOW_BYTES = 64 * 2**20
_GROWTH = 1.5


def store(folder: RunFolder, *, at_end: bool) -> None:
    """Write the lines as columns where they are new; `at_end` says that no cell follows. Says
    it where they can't be written, and raises nothing: without them queries are slower and
    the same."""
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
            say(
                f"writing {COLUMNS}: {stamp['bytes'] / 1e6:,.0f} MB of lines, about 10 s per GB",
                style="dim",
            )
        export(lines, columns, {_NOTE: json.dumps(stamp)})
    except FileNotFoundError:
        return
    except (InsightsError, duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        say(
            f"{COLUMNS} wasn't written, so queries over the run read the lines, which is slower: "
            f"{reason}",
            style="yellow",
        )


def answer(text: str, lines: Path) -> Result:
    """The query over a run's `lines`, from the columns beside them where they hold exactly those.

    Raises what `evaluate` raises of the lines."""
    if columns := stored(lines):
        with contextlib.suppress(InsightsError):  # damaged or taken away: the lines are still there
            return evaluate(text, columns)
    return evaluate(text, lines)


def stored(lines: Path) -> Path | None:
    """The columns beside a run's `lines` if they hold exactly those."""
    columns = lines.with_name(COLUMNS)
    try:
        return columns if _noted(columns) == _stamp(lines) else None
    except (duckdb.Error, OSError):
        return None


def _stamp(lines: Path) -> dict[str, int]:
    """Which lines they are. Raises OSError."""
    state = lines.stat()
    return {"format": _FORMAT, "bytes": state.st_size, "mtime_ns": state.st_mtime_ns}


def _noted(columns: Path) -> dict[str, int]:
    """Which lines the columns were made from; nothing where they aren't a run's."""
    note = read_notes(columns).get(_NOTE)
    return json.loads(note) if note else {}
