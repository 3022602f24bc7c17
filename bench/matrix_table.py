"""The tables of `bench.matrix`: as Markdown, for the terminal and the documentation, and as a JSON list."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from bench import measure
from bench.errors import BenchError
from stampede import tables

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
    rows = []
    for row in matrix.rows:
        figures = [f"{row.wall_s:.2f}", f"{row.cpu_s:.2f}", f"{row.peak_mb:.0f}"]
        ratios = [_times(base.wall_s / row.wall_s), _times(base.cpu_s / row.cpu_s)]
        rows.append([row.client, PLACES[row.bytes_go_to], *figures, *ratios])
    caption = f"Medians of {matrix.runs} rounds; a ratio of 2 x is half of what {matrix.baseline} takes."
    return "\n".join([f"{matrix.title}:", "", *tables.markdown(HEAD, rows, HEAD[:2]), "", caption, *matrix.notes])


def _times(ratio: float) -> str:
    return f"{ratio:.1f} x" if ratio >= 0.1 else f"{ratio:.1g} x"


def keep(path: Path, matrix: Matrix) -> None:
    """Put a table into the list at `path`, in the place of one of the same name. Raises BenchError for another file."""
    known = measure.read(path)
    if not all("table" in stored for stored in known):
        raise BenchError(f"{path} isn't a list of tables; move it away and run again")
    tables_by_name = {stored["table"]: stored for stored in known} | {matrix.table: asdict(matrix)}
    measure.write(path, [tables_by_name[name] for name in sorted(tables_by_name)])
