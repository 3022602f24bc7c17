"""The tables of `bench.matrix`: as Markdown, for the terminal and the documentation, and as a JSON list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import measure
from bench.errors import BenchError

PLACES = {"discard": "nowhere", "memory": "memory", "tmp": "file", "bucket": "bucket"}
HEAD = ("client", "bytes go to", "wall s", "CPU-s", "peak MiB", "wall", "CPU")


@dataclass(frozen=True)
class Row:
    """One client: medians of whole processes, wall and CPU seconds and the peak in MiB."""

    client: str
    bytes_go_to: str
    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Matrix:
    """One table: what was downloaded from where, over how many rounds, and its rows; `baseline` names one of them."""

    table: str
    title: str
    runs: int
    baseline: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def markdown(matrix: Matrix) -> str:
    """The title, the table with ratios to the baseline (above 1: less than it), and the notes."""
    base = next(row for row in matrix.rows if row.client == matrix.baseline)
    lines = [_line(HEAD), "| --- | --- |" + " ---: |" * (len(HEAD) - 2)]
    for row in matrix.rows:
        figures = [f"{row.wall_s:.2f}", f"{row.cpu_s:.2f}", f"{row.peak_mb:.0f}"]
        ratios = [_times(base.wall_s / row.wall_s), _times(base.cpu_s / row.cpu_s)]
        lines.append(_line([row.client, PLACES[row.bytes_go_to], *figures, *ratios]))
    told = f"Medians of {matrix.runs} rounds; a ratio of 2 x is half of what {matrix.baseline} takes."
    return "\n".join([f"{matrix.title}:", "", *lines, "", told, *matrix.notes])


def _times(ratio: float) -> str:
    return f"{ratio:.1f} x" if ratio >= 0.1 else f"{ratio:.1g} x"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def keep(path: Path, matrix: Matrix) -> None:
    """Put a table into the list at `path`, in the place of one of the same name. Raises BenchError for another file."""
    try:
        known = json.loads(path.read_text())
    except FileNotFoundError:
        known = []
    except (ValueError, OSError) as error:
        raise BenchError(f"{path} can't be read ({error}); move it away and run again") from None
    if not isinstance(known, list) or not all(isinstance(one, dict) and "table" in one for one in known):
        raise BenchError(f"{path} isn't a list of tables; move it away and run again")
    others = [one for one in known if one["table"] != matrix.table]
    measure.write(path, sorted([*others, asdict(matrix)], key=lambda one: one["table"]))
